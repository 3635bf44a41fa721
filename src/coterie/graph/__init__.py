"""Texts as a graph: who is near whom, and what that says about a grouping."""
