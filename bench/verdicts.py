"""What `taut explain` makes of each device of a run, held to a count that is not its own.

    taut run examples/every-device.toml --out runs/every-device
    .venv/bin/python bench/verdicts.py runs/every-device

A stall that a late packet is blamed on is contradicted if packets went in and came out inside it,
20 µs from either end, at several moments: who stands still lets no packet out. Over ports of the
kernel an iteration sends one by one: there it is, if more did than the device's log says it had.
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from harness import heading, progress, table
from taut.core.units import parse_rate
from taut.explain import Explanation, Options, explain_trial
from taut.records.layout import PacketFlag
from taut.records.rundir import RunDirectory, TrialDirectory

EDGE_NS = 20_000
"""A stall begins and ends inside an iteration; a packet so far from its ends was not in hand."""
BURST_NS = 1_000
"""What one iteration sends leaves in one go, so much between two packets at most."""

AGAIN = PacketFlag.LATE | PacketFlag.DUPLICATE | PacketFlag.ORPHAN
EVERY = 10_000
"""More stories than a tail has packets; of a device that sleeps there are as many gaps as wakes."""
LEAST = 0.5
"""Causes of a smaller share of the tail, in per cent, are counted together."""

Stall = tuple[str, int, int]
"""Whose it was, from when to when, in ns."""


def stalls_of(found: Explanation) -> set[Stall]:
    """Give the stalls of a device that late packets are blamed on."""
    gaps = [story.gap for story in found.worst if story.gap is not None]
    return {(gap.thread, gap.start_ns, gap.end_ns) for gap in gaps if gap.thread != "generator"}


def passed_in(trial: TrialDirectory, stalls: set[Stall]) -> dict[Stall, int]:
    """Count the packets that went in and came out in each stall in which several bursts did.

    One burst can: an iteration that is held up before it takes packets, and again when it has sent
    them, is one gap of the log. So can what it had in hand, where its ports send one by one.
    """
    log = logged_one_by_one(trial)
    packets = pq.read_table(trial.packets, columns=["flags", "sent_ns", "received_ns"])
    packets = packets.filter(pc.is_valid(packets["received_ns"]))
    flags, sent, received = (packets[name].to_numpy() for name in packets.column_names)
    came_first = flags & AGAIN == 0
    sent, received = sent[came_first], received[came_first]
    counts = {}
    for thread, start, end in stalls:
        came = np.sort(received[(sent > start + EDGE_NS) & (received < end - EDGE_NS)])
        if np.any(np.diff(came) > BURST_NS) and len(came) > handled_in(log, (start + end) // 2):
            counts[thread, start, end] = len(came)
    return counts


def logged_one_by_one(trial: TrialDirectory) -> pa.Table:
    """Give the gaps of the device's log, in order, where its ports send one by one; else none."""
    gaps = pq.read_table(trial.gaps, filters=[("thread", "=", "forwarder")]).sort_by("start_ns")
    log = trial.meta.dut.stats and trial.meta.dut.stats.gaps
    return gaps if log and log.per_packet_ns > BURST_NS else gaps.slice(0, 0)


def handled_in(log: pa.Table, at_ns: int) -> int:
    """Say how many packets a gap of the log had; 0: there is none at that time.

    Asked for the middle of a stall: explain puts gaps of a core on the generator's clock, so that
    they begin some ns beside where the log has them.
    """
    row = int(np.searchsorted(log["start_ns"].to_numpy(), at_ns, "right")) - 1
    if row < 0 or log["end_ns"][row].as_py() < at_ns:
        return 0
    return int(log["n_packets"][row].as_py())


@dataclass
class Verdicts:
    """Sums over the trials of one device at one load."""

    n_trials: int = 0
    n_tail: int = 0
    n_stalls: int = 0
    n_contradicted: int = 0
    causes: Counter[str] = field(default_factory=Counter)

    def add(self, trial: TrialDirectory, over: str) -> None:
        """Explain a trial and count."""
        found = explain_trial(trial.path, Options(over=over, n_worst=EVERY))
        stalls = stalls_of(found)
        self.n_trials += 1
        self.n_tail += found.n_tail
        self.n_stalls += len(stalls)
        self.n_contradicted += len(passed_in(trial, stalls))
        self.causes.update({total.cause: total.n_packets for total in found.causes})

    def words(self) -> str:
        """Name the causes with their shares of the tail, in per cent, the greatest first."""
        shares = {cause: 100 * n / self.n_tail for cause, n in self.causes.most_common()}
        told = {cause: share for cause, share in shares.items() if share >= LEAST}
        if few := sum(share for share in shares.values() if share < LEAST):
            told["others"] = few
        return ", ".join(f"{c} {share:.{0 if share >= 10 else 1}f}" for c, share in told.items())


def main() -> int:
    """Explain every whole trial of a run, and print a row a device and load."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--over", default="p99.9", help="which packets are late")
    asked = parser.parse_args()
    trials = RunDirectory(asked.run).some_trials()
    found = explained([trial for trial in trials if trial.is_whole], asked.over)
    heading("Verdicts")
    columns = ["device", "load", "trials", "tail", "stalls blamed", "contradicted", "causes, %"]
    table(columns, rows_of(found))
    failed = [trial.name for trial in trials if not trial.is_whole]
    print(f"Failed trials: {', '.join(failed) or 'none'}. Above {asked.over} of each trial.")
    return 0


def explained(trials: Sequence[TrialDirectory], over: str) -> Mapping[tuple[str, str], Verdicts]:
    """Explain trials, one after the other."""
    found: defaultdict[tuple[str, str], Verdicts] = defaultdict(Verdicts)
    for trial in trials:
        progress(trial.name)
        found[trial.meta.dut.name or "", trial.meta.traffic.rate or ""].add(trial, over)
    return found


def rows_of(found: Mapping[tuple[str, str], Verdicts]) -> Iterator[list[str]]:
    """Give the rows, by device and falling load."""
    for device, rate in sorted(found, key=lambda key: (key[0], -parse_rate(key[1]).value)):
        of = found[device, rate]
        counts = (of.n_trials, of.n_tail, of.n_stalls, of.n_contradicted)
        yield [device, rate, *(f"{n:,}" for n in counts), of.words()]


if __name__ == "__main__":
    sys.exit(main())
