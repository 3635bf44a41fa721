"""Reading, checking and writing input: tables, texts, vectors and images."""
