"""Count how often 95 % intervals of percentiles hold the truth, on stalls that really happened.

tests/data/late_packets.npz has the late packets of real trials of taut: how many packets were on
time between one clump of late ones and the next, how many are in each clump, and the latency of
every late one.  Runs of any length are made of them by resampling: stretches of successive clumps,
each from a random place (a stationary bootstrap), every clump longer or shorter by a random factor.
The percentiles of the source are known exactly, so that it can be counted how often the interval
taut would print holds them.

    bench/interval_coverage.py                       the table of docs/benchmarks.md
    bench/interval_coverage.py --take OUT TRIAL...   make such a file of trial folders
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc
import pyarrow.parquet as pq

from taut.analysis.blocks import KEPT_BITS, block_length_ns, rounded_down
from taut.analysis.effective import BlockCounts
from taut.analysis.statistics import Summary, summary_of
from taut.core.percentiles import PERCENTILES
from taut.records.layout import PacketFlag

Integers = npt.NDArray[np.int64]

RECORDED = Path(__file__).parent.parent / "tests" / "data" / "late_packets.npz"

LATE_SHARE = 0.03
"""The slowest 3 % of a trial are taken as late: p99 and above lie well inside."""

STRETCH = 1.25
"""The latencies of a clump are multiplied by between 1 / STRETCH and STRETCH."""

SHOWN = ("p99", "p99.9", "p99.99")

_ON_TIME_KINDS = 64
_SECOND_NS = 1_000_000_000

# Further receipts, and the warm-up.
_NOT_MEASURED = int(PacketFlag.LATE | PacketFlag.DUPLICATE | PacketFlag.COLD | PacketFlag.ORPHAN)


@dataclass(frozen=True)
class Recorded:
    """Late packets of trials of one device under one load, one trial after the other."""

    name: str
    rate_pps: int
    on_time: Integers
    """Packets on time before each clump."""
    late: Integers
    """Packets in each clump."""
    latency_ns: Integers
    """Of every late packet."""
    on_time_ns: Integers
    """Latencies that as many packets on time have each, ascending."""

    @property
    def n_packets(self) -> int:
        """All packets of the source."""
        return int(self.on_time.sum() + self.late.sum())


def read_recorded(path: Path = RECORDED) -> list[Recorded]:
    """Read every source of a file."""
    with np.load(path) as file:
        names = sorted({key.rpartition("/")[0] for key in file.files})
        return [
            Recorded(
                name,
                int(file[f"{name}/rate_pps"]),
                *(file[f"{name}/{part}"].astype(np.int64) for part in _PARTS),
            )
            for name in names
        ]


_PARTS = ("on_time", "late", "latency_ns", "on_time_ns")


def resample(
    source: Recorded, n_packets: int, rng: np.random.Generator, stretch_s: float
) -> tuple[Integers, Integers]:
    """Make a run: the places of its late packets among n_packets, and their latencies.

    Clumps that follow each other stay together for stretch_s on average.
    """
    clumps = _clumps(source, 2 * n_packets, rng, stretch_s)
    lengths = source.late[clumps]
    ends = np.cumsum(source.on_time[clumps] + lengths)
    # A run does not begin with a clump's neighbourhood: it begins anywhere.
    first = rng.integers(0, n_packets)
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    places = np.repeat(ends - lengths, lengths) + within - first
    starts = np.cumsum(source.late) - source.late
    latencies = source.latency_ns[np.repeat(starts[clumps], lengths) + within]
    factors = np.repeat(np.exp(rng.uniform(-1, 1, len(clumps)) * np.log(STRETCH)), lengths)
    inside = (places >= 0) & (places < n_packets)
    return places[inside], (latencies * factors)[inside].astype(np.int64)


def _clumps(
    source: Recorded, n_packets: int, rng: np.random.Generator, stretch_s: float
) -> Integers:
    """Number clumps until so many packets are there."""
    n_clumps = len(source.late)
    per_clump = source.n_packets / n_clumps
    mean = max(1.0, stretch_s * source.rate_pps / per_clump)
    found: list[Integers] = []
    n = 0
    while n < n_packets:
        n_stretches = int(1.1 * (n_packets - n) / (per_clump * mean)) + 2
        lengths = rng.geometric(1 / mean, n_stretches)
        offsets = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        chosen = (np.repeat(rng.integers(0, n_clumps, n_stretches), lengths) + offsets) % n_clumps
        found.append(chosen)
        n += int((source.on_time[chosen] + source.late[chosen]).sum())
    return np.concatenate(found)


def true_percentile(source: Recorded, name: str) -> float:
    """Give what a run without end would show."""
    over, under = PERCENTILES[name]
    wanted = source.n_packets * (under - over) / under
    low, high = float(source.latency_ns.min()), float(source.latency_ns.max()) * STRETCH
    for _ in range(100):
        middle = (low + high) / 2
        above = 0.5 + np.log(source.latency_ns / middle) / (2 * np.log(STRETCH))
        if np.clip(above, 0, 1).sum() > wanted:
            low = middle
        else:
            high = middle
    return high


def summarised(
    source: Recorded,
    places: Integers,
    latencies: Integers,
    n_packets: int,
    rng: np.random.Generator,
    *,
    in_blocks: bool = True,
) -> Summary:
    """Summarise a run as taut does."""
    n_kinds = len(source.on_time_ns)
    length = block_length_ns(n_packets * _SECOND_NS // source.rate_pps)
    length = length * source.rate_pps // _SECOND_NS
    blocks = np.arange(-(-n_packets // length))
    sizes = np.minimum(length, n_packets - blocks * length)
    late = np.bincount(places // length, minlength=len(blocks))
    on_time = rng.multinomial(sizes - late, [1 / n_kinds] * n_kinds)
    values = np.append(latencies, np.tile(source.on_time_ns, len(blocks)))
    n = np.append(np.ones(len(places), np.int64), on_time.ravel())
    block = np.append(places // length, np.repeat(blocks, n_kinds))
    counts = BlockCounts(block, rounded_down(values, KEPT_BITS), n) if in_blocks else None
    return summary_of(values, n, blocks=counts)


@dataclass
class Tally:
    """What the intervals of one percentile came to."""

    runs: int = 0
    two_sided: int = 0
    held: int = 0
    """Two-sided intervals that hold the truth."""
    too_low: int = 0
    """Two-sided intervals that end below it."""
    at_least: int = 0
    """One-sided intervals whose lower end is not above the truth."""
    held_if_independent: int = 0
    """Intervals of packets taken as independent that hold the truth, of all runs."""

    @property
    def one_sided(self) -> int:
        """Intervals without an upper end."""
        return self.runs - self.two_sided

    def add(self, other: "Tally") -> None:
        """Count those of another source with these."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


