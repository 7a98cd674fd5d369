"""Verdicts as sums, episodes, sentences and offenders, and what the audit had said of them."""
