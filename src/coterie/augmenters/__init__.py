"""One way of making views a file; a file that is here is registered (coterie.registry)."""