def tally(
    source: Recorded,
    n_packets: int,
    n_runs: int,
    seed: int,
    *,
    stretch_s: float = 0.01,
    beside: bool = False,
) -> Mapping[str, Tally]:
    """Count over many runs; `beside` also counts intervals that take packets as independent."""
    rng = np.random.default_rng(seed)
    found = {name: Tally() for name in SHOWN}
    truth = {name: true_percentile(source, name) for name in SHOWN}
    for _ in range(n_runs):
        run = resample(source, n_packets, rng, stretch_s)
        summary = summarised(source, *run, n_packets, rng)
        plain = summarised(source, *run, n_packets, rng, in_blocks=False) if beside else None
        for name, of in found.items():
            _count(of, summary, name, truth[name])
            if plain is not None:
                low, high = plain.intervals[name]
                of.held_if_independent += (low or 0) <= truth[name] <= (high or np.inf)
    return found


def _count(of: Tally, summary: Summary, name: str, truth: float) -> None:
    low, high = summary.intervals[name]
    is_low_enough = low is None or low <= truth
    of.runs += 1
    if high is None:
        of.at_least += is_low_enough
    else:
        of.two_sided += 1
        of.held += is_low_enough and truth <= high
        of.too_low += high < truth


def take(trials: Sequence[Path], out: Path) -> None:
    """Write the late packets of trial folders; trials of one device and load are one source."""
    found: dict[str, list[Integers]] = {}
    parts: dict[str, Integers] = {}
    for trial in trials:
        meta = json.loads((trial / "trial.json").read_text())
        rate_pps = round(meta["traffic"]["offered_pps"])
        name = f"{meta['dut']['name']} ({meta['dut']['link']}), {rate_pps // 1000} kpkt/s"
        found.setdefault(name, []).append(_latencies(trial))
        parts[f"{name}/rate_pps"] = np.array(rate_pps)
    for name, arrays in found.items():
        for part, values in zip(_PARTS, _clumps_of(np.concatenate(arrays)), strict=True):
            parts[f"{name}/{part}"] = values.astype(np.int32)
    np.savez_compressed(out, allow_pickle=False, **parts)


