"""What stands between the generator's ports, and which of its stalls can be known.

A device that logs its gaps says itself when it did not poll. Of another program the kernel's events
tell when its threads did not have their core. A device that is the kernel has no thread at all: its
core idles when there is nothing to do, and that says nothing. Without a device there is nobody to
blame but the instrument, the path and the host.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from taut.dut.transmit import AS_L2FWD, parse_transmit
from taut.dut.wait import POLL
from taut.explain.arrays import AFTER_ALL, BEFORE_ALL
from taut.explain.judge.cover import covered_by
from taut.explain.judge.kept import kept
from taut.explain.judge.stalls import judge_found, stalls_of
from taut.explain.judge.traced import Traced
from taut.explain.judge.verdicts import GapVerdicts
from taut.explain.read.events import Events, TraceNotes
from taut.explain.read.passages import Passages
from taut.explain.read.spans import Spans, Stretches
from taut.explain.walk.contexts import Watched
from taut.explain.walk.pollers import Workers, busiest_thread, find_workers
from taut.explain.walk.stalls import Stalls
from taut.explain.walk.veto import Vetoed
from taut.records.documents.load import LOOPBACK
from taut.records.documents.trial import Dut, DutStats, Holds


class Kind(Enum):
    """What is known of a device's stalls."""

    NONE = "none"
    KERNEL = "kernel"
    LOGGED = "logged"
    PROGRAM = "program"


# The kernel is what has no process. In runs recorded before trial.json named the device's threads,
# that was the bridge alone.
_KERNEL_DRIVERS = frozenset({"linux_bridge"})
# What devices hold back whose trial.json does not say: of runs recorded before it did, and of those
# that died.
_HOLDS_OF_DRIVERS = {"l2fwd": AS_L2FWD}

_REFUTED = 0.5
"""Where packets came out in more than this share of the stalls' time, the threads are not the
device's."""
_DOUBTED = 0.1
"""The same for one of several threads: where packets came out in more, others forward, too."""


def kind_of(dut: Dut, keeps_log: bool) -> Kind:
    """Tell what a trial's device is, by its trial.json and whether a gap log of it is there."""
    if dut.driver == LOOPBACK:
        return Kind.NONE
    if keeps_log:
        return Kind.LOGGED
    is_kernel = dut.driver in _KERNEL_DRIVERS if dut.threads is None else not dut.threads
    return Kind.KERNEL if is_kernel else Kind.PROGRAM


def sleeps(dut: Dut) -> bool:
    """Whether taut's forwarder slept until packets came: asleep, nobody holds it up."""
    return str(dut.options.get("wait") or POLL) != POLL


NO_GAP = "none in the logs touches its way"
"""What is said of gaps where none of a thread that keeps a log meets a packet."""

MISSING = {
    Kind.NONE: f"a gap of the generator: {NO_GAP}, and there is no device",
    Kind.KERNEL: "a step of the kernel's way from port to port that was recorded: the device has no"
    " thread, and that its core idles is no cause",
}
"""What a verdict lacks, in words, by kind of device without a thread to watch."""

ASLEEP = (
    "how long the device took to wake, where no kernel event tells: it sleeps until packets come,"
    " and its log has only what it did awake"
)
"""What a verdict lacks of a device that logs its gaps and sleeps."""

RESTARTED = "the device's log of gaps: it was restarted, and the log begins after that"
"""What a verdict lacks of what was sent before the device was restarted."""

FULL = "the rest of {whose} log of gaps: more were counted than logged, and it ends before that"
"""What a verdict lacks of what was under way after the last gap that was logged."""

_LEAST_NEW = 2
"""A stall that gaps of the log cover by 1 / _LEAST_NEW of its length or more is theirs."""


SWITCH = f"a gap of a hop: {NO_GAP}, but the switch between them keeps no log"
"""What a verdict lacks of a chain whose hops a switch joins: it may have stood still."""


def has_switch(dut: Dut) -> bool:
    """Whether a switch joins the hops of a chain, none of which it is."""
    return bool(dut.hops) and dut.options.get("switch") is not None


@dataclass(frozen=True)
class Logged:
    """From when to when logs of gaps are there; of stalls before and after that nothing is known.

    A device that is restarted begins a new one, and one that is full ends with its last gap.
    """

    from_ns: int = BEFORE_ALL
    until_ns: int = AFTER_ALL
    generator_until_ns: int = AFTER_ALL

    @property
    def is_whole(self) -> bool:
        """Whether all gaps of the device are there."""
        return (self.from_ns, self.until_ns) == (BEFORE_ALL, AFTER_ALL)

    def beside(self, first_ns: int, last_ns: int) -> Stretches:
        """Give the times between two moments for which the device has no log."""
        start = np.array([first_ns, max(self.from_ns, self.until_ns)])
        end = np.array([self.from_ns, last_ns])
        return start[start < end], end[start < end]


def hides_stalls(kind: Kind, dut: Dut, logged: Logged) -> bool:
    """Whether the device may stand still without a log that tells; one that is awake does not."""
    return kind is not Kind.LOGGED or sleeps(dut) or has_switch(dut) or not logged.is_whole


def lacks(kind: Kind, dut: Dut, logged: Logged, sent_ns: int, received_ns: int) -> str:
    """What the verdict of a packet lacks whose device was not watched then; empty: it was."""
    if sent_ns < logged.from_ns:
        return RESTARTED
    last_ns = max(sent_ns, received_ns)
    if last_ns > logged.until_ns:
        return FULL.format(whose="the device's")
    if sleeps(dut):
        return ASLEEP
    if has_switch(dut):
        return SWITCH
    if kind in (Kind.NONE, Kind.LOGGED) and last_ns > logged.generator_until_ns:
        return FULL.format(whose="the generator's")
    return MISSING.get(kind, "")


