"""Loss functions: pure functions of tensors and numbers. Each docstring names the equation it implements."""
