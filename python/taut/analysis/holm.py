"""Several gates of one judgement: p-values corrected for how many of them could fail.

A pipeline stops where any gate fails, so the chance that one of many fails by luck grows with their
number. Holm's method (Scandinavian Journal of Statistics 6, 1979) keeps it at that of a single
gate, however the gates depend on each other. A pass of all together needs none: it is wrong only if
the one that is not met passes, which is no likelier among many (Berger, Technometrics 24, 1982).
"""

from collections.abc import Sequence

ERROR = 0.05
"""The chance that a gate fails although what it asks is met."""


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number, in their order."""
    corrected = [1.0] * len(p_values)
    least = 0.0
    for n_before, at in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, (len(p_values) - n_before) * p_values[at])
        corrected[at] = min(1.0, least)
    return corrected
