"""What every member of a family has to do, as functions: for our tests and those of plug-ins.

Each takes a member and raises AssertionError, which says what does not hold; no test framework is
needed. `conforms` of a family asks all of it: devices, checks, metrics, causes, figures.
"""
