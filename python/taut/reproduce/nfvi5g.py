"""nfvi5g: what a network function adds to a pass-through, one way, as found and as tuned.

Intel and Brocade's open-source NFV infrastructure for 5G: a virtual router and a skeleton, one and
two in a chain, frames of four lengths, both directions, un-optimized and optimized. Their numbers
are of network cards and their router; ours are virtual ports of one machine and taut's router.
"""

from collections.abc import Iterator, Sequence
from itertools import product

from taut.analysis.load import share_words
from taut.records.documents.load import LOOPBACK
from taut.records.documents.results import Variant
from taut.records.documents.trial import AS_FOUND
from taut.reproduce.experiment import PublishedExperiment, Section, Variants, micros
from taut.reproduce.in_states import (
    NOT_RUN,
    STATES,
    TRIMMED,
    Judged,
    Shape,
    count,
    data_file,
    device_table,
    find_row,
    host_tables,
    judge_shapes,
    min_avg_max,
    most_of,
    on_time,
    pairs,
    path_words,
)

FRAMES = ("64", "256", "1500", "imix")
FUNCTIONS = ("skeleton", "router")
CHAINS = {1: "one", 2: "two"}
SOAK = "soak"

PUBLISHED_SKELETON_US = (9.5, 13)
"""Its averages lie between these."""
PUBLISHED_SHARES_US = (21, 53, 72)
"""What the router's averages are above the skeleton's."""
PUBLISHED_DISORDER = ("0.2 %", "0.006 %", "11.8 %", "0.00012 %")
"""Out of sequence before tuning; none were afterwards."""
PUBLISHED_SOAK = {"2 h": "316 µs", "12 h": "720 µs", "40 h, 1.6 billion frames": "720 µs"}
"""The maximum so far, by the length of the soak."""

_SKELETON_WORDS = "{:g} to {:g}".format(*PUBLISHED_SKELETON_US)
_SHARE_WORDS = " / ".join(f"+{us}" for us in PUBLISHED_SHARES_US)
_PAPER = "NFVI for 5G"
_SPREAD = 1.4

_NOTE = (
    "Columns out and back: the two directions, each loaded, all packets. One way: from generator "
    "through the device to generator. Two in a chain are two functions of one process. Frames have "
    "their FCS; imix is 7:4:1 of 64, 570 and 1518 B. The rate, 100 kpkt/s each way, is taut's."
)
_SHARE_NOTE = (
    "Router less skeleton of the same length, chain and state, without packets that overlap a "
    "stall of the generator: of averages, in brackets of medians. Of the three published values is "
    "not known here which load each is of. Their router is another program than taut's, so compare "
    "the sign, not the values."
)
_ORDER_NOTE = (
    "RFC 4737, all devices and both directions, the warm-up included. Of the four published shares "
    "is not known here which load each is of. A device here has one queue and one core, where "
    "nothing overtakes."
)
_SHAPE_NOTE = (
    "Medians unless said, without packets that overlap a stall of the generator. Trimmed is what "
    "`taut host plan` recommends and what needs no boot."
)
_SOAK_NOTE = (
    "One router, 64 B, 100 kpkt/s each way, one trial (a day at most), and its control: the same "
    "for as long without a device. What of the maximum is the instrument's shows in the control. "
    "Published is the maximum so far; taut has it at the end of the soak."
)


class Nfvi5g(PublishedExperiment):
    """The experiment and its published numbers."""

    name = "nfvi5g"
    states = (TRIMMED,)

    def spec_text(self, *, quick: bool, without: Sequence[str] = ()) -> str:
        """Write all lengths of frame through all chains; quick is short and makes no claim."""
        tables = [_HEAD_QUICK if quick else _HEAD]
        tables += [_device(function, n) for function, n in product(FUNCTIONS, CHAINS)]
        tables += host_tables(without)
        tables.append(_traffic("both", '[64, 256, 1500, "imix"]'))
        return "\n\n".join(tables) + "\n"

    def soak_text(self, length_ns: int, *, without: Sequence[str] = ()) -> str:
        """Write one router and its control, for this long, on the host as tuned as it can be."""
        tables = [f'{_HEAD_SOAK}\nduration = "{length_ns}ns"', _device("router", 1)]
        tables += host_tables(without)[1:]
        tables.append(_traffic(SOAK, "[64]"))
        return "\n\n".join(tables) + "\n"

    def compare(self, variants: Variants) -> list[Section]:
        """Set what was published beside what was measured."""
        soak = [row for row in variants if row.load.traffic == SOAK]
        if soak:
            return [_soak(soak)]
        return [
            _table(variants),
            _shares(variants),
            _order(variants),
            judge_shapes(f"{_PAPER}: the shape", _SHAPES, variants, _SHAPE_NOTE),
            _not_here(variants),
        ]


