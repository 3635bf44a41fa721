"""How good a grouping is. The only place, with benchmarks, that true labels ever reach."""
