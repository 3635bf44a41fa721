"""Say in words what is in a cluster."""
