"""k-nearest-neighbor graphs of embeddings, and what is computed from them."""
