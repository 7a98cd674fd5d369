"""How much of a device's latency each of its hops and links holds, from stamps at every hop.

The stamps of a packet are on one clock, and each part ends at the stamp where the next one begins:
the parts add up to the latency. What can be wrong is their order, and that is checked.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from taut.core.percentiles import PERCENTILES, is_supported, percentile_rank
from taut.core.units import format_ns
from taut.records import parquet
from taut.records.documents.budget import Budget, BudgetColumn, BudgetPart, PartKind
from taut.records.documents.trial import DEVICE, Clocks, Dut
from taut.records.layout import EXTRA_RECORD, STAMP_EVENTS, PacketFlag, StampEvent
from taut.records.rundir import TrialDirectory

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MEAN = "mean"
_PERCENTILES = ("p50", "p99", "p99.9")
_BAND = 0.1
"""A column takes so much of what is above its percentile, to both sides."""

_GENERATOR = "generator"
_SPREAD_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_MOST = 1 << 20
"""Packets that are joined; where more were stamped, every other one is left out."""
_ROUNDING_NS = 1
_NEVER = np.iinfo(np.int64).min


def is_chosen(seq: npt.NDArray[np.uint64], every: int) -> Bools:
    """Say which packets are stamped where one in so many is, as taut-forward does."""
    return np.asarray(seq * _SPREAD_FACTOR <= np.uint64(np.iinfo(np.uint64).max // every))


def budgets_of(trial: TrialDirectory) -> tuple[Budget, ...] | None:
    """Give the budget of each direction; None where nothing stamped, or not to the end.

    Every packet has to be in packets.parquet.
    """
    elements, every = _stamping(trial.meta.dut)
    if every is None or not trial.stamps.is_file():
        return None
    every *= -(-parquet.read_metadata(trial.packets).num_rows // (every * _MOST)) or 1
    packets = _read(trial.packets, every, _PACKET_COLUMNS)
    stamps = _read(trial.stamps, every, _STAMP_COLUMNS)
    resolution_ns = _skew_ns(trial.meta.clock) + _ROUNDING_NS
    sent = packets.filter(_is_warm(packets))
    directions = sorted(set(sent["direction"].to_pylist()))
    return tuple(
        _budget(_journeys(sent, stamps, elements, direction), direction, every, resolution_ns)
        for direction in directions
    )


def pooled(trials: Sequence[Sequence[Budget]]) -> tuple[Budget, ...]:
    """Give the budgets of repetitions as one for each direction: each mean is of all packets."""
    by_direction: dict[int, list[Budget]] = {}
    for budget in (budget for trial in trials for budget in trial):
        by_direction.setdefault(budget.direction, []).append(budget)
    return tuple(_pooled(by_direction[direction]) for direction in sorted(by_direction))


def problems(budgets: Sequence[Budget]) -> list[str]:
    """Say in a line each what is wrong with the budgets of a trial."""
    found = []
    for budget in budgets:
        if budget.out_of_order:
            found.append(
                f"latency budget: stamps of {budget.out_of_order} packets are out of order, by up"
                f" to {format_ns(budget.worst_ns)}; clocks agree to"
                f" {format_ns(budget.resolution_ns)}: no budget is told"
            )
        if budget.without_all_stamps:
            found.append(
                f"latency budget: {budget.without_all_stamps} packets that were to be stamped have"
                " not all of their stamps"
            )
    return found


_PACKET_COLUMNS = (
    *("seq", "direction", "flags"),
    *("sent_ns", "received_ns", "arrival_window_ns"),
)
_STAMP_COLUMNS = ("element", "event", "seq", "direction", "time_ns", "window_ns")


def _stamping(dut: Dut) -> tuple[list[str], int | None]:
    """Name what stamped, in the order of direction 0, and say how many; None: not all of them."""
    at = [(hop.name, hop.stats) for hop in dut.hops or ()] or [(DEVICE, dut.stats)]
    every = [stats.stamps.every for _, stats in at if stats is not None and stats.stamps]
    return [name for name, _ in at], max(every) if len(every) == len(at) else None


def _skew_ns(clock: Clocks) -> float:
    readings = [reading for reading in (clock.before, clock.after) if reading is not None]
    skews = [abs(s.skew_ns) + s.uncertainty_ns for reading in readings for s in reading.skew]
    return max(skews, default=0.0)


def _read(path: Path, every: int, columns: Sequence[str]) -> pa.Table:
    """Read the rows of packets that are stamped."""
    with parquet.opened(path) as file:
        schema = pa.schema([file.schema_arrow.field(name) for name in columns])

        def chosen() -> Iterator[pa.RecordBatch]:
            for batch in file.iter_batches(columns=list(columns)):
                is_one = pa.array(is_chosen(batch["seq"].to_numpy(), every))
                yield batch.select(list(columns)).filter(is_one)

        return pa.Table.from_batches(chosen(), schema)


def _is_warm(packets: pa.Table) -> pa.Array:
    flags = packets["flags"].to_numpy()
    counts = flags & (EXTRA_RECORD | PacketFlag.COLD) == 0
    return pa.array(counts & packets["sent_ns"].is_valid().to_numpy())


@dataclass(frozen=True)
class _Stop:
    """One element that packets came to: a time for each packet, _NEVER where there is none."""

    name: str
    received_ns: Ints
    window_ns: Ints
    sent_ns: Ints | None
    """None: the generator, where they end."""


@dataclass(frozen=True)
class _Journeys:
    """Packets of one direction, and where they were when."""

    sent_ns: Ints
    stops: Sequence[_Stop]


def _journeys(
    packets: pa.Table, stamps: pa.Table, elements: Sequence[str], direction: int
) -> _Journeys:
    ours = packets.filter(pa.array(packets["direction"].to_numpy() == direction))
    seq = ours["seq"].to_numpy()
    mine = stamps.filter(pa.array(stamps["direction"].to_numpy() == direction))
    stops = []
    for name in elements if direction == 0 else reversed(elements):
        received, window = _at(mine, name, StampEvent.RECEIVED, seq)
        sent, _ = _at(mine, name, StampEvent.SENT, seq)
        stops.append(_Stop(name, received, window, sent))
    back = ours["received_ns"].fill_null(_NEVER).to_numpy()
    stops.append(_Stop(_GENERATOR, back, ours["arrival_window_ns"].to_numpy(), None))
    return _Journeys(ours["sent_ns"].to_numpy(), stops)


def _at(
    stamps: pa.Table, element: str, event: StampEvent, seq: npt.NDArray[np.uint64]
) -> tuple[Ints, Ints]:
    """Give time and window of each packet's first stamp of a kind at an element."""
    is_here = pc.equal(stamps["element"], element)
    rows = stamps.filter(pc.and_(is_here, pc.equal(stamps["event"], STAMP_EVENTS[event])))
    numbers = rows["seq"].to_numpy()
    # A network function may send a packet twice: rows are in the order of time.
    order = np.argsort(numbers, kind="stable")
    place = np.searchsorted(numbers[order], seq)
    place[place == len(order)] = 0
    if not len(order):
        return np.full(len(seq), _NEVER), np.zeros(len(seq), np.int64)
    first = order[place]
    is_there = numbers[first] == seq
    time_ns = np.where(is_there, rows["time_ns"].to_numpy()[first], _NEVER)
    return time_ns, rows["window_ns"].to_numpy()[first]


