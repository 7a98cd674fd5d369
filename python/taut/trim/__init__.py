"""Trim: measure, explain, change the host, measure again, and keep what is shown to help.

Begin with trim.py: the loop. It measures through a bench (packets.py: trials of an experiment;
stalls.py: a program taut does not load), so the same rules decide for both.
"""
