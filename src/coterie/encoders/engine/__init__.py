"""The transformer engine: texts packed without padding, int8, training and decoding."""