@dataclass(frozen=True)
class _Part:
    """One stretch of the way, with the time that each packet took for it."""

    name: str
    kind: PartKind
    ns: Ints


def _parts(journeys: _Journeys, which: Bools) -> list[_Part]:
    """Split the latency of packets that have all stamps."""
    left_ns, behind, found = journeys.sent_ns[which], _GENERATOR, []
    for stop in journeys.stops:
        there_ns = stop.received_ns[which]
        # It was not there yet at a look before: only from then on can it have waited.
        could_wait_ns = np.maximum(there_ns - stop.window_ns[which], left_ns)
        found += [
            _Part(_link(behind, stop), "link", could_wait_ns - left_ns),
            _Part(f"waiting for {stop.name}", "wait", there_ns - could_wait_ns),
        ]
        if stop.sent_ns is not None:
            left_ns, behind = stop.sent_ns[which], stop.name
            found.append(_Part(stop.name, "element", left_ns - there_ns))
    return found


def _link(behind: str, stop: _Stop) -> str:
    return f"{behind} to {stop.name}"


def _budget(journeys: _Journeys, direction: int, every: int, resolution_ns: float) -> Budget:
    back_ns = journeys.stops[-1].received_ns
    came_back = back_ns != _NEVER
    is_whole = came_back.copy()
    for stop in journeys.stops[:-1]:
        is_whole &= (stop.received_ns != _NEVER) & (stop.sent_ns != _NEVER)
    parts = _parts(journeys, is_whole)
    least_ns = np.minimum.reduce([part.ns for part in parts])
    is_wrong = least_ns < -resolution_ns
    latency_ns = (back_ns - journeys.sent_ns)[is_whole]
    columns = {} if is_wrong.any() else _columns(latency_ns)
    return Budget(
        direction=direction,
        every=every,
        n=int(is_whole.sum()),
        without_all_stamps=int((came_back & ~is_whole).sum()),
        lost=_lost(journeys, ~came_back),
        resolution_ns=resolution_ns,
        out_of_order=int(is_wrong.sum()),
        worst_ns=-int(least_ns.min()) if is_wrong.any() else 0,
        columns={
            name: _column(latency_ns[of], [part.ns[of] for part in parts])
            for name, of in columns.items()
        },
        parts=tuple(
            BudgetPart(
                p.name, p.kind, {name: float(p.ns[of].mean()) for name, of in columns.items()}
            )
            for p in parts
            if columns
        ),
    )