_HEAD = """name = "nfvi5g"
seed = 5
repetitions = 3
duration = "5min"
warm_up = "1s"
record = "tail\""""
_HEAD_QUICK = """name = "nfvi5g-quick"
seed = 5
repetitions = 1
duration = "1s"
warm_up = "200ms"
deadline = "200ms"
trace = "off\""""
_HEAD_SOAK = """name = "nfvi5g-soak"
seed = 5
warm_up = "1s"
record = "tail"
trace = "off\""""


def _name(function: str, n: int) -> str:
    return f"{function}_{n}"


def _device(function: str, n: int) -> str:
    words = function
    if function == "router":
        routes, neighbours = data_file("routes.txt"), data_file("neighbours.txt")
        words += f":routes={routes},neighbours={neighbours}"
    return device_table(_name(function, n), "taut_forward", [words] * n)


def _traffic(name: str, frames: str) -> str:
    return (
        f'[[traffic]]\nname = "{name}"\nschedule = "constant"\nframes = {frames}\n'
        'rates = ["100kpps"]\nboth = true'
    )


def _frame_words(frame: str) -> str:
    return frame if frame == "imix" else f"{frame} B"


def _row(variants: Variants, function: str, n: int, state: str, frame: str) -> Variant | None:
    return find_row(variants, _name(function, n), state, frame=frame)


def _loads() -> Iterator[tuple[int, str]]:
    return product(CHAINS, FRAMES)


def _table(variants: Variants) -> Section:
    ways = [f"{state}, {way}" for state in STATES for way in ("out", "back")]
    columns = ("one way, min / avg / max, µs", "frame", "published avg", "path", *ways)
    lines = []
    for function, (n, frame) in product(FUNCTIONS, _loads()):
        rows = [_row(variants, function, n, state, frame) for state in STATES]
        cells = [_way(row, way) for row in rows for way in (0, 1)]
        published = _SKELETON_WORDS if function == "skeleton" else ""
        path = next((path_words(row) for row in rows if row is not None), "")
        lines.append((f"{function}, {CHAINS[n]}", _frame_words(frame), published, path, *cells))
    return Section(f"{_PAPER}: one way", columns, tuple(lines), _NOTE)


def _way(row: Variant | None, direction: int) -> str:
    if row is None or row.directions is None or len(row.directions) <= direction:
        return NOT_RUN
    return min_avg_max(row.directions[direction].latency)


def _shares(variants: Variants) -> Section:
    lines: list[tuple[str, ...]] = [("published, three loads", "", f"{_SHARE_WORDS} µs", "", "")]
    for n, frame in _loads():
        cells = (_share(variants, n, frame, state) for state in STATES)
        lines.append((f"router less skeleton, {CHAINS[n]}", _frame_words(frame), "", *cells))
    columns = ("VNF share, avg", "frame", "published", *STATES)
    return Section(
        f"{_PAPER}: the share of the network function", columns, tuple(lines), _SHARE_NOTE
    )


def _share(variants: Variants, n: int, frame: str, state: str) -> str:
    both = [
        (_row(variants, "skeleton", n, state, frame), _row(variants, "router", n, state, frame))
    ]
    means, medians = pairs(both, "mean"), pairs(both, "p50")
    if not means or not medians:
        return NOT_RUN
    differences = ((high - low) / 1000 for [(low, high)] in (means, medians))
    return "{:+.3g} µs ({:+.3g})".format(*differences)


def _order(variants: Variants) -> Section:
    columns = ("out of sequence", *STATES)
    lines: list[tuple[str, ...]] = [("published, four loads", ", ".join(PUBLISHED_DISORDER), "0")]
    for frame in FRAMES:
        cells = (_disorder(_measured(variants, state, frame)) for state in STATES)
        lines.append((_frame_words(frame), *cells))
    return Section(f"{_PAPER}: out of sequence", columns, tuple(lines), _ORDER_NOTE)


