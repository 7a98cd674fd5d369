"""Capture pairs: from two files to a run directory (docs/matching.md)."""
