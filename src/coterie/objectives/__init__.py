"""Base classes of objectives that several methods share."""
