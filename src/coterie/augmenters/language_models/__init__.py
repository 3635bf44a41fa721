"""The models behind the augmenters that need one; loaded when they are first used."""
