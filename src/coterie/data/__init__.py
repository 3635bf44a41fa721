"""Texts and tables: read, checked once, and only then used."""
