"""taut's own programs that look at or disturb a machine, run from Python: one file a program.

describe.py asks any of them what it can do.
"""
