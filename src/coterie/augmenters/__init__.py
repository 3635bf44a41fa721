"""One augmenter per file; coterie.registry imports every module of this package, which registers its augmenter."""
