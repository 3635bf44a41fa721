"""Descriptions of clusters: sizes, keywords and typical examples."""
