"""Packets that the device held back because the generator stood still.

A transmit policy that waits for a full batch waits for the generator to send. And when the
generator's receive ring is full, the device has nowhere to put packets until it is read again.
Neither is the device's doing.
"""

from dataclasses import dataclass

import numpy as np

from taut.explain.arrays import BEFORE_ALL, Ints, Mask, at_or
from taut.explain.judge.cover import covered_by
from taut.explain.read.packets import Tail
from taut.explain.read.spans import Spans
from taut.records.documents.generator import GapCounters
from taut.testbed.links import LINKS

RING_PACKETS = 960
"""At least so many packets wait in the generator's receive ring when it is full, where
generator.json does not say: the 1024 places that it has over taut's links, less one burst of its
receive calls (gap_watch_set_ring of dataplane/generator/gap_watch.c)."""


@dataclass(frozen=True)
class ReceiveRing:
    """The generator's receive ring, and what tells that a gap left it full."""

    n_packets: int = RING_PACKETS
    """At least so many packets waited in it."""
    filling_ns: int = 0
    """No shorter gap fills it; 0: runs of before generator.json said so."""


def ring_of(link: str | None, gaps: GapCounters | None) -> ReceiveRing | None:
    """Give the generator's ring; None: a full one makes nobody wait.

    The kernel drops what finds it full.
    """
    kind = LINKS.get(link or "")
    if kind is not None and kind.crosses_kernel:
        return None
    if gaps is None or gaps.full_ring_packets is None:
        return ReceiveRing()
    return ReceiveRing(gaps.full_ring_packets, gaps.full_ring_ns or 0)


def stood_still_ns(tail: Tail, generator: Spans) -> Ints:
    """How long the generator stood still while each packet's batch was being filled."""
    until = np.minimum(tail.sent_ns + tail.fill_ns, tail.received_ns)
    return covered_by(generator, tail.sent_ns, until, tail.is_late)[0]


def held_back(
    tail: Tail, generator: Spans, needed_ns: Ints, stood_ns: Ints, ring: ReceiveRing | None
) -> tuple[Mask, Ints]:
    """Mark the packets that were held back so, and give the gap of the generator, -1: none.

    `needed_ns` is the latency to explain; for `stood_ns` of it a batch waited for the generator.
    A full `ring` keeps the device waiting; None: it does not.
    """
    if not len(generator):
        return np.zeros(len(tail), bool), np.full(len(tail), -1)
    in_batch = tail.is_late & (stood_ns > 0) & (2 * stood_ns >= needed_ns)
    full = np.empty(0, np.int64) if ring is None else _filling(tail, generator, ring)
    # The latest such gap that had ended when the packet was back.
    ended = np.searchsorted(generator.end_ns[full], tail.received_ns, "right") - 1
    last = at_or(full, ended, -1)
    by_ring = tail.is_late & (tail.sent_ns < at_or(generator.end_ns, last, BEFORE_ALL))
    _, longest = covered_by(generator, tail.sent_ns, tail.received_ns, in_batch)
    gap = np.where(by_ring, last, longest)
    return in_batch | by_ring, np.where(in_batch | by_ring, gap, -1)


def _filling(tail: Tail, generator: Spans, ring: ReceiveRing) -> Ints:
    """Give the gaps of the generator that left its receive ring full."""
    gaps = np.flatnonzero(generator.length_ns >= ring.filling_ns)
    end_ns = generator.end_ns[gaps]
    # The gap in which a packet came, if any: one that ended after its arrival window began.
    arrived = tail.received_ns - tail.arrival_window_ns
    at = np.searchsorted(end_ns, tail.received_ns, "right") - 1
    waited = tail.is_late & (arrived < at_or(end_ns, at, BEFORE_ALL))
    return gaps[np.bincount(at[waited], minlength=len(gaps)) >= ring.n_packets]