NOTES = {
    Kind.NONE: "there is no device: what is late is the instrument's, the path's or the host's",
    Kind.PROGRAM: "the device keeps no log of gaps: only stalls with kernel events are seen",
}
"""What reports say of a trial without a log of its device's gaps, by kind of device."""

SLEEPS = (
    "the device sleeps until packets come: its log has only what it did awake, and what held it up"
    " when it was woken is told from kernel events"
)
"""What they say of one that logs its gaps and sleeps."""


@dataclass(frozen=True)
class Program:
    """A device whose stalls are looked for in kernel events, as its trial has it."""

    core: int
    threads: tuple[int, ...]
    """Ids of all threads of its process; empty: not known."""
    link: str


@dataclass(frozen=True)
class Found:
    """The stalls of a program, judged."""

    verdicts: GapVerdicts | None
    """None: the trace shows none of its threads."""
    vetoed: Vetoed
    notes: tuple[str, ...] = ()


_NOT_SEEN = Found(None, Vetoed(), ("no thread of the device was seen on its core",))


def program_of(dut: Dut, notes: TraceNotes, core: int) -> Program:
    """Describe a device by trial.json; the trace names the threads that were there at its start."""
    threads = {*notes.watched, *(dut.threads or ())}
    return Program(core, tuple(sorted(threads)), dut.link or "")


def judge_program(program: Program, asked: int | None, traced: Traced, passages: Passages) -> Found:
    """Find and judge the stalls of a program; `asked` names its thread, None: found."""
    tried = [
        (watched, stalls_of(watched, traced, passages))
        for watched in _candidates(program, asked, traced.events, passages)
    ]
    if not tried:
        return _NOT_SEEN
    watched, stalls = _most_credible(tried)
    if _refuted(stalls) > _REFUTED:
        words = "packets came out in most of the stalls of the device's threads: none is told"
        n = stalls.vetoed.n + len(stalls.spans)
        return Found(None, Vetoed(n, stalls.before_ns), (words,))
    return Found(judge_found(stalls, watched, traced), stalls.vetoed)


def judge_waking(
    program: Program, asked: int | None, traced: Traced, passages: Passages, logged: Spans
) -> Found:
    """Find and judge what held up a device that sleeps beside the gaps that it logged.

    Its log has what it did awake. That it was woken and did not get its core, or was stopped in its
    sleep, only the kernel's events tell.
    """
    workers = _workers(program, asked, traced.events)
    if workers is None:
        return _NOT_SEEN
    watched = Watched(program.core, workers.threads[0], sleeps=True, calls_are_work=True)
    stalls = stalls_of(watched, traced, passages)
    start, end = stalls.spans.start_ns, stalls.spans.end_ns
    covered, _ = covered_by(logged, start, end, np.ones(len(start), bool))
    verdicts = judge_found(stalls, watched, traced)
    return Found(kept(verdicts, _LEAST_NEW * covered < end - start), stalls.vetoed)


def _refuted(stalls: Stalls) -> float:
    """The share of the time in stalls that packets speak against.

    Of a stall whose end was not recorded they say when the thread was back, not that it was there
    all along: one may be longer than all others together.
    """
    unseen_ns = stalls.vetoed.unseen_ns
    return (stalls.vetoed.time_ns - unseen_ns) / max(stalls.before_ns - unseen_ns, 1)


def _most_credible(tried: Sequence[tuple[Watched, Stalls]]) -> tuple[Watched, Stalls]:
    """Give the thread in whose stalls no packet came out; all together where there is none."""
    *alone, together = tried
    least = min(alone, key=lambda found: _refuted(found[1]), default=together)
    return least if _refuted(least[1]) <= _DOUBTED else together


def _candidates(
    program: Program, asked: int | None, events: Events, passages: Passages
) -> Iterable[Watched]:
    """Give whom to watch: each thread alone where several poll, and last all of them together.

    Perhaps only one of several forwards; its stalls are those in which no packet came out.
    """
    workers = _workers(program, asked, events)
    if workers is None:
        return
    is_work = workers.sleep or not passages.is_shared
    if not workers.sleep and len(workers.threads) > 1:
        for thread in workers.threads:
            yield Watched(program.core, thread, calls_are_work=is_work)
    yield Watched(
        program.core,
        workers.threads[0],
        also=frozenset(workers.threads[1:]),
        sleeps=workers.sleep,
        calls_are_work=is_work,
    )


def _workers(program: Program, asked: int | None, events: Events) -> Workers | None:
    if asked is not None:
        return Workers((asked,), sleep=False)
    if program.threads:
        return find_workers(events, program.core, program.threads)
    thread = busiest_thread(events, program.core)
    return None if thread is None else Workers((thread,), sleep=False)


def holds_of(dut: Dut) -> Holds | None:
    """Say what the device's transmit policy holds back; None: nothing."""
    if dut.hops:
        return _in_a_row([hop.stats.holds for hop in dut.hops if hop.stats and hop.stats.holds])
    stats = dut.stats or DutStats()
    if stats.holds is not None:
        return stats.holds
    if dut.driver in _HOLDS_OF_DRIVERS:
        return _HOLDS_OF_DRIVERS[dut.driver]
    # Nothing, or counters of an older taut-forward, or none because it was killed.
    asked = stats.transmit or dut.options.get("transmit") or ""
    return parse_transmit(str(asked))


def _in_a_row(hops: Sequence[Holds]) -> Holds | None:
    """Give the most that the hops of a chain hold back together."""
    drains = [holds.drain_ns for holds in hops if holds.drain_ns is not None]
    if not hops:
        return None
    drain_ns = sum(drains) if len(drains) == len(hops) else None
    return Holds(sum(holds.packets for holds in hops), drain_ns)