def _measured(variants: Variants, state: str, frame: str | None = None) -> list[Variant]:
    """Give the rows of all chains in a state; of all frames when none is named."""
    frames = FRAMES if frame is None else (frame,)
    loads = product(FUNCTIONS, CHAINS, frames)
    found = (_row(variants, function, n, state, of) for function, n, of in loads)
    return [row for row in found if row is not None]


def _disorder(rows: Variants) -> str:
    if not rows:
        return NOT_RUN
    n, received = sum(r.out_of_sequence for r in rows), sum(r.received for r in rows)
    return f"{n:,} of {received:,}" + (f", {share_words(n / received)}" if n else "")


def _flat(variants: Variants) -> Judged:
    """Compare the skeleton's medians over frames, where they differ most."""
    ratios = []
    for n, state in product(CHAINS, STATES):
        rows = (_row(variants, "skeleton", n, state, frame) for frame in FRAMES)
        found = [on_time(row).value_ns("p50") for row in rows if row is not None]
        medians = [median for median in found if median]
        if len(medians) > 1:
            ratios.append(max(medians) / min(medians))
    return (f"{max(ratios):.2f} x", max(ratios) <= _SPREAD) if ratios else None


def _routing_takes_time(variants: Variants) -> Judged:
    rows = (
        (_row(variants, "skeleton", n, state, frame), _row(variants, "router", n, state, frame))
        for (n, frame), state in product(_loads(), STATES)
    )
    return count(less < more for less, more in pairs(rows, "p50"))


def _two_take_longer(variants: Variants) -> Judged:
    rows = (
        (_row(variants, function, 1, state, frame), _row(variants, function, 2, state, frame))
        for function, frame, state in product(FUNCTIONS, FRAMES, STATES)
    )
    return count(less < more for less, more in pairs(rows, "p50"))


def _lower_maximum(variants: Variants) -> Judged:
    rows = (
        (_row(variants, function, n, TRIMMED, frame), _row(variants, function, n, AS_FOUND, frame))
        for function, (n, frame) in product(FUNCTIONS, _loads())
    )
    return count((less < more for less, more in pairs(rows, "max")), most_of)


def _in_order(variants: Variants) -> Judged:
    rows = _measured(variants, TRIMMED)
    return (_disorder(rows), not any(row.out_of_sequence for row in rows)) if rows else None


_SHAPES: tuple[Shape, ...] = (
    (
        f"the skeleton takes as long for every frame: within {_SPREAD} x",
        f"{_SKELETON_WORDS} µs (avg)",
        _flat,
    ),
    ("the router takes longer than the skeleton", f"{_SHARE_WORDS} µs (avg)", _routing_takes_time),
    ("two in a chain take longer than one", "", _two_take_longer),
    ("trimmed, the maximum is lower, of most loads", "", _lower_maximum),
    ("trimmed, nothing is out of sequence", "0", _in_order),
)


def _not_here(variants: Variants) -> Section:
    """Say of each thing the publication has and this run has not, why."""
    links = sorted({str(row.device.link) for row in variants if row.device.link})
    path = f"measured over {', '.join(links)}" if links else NOT_RUN
    lines = (
        ("network cards and their rates", path, "a run over cards: --set device.NAME.link=pci"),
        ("virtual machines", "not part of this run", "rows in one: taut reproduce nfvi18"),
        ("soak of 2, 12 and 40 h", "not part of this run", "taut reproduce nfvi5g --soak 2h"),
    )
    columns = ("of the publication", "here", "")
    return Section(f"{_PAPER}: what is not repeated", columns, lines)


def _soak(rows: Variants) -> Section:
    lines: list[tuple[str, ...]] = [
        (f"published, {length}", maximum, "", "") for length, maximum in PUBLISHED_SOAK.items()
    ]
    for row in sorted(rows, key=lambda row: row.device.driver == LOOPBACK):
        what = "no device, the control" if row.is_floor else f"{row.device.dut}, {row.device.host}"
        cells = (figures.value_ns("max") for figures in (row.latency, on_time(row)))
        worst = (NOT_RUN if ns is None else f"{micros(ns, 4)} µs" for ns in cells)
        lines.append((what, *worst, f"{row.lost:,} of {row.sent:,}"))
    columns = ("soak", "max", "on time", "lost")
    return Section(f"{_PAPER}: the soak", columns, tuple(lines), _SOAK_NOTE)


NFVI5G = Nfvi5g()
