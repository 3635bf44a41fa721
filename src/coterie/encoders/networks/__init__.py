"""Networks that are not transformers over texts: fixed, linear, images."""
