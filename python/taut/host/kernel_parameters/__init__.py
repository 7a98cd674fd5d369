"""Kernel command lines: their grammar, the names and values kernels know, and what goes wrong."""
