"""Checks that are not yet rows of a table."""
