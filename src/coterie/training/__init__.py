"""The one loop that trains, and what keeps it safe."""
