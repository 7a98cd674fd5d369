"""A device and a check beside taut's own."""
