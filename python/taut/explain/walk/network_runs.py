"""Which run of the network softirq let each packet out, and when the device stood still.

A kernel device has no thread; its work is done in runs of NET_RX on one core. A packet leaves in
the earliest run that can have let it out: a softirq that ran ended the hold.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from taut.explain.arrays import AFTER_ALL, BEFORE_ALL, Ints, Mask, at_or, interval_holding
from taut.explain.read.batches import read_batches
from taut.explain.read.events import Events
from taut.explain.read.names import Names
from taut.explain.read.packets import Tail
from taut.explain.read.spans import Stretches, merged
from taut.explain.walk.layers import Layer, is_delivery, is_wake_call, network_threads

_BATCH = 1 << 18
_BEHIND_NS = 50_000
"""A run that begins within this time of another run's end continues with its packets."""


@dataclass(frozen=True)
class Carried:
    """How many packets the runs let out, and when."""

    n_packets: Ints
    """Packets let out by each run."""
    out_ns: Ints
    """When packets left while a late one was inside, in order."""
    later: Ints
    """Of the packets counted with each run or one before it, how many may have left after it."""


@dataclass(frozen=True)
class HeldStretches:
    """Stretches in which a late packet was inside and none came out; in order, not overlapping."""

    start_ns: Ints
    served_ns: Ints
    """When the run began that ended the stretch; `start_ns` if it was under way."""
    end_ns: Ints
    run: Ints
    n_packets: Ints
    """Packets that left at the stretch's end."""

    def __len__(self) -> int:
        return len(self.start_ns)

    def of(self, times: Ints) -> Ints:
        """Give the index of the stretch that holds each time, -1: none."""
        return interval_holding(self.start_ns, self.end_ns, times)


def run_of(runs: Layer, sent: Ints, received: Ints, arrival_window: Ints) -> Ints:
    """Give the earliest run that can have let each packet out, -1: none.

    A packet came into the generator's ring after the poll before the one that found it.
    """
    earliest = np.maximum(sent, received - arrival_window)
    found = np.searchsorted(runs.end_ns, earliest, "left")
    if not len(runs):
        return np.full(len(sent), -1)
    last = np.minimum(found, len(runs) - 1)
    return np.where((found < len(runs)) & (runs.start_ns[last] <= received), last, -1)


def carry(packets: Path, runs: Layer, within: Stretches) -> Carried:
    """Count the packets that each run let out; memory is bounded by the tail, not the trial."""
    n, n_at_last = np.zeros(len(runs), np.int64), np.zeros(len(runs), np.int64)
    outs = [np.empty(0, np.int64)]
    columns = ["sent_ns", "received_ns", "arrival_window_ns"]
    for batch in read_batches(packets, columns, _BATCH):
        whole = batch.filter(
            batch.column("sent_ns").is_valid().to_numpy(zero_copy_only=False)
            & batch.column("received_ns").is_valid().to_numpy(zero_copy_only=False)
        )
        sent, received, window = (
            whole.column(name).fill_null(0).to_numpy().astype(np.int64) for name in columns
        )
        run = run_of(runs, sent, received, window)
        n += np.bincount(run[run >= 0], minlength=len(n))
        # What was received before a run began cannot have left in it.
        last = np.searchsorted(runs.start_ns, received[run >= 0], "right") - 1
        n_at_last += np.bincount(last, minlength=len(n))
        out = _left(runs, run, received)
        outs.append(out[_inside(out, *within)])
    return Carried(n, np.unique(np.concatenate(outs)), np.cumsum(n - n_at_last))


def find_holds(
    runs: Layer, tail: Tail, carried: Carried, handled: Ints, told: Ints, awake: Layer
) -> HeldStretches:
    """Cut the time of late packets wherever a packet came out or a run ended.

    `handled` is how many packets each run handled, 0 where that is not known. If a run handled and
    let out none, no packet was waiting. `told` is when the core was told of packets; where that is
    known, a stretch begins no earlier. `awake` are the turns of the kernel's network threads: what
    comes while one has the core needs no telling.
    """
    late = np.flatnonzero(tail.is_late)
    sent, received = tail.sent_ns[late], tail.received_ns[late]
    run = run_of(runs, sent, received, tail.arrival_window_ns[late])
    known = run >= 0
    sent, out = sent[known], _left(runs, run, received)[known]
    order = np.argsort(sent, kind="stable")
    start, end = merged(sent[order], out[order])
    cuts = np.concatenate([carried.out_ns, runs.end_ns])
    points = np.unique(np.concatenate([start, end, cuts[_inside(cuts, start, end)]]))
    inside = _inside(points[:-1], start, end)
    first, last = points[:-1][inside], points[1:][inside]
    return _told(runs, carried, handled, (first, last), told, awake)


