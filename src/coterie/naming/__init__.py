"""Names of clusters by a language model: at an address, or on this machine. Keywords stand where it fails."""
