"""The models that some augmenters need, imported when they are first used."""
