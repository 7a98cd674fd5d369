"""hipnet21: how far is the tail from the median? An L2 forwarder at 10 to 120 kpkt/s.

Gallenmüller, Wiedner, Naab, Carle, "Ducked Tails: Trimming the Tail Latency of(f) Packet
Processing Systems", HiPNet 2021.  Their captures (repository gallenmu/hipnet21) were stamped in
hardware for every packet, so from them the very numbers must come out; from a run on this machine
only the shape can.
"""

from collections.abc import Callable, Mapping, Sequence

from taut.core.units import format_ns
from taut.records.documents.results import WITHOUT_VOID, Variant
from taut.reproduce.experiment import DID_IT, PublishedExperiment, Section, Variants

FIGURES = ("p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "p99.9999", "max")

PUBLISHED_NAME = "dpdk-l2fwd-hw"
"""What the captures of the table are called."""

PUBLISHED_NS: Mapping[int, tuple[int, ...]] = {
    10_000: (3175, 3213, 3350, 3400, 4100, 4250, 4275, 4275),
    20_000: (3162, 3199, 3337, 3375, 4037, 4112, 4237, 4237),
    30_000: (3162, 3200, 3325, 3363, 4037, 4088, 4238, 4238),
    40_000: (3162, 3199, 3337, 3375, 3425, 4087, 4175, 4212),
    50_000: (3162, 3200, 3338, 3375, 3413, 4050, 4213, 4275),
    60_000: (3162, 3199, 3337, 3375, 3400, 4062, 4212, 4224),
    70_000: (3137, 3175, 3325, 3375, 3400, 4038, 4100, 4137),
    80_000: (3137, 3187, 3337, 3387, 3424, 4075, 4250, 4275),
    90_000: (3137, 3187, 3312, 3362, 3399, 4025, 4187, 4212),
    100_000: (3138, 3175, 3313, 3350, 3375, 4025, 4075, 4175),
    110_000: (3125, 3162, 3300, 3337, 3362, 3999, 4037, 4062),
    120_000: (3124, 3162, 3300, 3337, 3362, 3999, 4112, 4237),
}
"""FIGURES at each rate: bare metal, nohz_full, the first second left out."""

PUBLISHED_PACKETS = {pps: 30 * pps for pps in PUBLISHED_NS} | {110_000: 3_251_664}
"""Packets in the file before the device, and as many in the one after it, by rate."""

LEVELS_US = {"p50": 3.2, "p99.9": 3.4, "p99.99": 4.1}
"""Where the paper's percentile plot at 10 kpkt/s has its steps."""

SKIPPED = "1s"
"""Skipped at the start, as in the columns that the published table calls filtered."""

_NOT_YET = (
    "Snort, forwarding or filtering, the virtual machine and the real-time kernel of the paper are "
    "not part of this yet."
)
_CAPTURES_NOTE = (
    f"ns. Published is the authors' table of {PUBLISHED_NAME}, filtered: the first second left "
    "out, as is done here (their cut is at the smallest time stamp of all captures in their "
    "database). `packets` are those before the device. Lost, negative and late packets are dropped "
    "there and counted here; their jitter is the distance of arrivals, which taut calls "
    "inter_arrival. "
    f"{_NOT_YET}"
)
_LIVE_NOTE = (
    "Here without packets that overlap a stall of the generator. Paper: hardware stamps of a "
    "card; here: this machine's virtual ports, so compare the shape, not the values (a card: "
    "--set device.forwarder.link=pci and links.pci). The published captures themselves: "
    f"--captures DIR. {_NOT_YET}"
)
_SHAPE_NOTE = "Each at the rate where it is worst."


class Hipnet21(PublishedExperiment):
    """The experiment and its published numbers."""

    name = "hipnet21"
    skip_of_captures = SKIPPED

    def optional_devices(self) -> Mapping[str, str]:
        """Give l2fwd: it is built from DPDK's sources, which may not be there."""
        return {"l2fwd": "l2fwd"}

    def spec_text(self, *, quick: bool, without: Sequence[str] = ()) -> str:
        """Write the paper's loads; quick is four of them, short, and makes no claim."""
        devices = {name: text for name, text in _DEVICES.items() if name not in without}
        rates = [f"{pps // 1000}kpps" for pps in (_QUICK_PPS if quick else PUBLISHED_NS)]
        tables = [_HEAD_QUICK if quick else _HEAD]
        tables += [f'[[device]]\nname = "{name}"\n{text}' for name, text in devices.items()]
        tables.append(f'[[traffic]]\nschedule = "constant"\nframes = [{_FRAME}]\nrates = {rates}')
        return "\n\n".join(tables) + "\n"

    def compare(self, variants: Variants) -> list[Section]:
        """Set published beside measured: number by number for captures, else the shape."""
        captures = [row for row in variants if row.device.is_capture]
        if captures:
            return _captures(captures)
        sections = []
        for name, label in (("forwarder", "taut-forward"), ("l2fwd", "DPDK's l2fwd")):
            rows = [r for r in variants if r.device.dut == name and r.latency.n]
            if rows:
                sections += [
                    _live_table(label, rows),
                    _shape(label, rows, _LIVE_CHECKS),
                ]
        return sections or [Section("HiPNet 2021", ("measured",), (("nothing",),), _NOT_YET)]


# Their frames are 100 B in the captures, which leave out the FCS.
_FRAME = 104
_QUICK_PPS = (10_000, 40_000, 80_000, 120_000)
_DEVICES: dict[str, str] = {
    "forwarder": 'driver = "taut_forward"\noptions = { transmit = "eager" }',
    "l2fwd": 'driver = "l2fwd"',
}
_HEAD = """name = "hipnet21"
seed = 21
repetitions = 3
duration = "30s"
warm_up = "1s\""""
_HEAD_QUICK = """name = "hipnet21-quick"
seed = 21
repetitions = 1
duration = "3s"
warm_up = "500ms"
deadline = "200ms\""""


def _captures(rows: Variants) -> list[Section]:
    """Set the published table beside its captures, or the only ones there are."""
    names = sorted({str(row.device.dut) for row in rows})
    name = PUBLISHED_NAME if PUBLISHED_NAME in names else names[0]
    mine = [row for row in rows if row.device.dut == name]
    note = _CAPTURES_NOTE
    missing = set(PUBLISHED_NS) - {round(_pps(row)) for row in mine}
    if missing:
        note += f" No captures were given for {_listed(sorted(missing))} kpkt/s."
    if len(names) > 1:
        note += f" Without published numbers: {', '.join(n for n in names if n != name)}."
    lines = [line for row in _by_rate(mine) for line in _capture_lines(row)]
    title = f"HiPNet 2021: DPDK l2fwd, captures of {name}"
    table = Section(title, ("kpkt/s", "", "packets", *FIGURES, "mean"), tuple(lines), note)
    return [table, _shape("captures", mine, _CAPTURE_CHECKS)]


def _listed(rates_pps: Sequence[int]) -> str:
    return ", ".join(f"{pps // 1000}" for pps in rates_pps)


def _by_rate(rows: Variants) -> Variants:
    return sorted(rows, key=lambda row: _pps(row))


def _pps(row: Variant) -> float:
    return row.load.asked_pps or 0.0


def _whole_sent(row: Variant) -> int:
    """Count the packets of a whole capture, as the paper does: its first second, too."""
    return row.sent + (row.warm_up.sent or 0)


def _capture_lines(row: Variant) -> list[tuple[str, ...]]:
    """One rate: what is published, what is measured, and by how much it differs."""
    ours = [_whole_sent(row), *(row.latency.value_ns(figure) for figure in (*FIGURES, "mean"))]
    theirs = _published(_pps(row))
    rate = f"{_pps(row) / 1000:g}"
    here = ("here", *("" if n is None else f"{n:.0f}" for n in ours))
    if theirs is None:
        return [(rate, *here)]
    return [
        (rate, "paper", *map(str, theirs), ""),
        ("", *here),
        ("", "diff", *_differences(theirs, ours), ""),
    ]


def _live_table(label: str, rows: Variants) -> Section:
    lines: list[tuple[str, ...]] = []
    for row in _by_rate(rows):
        rate = f"{_pps(row) / 1000:g}"
        theirs = _published(_pps(row))
        if theirs is not None:
            lines.append((rate, "paper", *map(format_ns, theirs[1:])))
        ours = (_value(row, figure) for figure in FIGURES)
        lines.append(
            ("" if theirs else rate, "here", *("" if n is None else format_ns(n) for n in ours))
        )
    title = f"HiPNet 2021: DPDK l2fwd on bare metal, and {label} here"
    return Section(title, ("kpkt/s", "", *FIGURES), tuple(lines), _LIVE_NOTE)


def _published(pps: float) -> tuple[int, ...] | None:
    """Packets and figures of the table at this rate."""
    key = round(pps)
    return (PUBLISHED_PACKETS[key], *PUBLISHED_NS[key]) if key in PUBLISHED_NS else None


def _differences(theirs: Sequence[int], ours: Sequence[float | None]) -> list[str]:
    return [
        "" if o is None else "=" if o == t else f"{o - t:+.0f}"
        for t, o in zip(theirs, ours, strict=False)
    ]


def _value(row: Variant, figure: str) -> float | None:
    """Give a figure without void packets, where any is left: the device, not the instrument."""
    on_time = row.metrics.latency(WITHOUT_VOID)
    return (on_time if on_time.n else row.latency).value_ns(figure)


_Judged = tuple[str, bool] | None
"""What was measured, and whether it is as it must be; None where it cannot be judged."""
_Check = tuple[str, str, Callable[[Variants], _Judged]]


def _shape(label: str, rows: Variants, checks: Sequence[_Check]) -> Section:
    lines = []
    for what, published, judge in checks:
        judged = judge(rows)
        measured, came_out = judged or ("cannot be judged", None)
        answer = "not run" if came_out is None else "yes" if came_out else "no"
        lines.append((what, published, measured, answer))
    columns = ("what must come out", "published", "measured", DID_IT)
    return Section(f"HiPNet 2021: the shape, {label}", columns, tuple(lines), _SHAPE_NOTE)


def _levels(rows: Variants) -> _Judged:
    """Look for the steps at 10 kpkt/s, each to the digit that is published."""
    row = next((r for r in rows if round(_pps(r)) == min(PUBLISHED_NS)), None)
    if row is None or any(p in row.doubt.unsupported_percentiles for p in LEVELS_US):
        return None
    found = [round((row.latency.percentiles_ns[p] or 0) / 1000, 1) for p in LEVELS_US]
    return " / ".join(f"{us} µs" for us in found), found == list(LEVELS_US.values())


def _equal(rows: Variants) -> _Judged:
    """Count the rates at which every number is the published one."""
    known = equal = 0
    for row in rows:
        theirs = _published(_pps(row))
        if theirs is not None:
            ours = (_whole_sent(row), *(row.latency.value_ns(figure) for figure in FIGURES))
            known, equal = known + 1, equal + (ours == theirs)
    return (f"{equal} of {known} rates", equal == known) if known else None


def _flat(limit: float) -> Callable[[Variants], _Judged]:
    def judge(rows: Variants) -> _Judged:
        medians = [median for row in rows for median in [_value(row, "p50")] if median]
        if len(medians) < 2 or min(medians) <= 0:
            return None
        ratio = max(medians) / min(medians)
        return f"{ratio:.2f} x over {len(medians)} rates", ratio <= limit

    return judge


def _tail(figure: str, limit: float) -> Callable[[Variants], _Judged]:
    def judge(rows: Variants) -> _Judged:
        ratios = [
            value / median
            for row in rows
            if figure not in row.doubt.unsupported_percentiles
            for value, median in [(_value(row, figure), _value(row, "p50"))]
            if value is not None and median is not None and median > 0
        ]
        return (f"{max(ratios):.2f} x", max(ratios) <= limit) if ratios else None

    return judge


def _nothing_lost(rows: Variants) -> _Judged:
    lost = sum(row.lost + (row.warm_up.lost or 0) for row in rows)
    sent = sum(_whole_sent(row) for row in rows)
    return f"{lost:,} of {sent:,}", lost == 0


def _published_ratio(figure: str) -> str:
    place = FIGURES.index(figure)
    return f"{max(values[place] / values[0] for values in PUBLISHED_NS.values()):.2f} x"


_PUBLISHED_MEDIANS = [values[0] for values in PUBLISHED_NS.values()]
_FLATNESS = f"{max(_PUBLISHED_MEDIANS) / min(_PUBLISHED_MEDIANS):.2f} x over 12 rates"


def _checks(flat: float, tails: Mapping[str, float]) -> tuple[_Check, ...]:
    return (
        (f"the median is flat over the rate: within {flat} x", _FLATNESS, _flat(flat)),
        *(
            (f"{p} is at most {limit} x the median", _published_ratio(p), _tail(p, limit))
            for p, limit in tails.items()
        ),
        ("nothing is lost", "0", _nothing_lost),
    )


_CAPTURE_CHECKS: tuple[_Check, ...] = (
    ("levels at 3.2, 3.4 and 4.1 µs at 10 kpkt/s", "p50 / p99.9 / p99.99", _levels),
    ("every number is the published one", "12 of 12 rates", _equal),
    *_checks(1.05, {"p99.9": 1.1, "p99.99": 1.35, "max": 1.4}),
)
_LIVE_CHECKS = _checks(1.25, {"p99": 1.25, "p99.9": 1.5, "p99.99": 2, "max": 3})

HIPNET21 = Hipnet21()
