"""Texts in, vectors out. One way of embedding per file; importing a file registers its encoder."""