def _latencies(trial: Path) -> Integers:
    """Give every packet's latency in the order of sending; a lost one has 0, as if on time."""
    names = ["seq", "flags", "sent_ns", "received_ns"]
    rows = pq.read_table(trial / "packets.parquet", columns=names)
    rows = rows.filter(pc.equal(pc.bit_wise_and(rows["flags"], _NOT_MEASURED), 0)).sort_by("seq")
    latency = pc.fill_null(pc.subtract(rows["received_ns"], rows["sent_ns"]), 0)
    values: Integers = latency.to_numpy()
    return values


def _clumps_of(latencies: Integers) -> tuple[Integers, ...]:
    """Cut into clumps of late packets: what Recorded has, in its order."""
    threshold = np.sort(latencies)[-int(LATE_SHARE * len(latencies))]
    places = np.flatnonzero(latencies >= threshold)
    is_first = np.diff(places, prepend=-2) > 1
    late = np.diff(np.append(np.flatnonzero(is_first), len(places)))
    starts = places[is_first]
    on_time = starts - np.append(0, (starts + late)[:-1])
    quiet = np.sort(latencies[(latencies < threshold) & (latencies > 0)])
    kinds = quiet[(np.arange(_ON_TIME_KINDS) * len(quiet)) // _ON_TIME_KINDS]
    # Two digits are enough, and pack well.
    return on_time, late, rounded_down(latencies[places], 8), kinds


COLUMNS = (
    *("source", "run", "percentile", "two-sided", "hold the truth", "end below it"),
    *("one-sided that hold", "if packets were independent"),
)


def lines(n_runs: int, seed: int, run_s: Sequence[float], stretch_s: float) -> Iterator[str]:
    """Give the table in markdown."""
    yield f"| {' | '.join(COLUMNS)} |"
    yield "|" + "---|" * len(COLUMNS)
    of_all: dict[tuple[float, str], Tally] = {}
    for source in read_recorded():
        for seconds in run_s:
            n_packets = int(seconds * source.rate_pps)
            found = tally(source, n_packets, n_runs, seed, stretch_s=stretch_s, beside=True)
            for name, of in found.items():
                of_all.setdefault((seconds, name), Tally()).add(of)
                yield _line(source.name, seconds, name, of)
    for (seconds, name), of in of_all.items():
        yield _line("all of them", seconds, name, of)


def _line(source: str, seconds: float, name: str, of: Tally) -> str:
    cells = (
        *(source, f"{seconds:g} s", name, _share(of.two_sided, of.runs)),
        *(_share(of.held, of.two_sided), _share(of.too_low, of.two_sided)),
        *(_share(of.at_least, of.one_sided), _share(of.held_if_independent, of.runs)),
    )
    return f"| {' | '.join(cells)} |"


def _share(part: int, of: int) -> str:
    return f"{100 * part / of:.1f} %" if of else "–"


def main() -> None:
    """Print the table, or make the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000, help="made-up runs of each kind")
    parser.add_argument("--seconds", type=float, nargs="+", default=[3, 10, 60])
    parser.add_argument("--stretch", type=float, default=0.01, help="seconds that stay together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--take", type=Path, metavar="OUT", help="make a file of trial folders")
    parser.add_argument("trials", type=Path, nargs="*")
    asked = parser.parse_args()
    if asked.take:
        take(asked.trials, asked.take)
        return
    for line in lines(asked.runs, asked.seed, asked.seconds, asked.stretch):
        print(line, flush=True)


if __name__ == "__main__":
    main()