def _columns(latency_ns: Ints) -> dict[str, npt.NDArray[np.intp]]:
    """Choose the packets that each column is about, by their places."""
    n = len(latency_ns)
    if not n:
        return {}
    order = np.argsort(latency_ns, kind="stable")
    found = {MEAN: order}
    for name in _PERCENTILES:
        if is_supported(n, name):
            rank = percentile_rank(n, PERCENTILES[name])
            aside = int(_BAND * (n - rank))
            found[name] = order[rank - 1 - aside : rank + aside]
    return found


def _column(latency_ns: Ints, parts_ns: Sequence[Ints]) -> BudgetColumn:
    mean_ns = float(latency_ns.mean())
    residual_ns = mean_ns - sum(float(part_ns.mean()) for part_ns in parts_ns)
    return BudgetColumn(len(latency_ns), mean_ns, residual_ns)


def _lost(journeys: _Journeys, which: Bools) -> dict[str, int]:
    """Count packets that never came back by the part that they did not leave."""
    found: dict[str, int] = {}
    left, behind = which, _GENERATOR
    for stop in journeys.stops:
        came = left & (stop.received_ns != _NEVER)
        found[_link(behind, stop)] = int((left & ~came).sum())
        if stop.sent_ns is None:
            break
        left, behind = came & (stop.sent_ns != _NEVER), stop.name
        found[stop.name] = int((came & ~left).sum())
    return {name: n for name, n in found.items() if n}


def _pooled(budgets: Sequence[Budget]) -> Budget:
    """Pool the budgets of one direction; what is out of order tells nothing of the others."""
    told = [budget for budget in budgets if budget.columns]
    columns = _common_columns(told)
    weights = {name: [column.n for column in of] for name, of in columns.items()}
    lost: Counter[str] = Counter()
    for budget in budgets:
        lost.update(budget.lost)
    return Budget(
        direction=budgets[0].direction,
        every=max(budget.every for budget in budgets),
        n=sum(budget.n for budget in told),
        without_all_stamps=sum(budget.without_all_stamps for budget in budgets),
        lost=lost,
        resolution_ns=max(budget.resolution_ns for budget in budgets),
        out_of_order=sum(budget.out_of_order for budget in budgets),
        worst_ns=max(budget.worst_ns for budget in budgets),
        columns={name: _pooled_column(of) for name, of in columns.items()},
        parts=tuple(
            _pooled_part(parts, weights) for parts in zip(*(b.parts for b in told), strict=True)
        ),
    )


def _common_columns(told: Sequence[Budget]) -> dict[str, list[BudgetColumn]]:
    """Give the columns that all of them have."""
    names = (MEAN, *_PERCENTILES) if told else ()
    common = [name for name in names if all(name in budget.columns for budget in told)]
    return {name: [budget.columns[name] for budget in told] for name in common}


def _pooled_column(columns: Sequence[BudgetColumn]) -> BudgetColumn:
    weights = [column.n for column in columns]
    return BudgetColumn(
        sum(weights),
        _mean([column.latency_ns for column in columns], weights),
        _mean([column.residual_ns for column in columns], weights),
    )


def _pooled_part(parts: Sequence[BudgetPart], weights: Mapping[str, Sequence[int]]) -> BudgetPart:
    means = {
        name: _mean([part.mean_ns[name] for part in parts], of) for name, of in weights.items()
    }
    return replace(parts[0], mean_ns=means)


def _mean(values: Sequence[float], weights: Sequence[int]) -> float:
    return float(np.average(values, weights=weights))
