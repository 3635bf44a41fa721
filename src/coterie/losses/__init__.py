"""Pure functions of tensors and numbers; each names the equation it is."""
