"""How far the counters of a trial's cores are apart, and events put on one of them.

Packets are stamped on the generator's core, gaps and events each on its own. Where the counters do
not agree, what happened at one moment has two times.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil

import numpy as np

from taut.core.units import format_ns
from taut.explain.read.events import Events
from taut.explain.read.gaps import DEVICE
from taut.records.documents.trial import ClockReading, TrialDocument

CLOCKS_NS = 500
"""Allowed for the difference of two cores' clocks and a packet's way to the generator's ring."""


@dataclass(frozen=True)
class Apart:
    """How far cores' counters are ahead of the generator's, as taut-clock measured it."""

    ahead_ns: Mapping[int, int] = field(default_factory=dict)
    """By core; one that is not here agrees within what could be measured, or is not known."""
    error_ns: int = 0
    """How far these may be off: their uncertainty, and what changed while the trial ran."""

    @property
    def words(self) -> list[str]:
        """What is to be said of cores that are farther apart than is allowed for anyway."""
        return [
            f"the clock of core {core} is {format_ns(abs(ns))} {'ahead of' if ns > 0 else 'behind'}"
            f" the generator's, give or take {format_ns(self.error_ns)}: its gaps and events are "
            "put right by that"
            for core, ns in sorted(self.ahead_ns.items())
            if max(abs(ns), self.error_ns) > CLOCKS_NS
        ]

    def of_threads(self, document: TrialDocument) -> dict[str, int]:
        """Give the same by thread that logs its gaps; a guest's log is on the host's clock."""
        dut, cores = document.dut, document.cores
        if cores is None or dut.guest is not None:
            return {}
        hops: list[tuple[str, int | None]] = [(hop.name, hop.core) for hop in dut.hops or ()]
        return {
            thread: self.ahead_ns[core]
            for thread, core in hops or [(DEVICE, cores.device)]
            if core is not None and core in self.ahead_ns
        }

    def put_right(self, events: Events) -> Events:
        """Give events, in the order of time, as the generator's counter has them."""
        if not self.ahead_ns:
            return events
        time_ns, arg1 = events.time_ns.copy(), events.arg1.copy()
        for core, ns in self.ahead_ns.items():
            own = events.cpu == core
            time_ns[own] -= ns
            # Until when events were lost, a time of that core, too.
            lost = own & events.of("lost")
            arg1[lost] = (arg1[lost].astype(np.int64) - ns).astype(np.uint64)
        moved = replace(events, time_ns=time_ns, arg1=arg1)
        return moved.take(np.argsort(time_ns, kind="stable"))


AGREED = Apart()


def clocks_apart(document: TrialDocument) -> Apart:
    """Say how far the counters were apart; not at all where they may agree: then most do."""
    cores, clock = document.cores, document.clock
    if cores is None or cores.generator is None:
        return AGREED
    readings = [
        _ahead(reading, cores.generator)
        for reading in (clock.before, clock.after)
        if reading is not None
    ]
    ahead_ns, error_ns = {}, 0
    for core in {core for reading in readings for core in reading}:
        found = [reading[core] for reading in readings if core in reading]
        if all(abs(ns) <= uncertain_ns for ns, uncertain_ns in found):
            continue
        differences = [ns for ns, _ in found]
        ahead_ns[core] = round(sum(differences) / len(found))
        changed_ns = max(differences) - min(differences)
        error_ns = max(error_ns, ceil(changed_ns + max(uncertain for _, uncertain in found)))
    return Apart(ahead_ns, error_ns)


def _ahead(reading: ClockReading, generator: int) -> dict[int, tuple[float, float]]:
    """Give by core how far it is ahead of the generator's in ns, and how uncertain that is.

    taut-clock compares the first core with each of the others: how far the other one is ahead.
    """
    ahead = {pair.cores[0]: (0.0, 0.0) for pair in reading.skew}
    ahead |= {pair.cores[1]: (pair.skew_ns, pair.uncertainty_ns) for pair in reading.skew}
    if generator not in ahead:
        return {}
    own_ns, own_uncertain_ns = ahead.pop(generator)
    return {
        core: (ns - own_ns, uncertain_ns + own_uncertain_ns)
        for core, (ns, uncertain_ns) in ahead.items()
    }
