"""Networks that are not transformers over texts: frozen vectors, layers above them, auto-encoders, words, images."""
