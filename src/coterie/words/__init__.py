"""Words of texts: vocabularies, stop words, TF-IDF features and word vectors."""
