"""Clustering algorithms on vectors: k-means, average linkage, label matching and silhouette scores."""
