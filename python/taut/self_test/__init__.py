"""The self-test: causes and packet paths disturbed on purpose, and what explain makes of it.

cause_trials disturbs a poller by each cause, path_trials packet paths by each act of paths.py.
recording, measurer and disturbance make and record the acts; acts, confusion and late_acts hold
verdicts against what was sent; cause_report and path_report tell it.
"""
