"""Encoders: texts or images in, embeddings out. One encoder a file; importing the file registers it."""
