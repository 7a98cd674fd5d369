"""Whose a stall of a guest's device was: the guest's own, or its host's.

Two traces tell: the host's, in which the virtual CPU is a thread, and the guest's, in which the
device is one. Where the guest gave the CPU to somebody else, or to nobody, the stall is the
guest's, whatever the host made of the idle CPU. Where it did not, and the CPU's thread did not run
on the host, it is the host's: the guest cannot know. Where both ran, neither kernel noted why.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from taut.explain.arrays import Ints
from taut.explain.read.events import Events, read_events, read_notes
from taut.records.convert import GUEST as FOLDER_OF_GUEST
from taut.records.documents.trial import Guest, TrialDocument

_SHORTEST_NS = 1_000_000
"""Shorter ones are not told: the two clocks are an estimate apart."""
_CLOCK_ERRORS = 10
_IDLE = "nobody"


@dataclass(frozen=True)
class StallOfGuest:
    """A stall of the device in a guest, and who is to blame."""

    start_ns: int
    end_ns: int
    whose: str
    """One of GUEST, HOST, NOBODY."""
    who: str
    """Who ran instead, in the kernel that the stall is of."""

    @property
    def length_ns(self) -> int:
        return self.end_ns - self.start_ns


GUEST, HOST, NOBODY = "guest", "hypervisor", "unknown"


def stalls_of_guest(trial: Path, document: TrialDocument) -> list[StallOfGuest] | None:
    """Judge the stalls of a trial's guest, longest first; None: not traced on both sides."""
    guest, cores = document.dut.guest, document.cores
    host, own = read_events(trial), read_events(trial / FOLDER_OF_GUEST)
    if guest is None or guest.program is None or cores is None or cores.device is None:
        return None
    if host is None or own is None:
        return None
    inside = _away(own, guest.cpu, guest.program)
    outside = _away(host, cores.device, guest.cpu_thread)
    notes = (read_notes(trial / FOLDER_OF_GUEST), read_notes(trial))
    names = tuple(one.threads for one in notes)
    stalls = []
    for start_ns, end_ns in _gaps(trial, guest, [one.window_ns for one in notes]):
        in_guest, on_host = inside.during(start_ns, end_ns), outside.during(start_ns, end_ns)
        half = (end_ns - start_ns) // 2
        if in_guest.total() >= half:
            whose, who = GUEST, _most(in_guest, names[0])
        elif on_host.total() >= half:
            whose, who = HOST, _most(on_host, names[1])
        else:
            whose, who = NOBODY, ""
        stalls.append(StallOfGuest(start_ns, end_ns, whose, who))
    return sorted(stalls, key=lambda stall: stall.length_ns, reverse=True)


def words_of_guest(trial: Path, document: TrialDocument) -> list[str]:
    """Say whose the stalls of a guest were; nothing where the device ran in none."""
    guest = document.dut.guest
    if guest is None:
        return []
    stalls = stalls_of_guest(trial, document) or []
    parts = [_part(whose, [stall for stall in stalls if stall.whose == whose]) for whose in _WORDS]
    said = ", ".join(filter(None, parts))
    told = [f"stalls of 1 ms or more in the guest: {said}"] if said else []
    return [*told, *filter(None, [guest.claim])]


_WORDS = {
    HOST: "the hypervisor's (the virtual CPU did not run on the host",
    GUEST: "the guest's own (its kernel did not run the device",
    NOBODY: "of no known cause (both kernels say that it ran",
}


def _part(whose: str, stalls: Sequence[StallOfGuest]) -> str | None:
    if not stalls:
        return None
    instead = f", when {stalls[0].who} ran" if stalls[0].who else ""
    longest_ms = stalls[0].length_ns / 1e6
    return f"{len(stalls)} {_WORDS[whose]}; the longest {longest_ms:.1f} ms{instead})"


@dataclass(frozen=True)
class _Away:
    """When a thread did not have its core, and who had it; 0: nobody."""

    start_ns: Ints
    end_ns: Ints
    instead: Ints

    def during(self, start_ns: int, end_ns: int) -> Counter[int]:
        """Give for how long each had it within a time."""
        first = np.searchsorted(self.end_ns, start_ns, "right")
        last = np.searchsorted(self.start_ns, end_ns, "left")
        found: Counter[int] = Counter()
        for at in range(int(first), int(last)):
            inside = min(int(self.end_ns[at]), end_ns) - max(int(self.start_ns[at]), start_ns)
            found[int(self.instead[at])] += inside
        return found


def _away(events: Events, cpu: int, thread: int) -> _Away:
    """Give when another thread, or none, had a core, from the switches there."""
    switches = events.take(events.of("switch") & (events.cpu == cpu))
    # record_format.h: the lower half of each argument is the thread.
    after = (switches.arg1 & np.uint64(0xFFFFFFFF)).astype(np.int64)
    ends = np.append(switches.time_ns[1:], np.iinfo(np.int64).max)
    others = after != thread
    return _Away(switches.time_ns[others], ends[others], after[others])


def _gaps(
    trial: Path, guest: Guest, traced: Sequence[tuple[int, int] | None]
) -> list[tuple[int, int]]:
    """Give the device's gaps that are long enough, while both kernels were traced."""
    error_ns = 0 if guest.clock is None else guest.clock.error_ns
    shortest_ns = max(_SHORTEST_NS, _CLOCK_ERRORS * error_ns)
    table = pq.read_table(trial / "gaps.parquet", filters=[("thread", "!=", "generator")])
    start, end = (table[name].to_numpy() for name in ("start_ns", "end_ns"))
    long = end - start >= shortest_ns
    for window in traced:
        if window is not None:
            long &= (start >= window[0]) & (end <= window[1])
    return list(zip(start[long].tolist(), end[long].tolist(), strict=True))


def _most(times: Counter[int], names: Mapping[int, str]) -> str:
    thread, _ = times.most_common(1)[0]
    if thread == 0:
        return _IDLE
    known = names.get(thread)
    return f'"{known}"' if known else f"thread {thread}"
