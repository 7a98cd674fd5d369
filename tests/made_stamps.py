"""Made-up stamps of packets at the hops of a chain, as taut-forward writes them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from made_run import TICKS_PER_NS, write_raw
from taut.records.convert import StampLog, convert_stamps, convert_trial
from taut.records.documents.trial import (
    ClockReading,
    Clocks,
    Dut,
    DutStats,
    Hop,
    SkewOfCores,
    StampCounters,
    TrialDocument,
)
from taut.records.layout import STAMP, RecordKind, StampEvent
from taut.records.rundir import TrialDirectory

RUN_ID = 7
"""That of write_raw's headers."""

NEVER = -1
"""A time of a packet that did not get there."""


def stamps_at(
    packets: np.ndarray,
    received_ns: np.ndarray | int,
    sent_ns: np.ndarray | int,
    window_ns: int = 60,
) -> np.ndarray:
    """Make the stamps of one hop: times are ns since the generator sent the packet, or NEVER."""
    both = []
    for event, after_ns in ((StampEvent.RECEIVED, received_ns), (StampEvent.SENT, sent_ns)):
        after = np.broadcast_to(after_ns, len(packets))
        got_there = after != NEVER
        stamps = np.zeros(int(got_there.sum()), STAMP)
        ticks = np.rint(after[got_there] * TICKS_PER_NS).astype(np.uint64)
        stamps["tsc"] = packets["sent_tsc"][got_there] + ticks
        stamps["seq"] = packets["seq"][got_there]
        stamps["direction"] = packets["direction"][got_there]
        stamps["run_id"], stamps["event"] = RUN_ID, event
        if event is StampEvent.RECEIVED:
            stamps["window"] = round(window_ns * TICKS_PER_NS)
        both.append(stamps)
    stamps = np.concatenate(both)
    return stamps[np.argsort(stamps["tsc"], kind="stable")]


def write_stamps(raw: Path, hops: Sequence[np.ndarray]) -> list[StampLog]:
    """Write the record file of each hop."""
    logs = []
    for number, stamps in enumerate(hops, 1):
        path = raw / f"hop{number}-stamps.bin"
        write_raw(path, RecordKind.STAMP, stamps, thread=b"forwarder")
        logs.append(StampLog(path, f"hop {number}"))
    return logs


def stamped_trial(
    folder: Path,
    packets: np.ndarray,
    hops: Sequence[np.ndarray],
    every: int = 1,
    skew_ns: float = 0,
) -> TrialDirectory:
    """Write what a trial through a chain leaves of packets and stamps."""
    raw = folder / "raw"
    raw.mkdir(parents=True)
    write_raw(raw / "packets.bin", RecordKind.PACKET, packets)
    logs = write_stamps(raw, hops)
    convert_trial(raw, folder)
    convert_stamps(raw, folder, logs)
    stats = DutStats(stamps=StampCounters(every=every, n=0))
    ran = tuple(Hop(log.element, core, (), stats) for core, log in enumerate(logs, 1))
    clock = ClockReading(usable=True, skew=(SkewOfCores((0, 1), skew_ns, 0.0),))
    return TrialDirectory(folder, TrialDocument(dut=Dut(hops=ran), clock=Clocks(before=clock)))


def means(budget: object, column: str) -> Mapping[str, float]:
    """Give the mean of each part, by its name."""
    return {part.name: part.mean_ns[column] for part in budget.parts}  # type: ignore[attr-defined]
