"""Errors, units, cores, binaries, the manifest: what every other package may use."""
