"""hipnet21's published captures: every number is to be the published one."""

from collections.abc import Sequence

from taut.records.documents.results import Variant
from taut.reproduce.experiment import Section, Variants
from taut.reproduce.hipnet21.over_rates import shapes_of_rates
from taut.reproduce.hipnet21.published import (
    FIGURES,
    LEVELS_US,
    PAPER,
    PUBLISHED_NAME,
    PUBLISHED_NS,
    by_rate,
    published_at,
    rate_of,
    whole_sent,
)
from taut.reproduce.in_states import Judged, Shape, judge_shapes

_NOTE = (
    f"ns. Published is the authors' table of {PUBLISHED_NAME}, filtered: the first second left "
    "out, as is done here (their cut is at the smallest time stamp of all captures in their "
    "database). `packets` are those before the device. Lost, negative and late packets are dropped "
    "there and counted here; their jitter is the distance of arrivals, which taut calls "
    "inter_arrival. Of Snort, the virtual machine and the real-time kernel no captures are "
    "compared; `taut reproduce hipnet21 --live` measures what this machine can."
)
_COLUMNS = ("kpkt/s", "", "packets", *FIGURES, "mean")
_SHAPE_NOTE = "Each at the rate where it is worst."


def compare_captures(rows: Variants) -> list[Section]:
    """Set the published table beside its captures; others are held against nothing."""
    others = sorted({str(row.device.dut) for row in rows} - {PUBLISHED_NAME})
    mine = [row for row in rows if row.device.dut == PUBLISHED_NAME]
    if not mine:
        return [*(_measured(name, rows) for name in others), _not_judged(others)]
    note = _NOTE
    missing = _missing_rates(mine)
    if missing:
        note += f" No captures were given for {_listed(sorted(missing))} kpkt/s."
    if others:
        note += f" Without published numbers: {', '.join(others)}."
    lines = [line for row in by_rate(mine) for line in _capture_lines(row)]
    title = f"{PAPER}: DPDK l2fwd, captures of {PUBLISHED_NAME}"
    table = Section(title, _COLUMNS, tuple(lines), note)
    return [table, judge_shapes(f"{PAPER}: the shape, captures", _SHAPES, mine, _SHAPE_NOTE)]


def _missing_rates(rows: Variants) -> set[int]:
    return set(PUBLISHED_NS) - {round(rate_of(row)) for row in rows}


def _listed(rates_pps: Sequence[int]) -> str:
    return ", ".join(f"{pps // 1000}" for pps in rates_pps)


def _measured(name: str, rows: Variants) -> Section:
    lines = [_here(row) for row in by_rate([row for row in rows if row.device.dut == name])]
    note = f"ns. No numbers are published for {name}."
    return Section(f"{PAPER}: captures of {name}", _COLUMNS, tuple(lines), note)


def _not_judged(names: Sequence[str]) -> Section:
    """The shapes, which are those of the published table: no other capture has to have them."""
    shapes: list[Shape] = [(what, published, lambda _: None) for what, published, _ in _SHAPES]
    title = f"{PAPER} (no published numbers for {', '.join(names)}): the shape, captures"
    return judge_shapes(title, shapes, [], f"Published are those of {PUBLISHED_NAME}.")


def _here(row: Variant) -> tuple[str, ...]:
    ours = [whole_sent(row), *(row.latency.value_ns(figure) for figure in (*FIGURES, "mean"))]
    here = ("" if n is None else f"{n:.0f}" for n in ours)
    return (f"{rate_of(row) / 1000:g}", "here", *here)


def _capture_lines(row: Variant) -> list[tuple[str, ...]]:
    """One rate: what is published, what is measured, and by how much it differs."""
    theirs = published_at(rate_of(row))
    rate, *here = _here(row)
    if theirs is None:
        return [(rate, *here)]
    ours = [whole_sent(row), *(row.latency.value_ns(figure) for figure in FIGURES)]
    return [
        (rate, "paper", *map(str, theirs), ""),
        ("", *here),
        ("", "diff", *_differences(theirs, ours), ""),
    ]


def _differences(theirs: Sequence[int], ours: Sequence[float | None]) -> list[str]:
    return [
        "" if o is None else "=" if o == t else f"{o - t:+.0f}"
        for t, o in zip(theirs, ours, strict=False)
    ]


def _levels(rows: Variants) -> Judged:
    """Look for the steps at 10 kpkt/s, each to the digit that is published."""
    row = next((r for r in rows if round(rate_of(r)) == min(PUBLISHED_NS)), None)
    if row is None or any(p in row.doubt.unsupported_percentiles for p in LEVELS_US):
        return None
    found = [round((row.latency.percentiles_ns[p] or 0) / 1000, 1) for p in LEVELS_US]
    return " / ".join(f"{us} µs" for us in found), found == list(LEVELS_US.values())


def _equal(rows: Variants) -> Judged:
    """Count the rates at which every number is the published one; None without one of them."""
    if _missing_rates(rows):
        return None
    known = equal = 0
    for row in rows:
        theirs = published_at(rate_of(row))
        if theirs is not None:
            ours = (whole_sent(row), *(row.latency.value_ns(figure) for figure in FIGURES))
            known, equal = known + 1, equal + (ours == theirs)
    return f"{equal} of {known} rates", equal == known


_SHAPES: tuple[Shape, ...] = (
    ("levels at 3.2, 3.4 and 4.1 µs at 10 kpkt/s", "p50 / p99.9 / p99.99", _levels),
    ("every number is the published one", "12 of 12 rates", _equal),
    *shapes_of_rates(1.05, {"p99.9": 1.1, "p99.99": 1.35, "max": 1.4}),
)
