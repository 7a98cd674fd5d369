"""The same series as FD.io's CSIT divides it: the only file that imports jumpavg.

jumpavg groups runs so that a description of them takes the fewest bits, each group around a mean
of its own. It has no error rate: one far value alone makes a group (steps.py does not), and a
series with many of them has many groups. It is here for who compares with CSIT's trending.
"""

from collections.abc import Sequence

from jumpavg import classify

from taut.records.documents.trend import GroupOfRuns


def csit_groups(values_ns: Sequence[float]) -> tuple[GroupOfRuns, ...]:
    """Divide medians, which are above zero, into groups of runs one after the other."""
    found, at = [], 0
    for group in classify(values_ns):
        n = len(group.run_list)
        found.append(GroupOfRuns(at, n, group.stats.avg, group.stats.stdev))
        at += n
    return tuple(found)
