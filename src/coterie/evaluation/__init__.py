"""Evaluation of clusterings, topics and embeddings. True labels are used here and in experiments only."""
