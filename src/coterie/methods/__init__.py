"""One method a file; a file that is here is registered (coterie.registry)."""
