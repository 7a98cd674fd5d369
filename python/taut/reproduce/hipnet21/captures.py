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
_SHAPE_NOTE = "Each at the rate where it is worst."


def compare_captures(rows: Variants) -> list[Section]:
    """Set the published table beside its captures, or the only ones there are."""
    names = sorted({str(row.device.dut) for row in rows})
    name = PUBLISHED_NAME if PUBLISHED_NAME in names else names[0]
    mine = [row for row in rows if row.device.dut == name]
    note = _NOTE
    missing = set(PUBLISHED_NS) - {round(rate_of(row)) for row in mine}
    if missing:
        note += f" No captures were given for {_listed(sorted(missing))} kpkt/s."
    if len(names) > 1:
        note += f" Without published numbers: {', '.join(n for n in names if n != name)}."
    lines = [line for row in by_rate(mine) for line in _capture_lines(row)]
    title = f"{PAPER}: DPDK l2fwd, captures of {name}"
    table = Section(title, ("kpkt/s", "", "packets", *FIGURES, "mean"), tuple(lines), note)
    return [table, judge_shapes(f"{PAPER}: the shape, captures", _SHAPES, mine, _SHAPE_NOTE)]


def _listed(rates_pps: Sequence[int]) -> str:
    return ", ".join(f"{pps // 1000}" for pps in rates_pps)


def _capture_lines(row: Variant) -> list[tuple[str, ...]]:
    """One rate: what is published, what is measured, and by how much it differs."""
    ours = [whole_sent(row), *(row.latency.value_ns(figure) for figure in (*FIGURES, "mean"))]
    theirs = published_at(rate_of(row))
    rate = f"{rate_of(row) / 1000:g}"
    here = ("here", *("" if n is None else f"{n:.0f}" for n in ours))
    if theirs is None:
        return [(rate, *here)]
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
    """Count the rates at which every number is the published one."""
    known = equal = 0
    for row in rows:
        theirs = published_at(rate_of(row))
        if theirs is not None:
            ours = (whole_sent(row), *(row.latency.value_ns(figure) for figure in FIGURES))
            known, equal = known + 1, equal + (ours == theirs)
    return (f"{equal} of {known} rates", equal == known) if known else None


_SHAPES: tuple[Shape, ...] = (
    ("levels at 3.2, 3.4 and 4.1 µs at 10 kpkt/s", "p50 / p99.9 / p99.99", _levels),
    ("every number is the published one", "12 of 12 rates", _equal),
    *shapes_of_rates(1.05, {"p99.9": 1.1, "p99.99": 1.35, "max": 1.4}),
)
