"""Small parts that sit on an encoder."""
