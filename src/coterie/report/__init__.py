"""Reports: one HTML page with a map, cards, a table and curves; figures; comparisons of two clusterings."""