def _told(
    runs: Layer, carried: Carried, handled: Ints, between: Stretches, told: Ints, awake: Layer
) -> HeldStretches:
    """Let each stretch begin when its core was told, if that is known."""
    start, end = between
    run = np.searchsorted(runs.end_ns, end, "left")
    run = np.minimum(run, len(runs) - 1) if len(runs) else run
    served = np.clip(runs.start_ns[run], start, end) if len(runs) else end
    begin = start
    # A packet that came out without a run came another way, or the run was not recorded.
    has_run = np.zeros(len(start), bool)
    if len(runs):
        did = _did_something(runs, carried.n_packets, handled)
        has_run = (runs.start_ns[run] <= end) & did[run]
    if len(told):
        before = np.searchsorted(runs.start_ns, start, "right") - 1
        since = at_or(runs.start_ns, before, int(told[0]) - 1)
        following = np.searchsorted(told, start, "right")
        is_pending = following > np.searchsorted(told, since, "right")
        then = told[np.minimum(following, len(told) - 1)]
        is_told = (following < len(told)) & (then <= served)
        is_pending |= _stays(awake, start, served)
        held = served > start
        begin = np.where(held & ~is_pending, np.where(is_told, then, served), start)
    kept = has_run & (end > begin)
    outs = carried.out_ns
    n_packets = np.searchsorted(outs, end, "right") - np.searchsorted(outs, start, "right")
    return HeldStretches(
        begin[kept],
        np.maximum(served, begin)[kept],
        end[kept],
        run[kept],
        n_packets[kept].astype(np.int64),
    )


def _stays(awake: Layer, start: Ints, end: Ints) -> Mask:
    """Mark the stretches through which one network thread had the core."""
    stays: Mask = at_or(awake.end_ns, awake.at(start), BEFORE_ALL) >= end
    return stays


def _did_something(runs: Layer, n_packets: Ints, handled: Ints) -> Mask:
    """Mark the runs that had packets.

    A packet passes the core twice, and may leave in a later run. Where the handled packets were not
    counted, a run had some if it was long, or if a run that let packets out follows at once.
    """
    did = n_packets + handled > 0
    if handled.any() or not did.any():
        return did
    useful = runs.start_ns[did]
    then = np.append(useful, AFTER_ALL)[np.searchsorted(useful, runs.end_ns)]
    length = runs.end_ns - runs.start_ns
    had: Mask = did | (length > 2 * np.median(length[did])) | (then - runs.end_ns < _BEHIND_NS)
    return had


def told_of_packets(events: Events, core: int, names: Names) -> Ints:
    """Give the times at which this core was told, by itself or another one, of packets for it."""
    delivery = is_delivery(events, names)
    taken = events.of("call_entry") & (events.cpu == core) & delivery
    # One core's record of such calls is one csd.
    to_core = np.isin(events.arg0, np.unique(events.arg0[taken]))
    queued = events.of("call_queue") & delivery & to_core
    threads = network_threads(names, core)
    woken = events.woken_on(core) & np.isin(events.arg0, threads)
    for thread in threads:
        woken |= is_wake_call(events, core, names, int(thread)) & events.of("call_queue")
    has_napi = any(names.comm(int(thread)).startswith("napi/") for thread in threads)
    if not queued.any() and not has_napi:
        # Kernels before 6.5 do not say when: a packet's own sending stands in.
        return np.empty(0, np.int64)
    times: Ints = events.time_ns[queued | woken]
    return times


def _left(runs: Layer, run: Ints, received: Ints) -> Ints:
    """Give the latest time at which each packet can have left the device."""
    return np.minimum(received, at_or(runs.end_ns, run, AFTER_ALL))


def _inside(times: Ints, start: Ints, end: Ints) -> Mask:
    """Mark the times inside stretches, not at their ends."""
    inside: Mask = interval_holding(start, end, times) >= 0
    return inside
