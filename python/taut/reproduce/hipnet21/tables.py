"""hipnet21 on this machine beside the paper: latency, what trimming saves, and overload."""

from collections.abc import Iterator
from itertools import product

from taut.analysis.load import rate_words, share_words
from taut.core.units import format_ns
from taut.records.documents.results import Variant
from taut.records.documents.trial import AS_FOUND
from taut.reproduce.experiment import Section, Variants
from taut.reproduce.hipnet21.live import (
    FILTER,
    FORWARDER,
    FUNCTIONS,
    GUEST,
    LABELS,
    MACHINES,
    RINGS,
    SATURATED_LOSS,
    WIRE,
    Function,
    is_overloaded,
    knee,
    rates_of,
    row_of,
)
from taut.reproduce.hipnet21.published import FIGURES, FRAME, PAPER, published_at
from taut.reproduce.hipnet21.shapes import SHAPES
from taut.reproduce.in_states import NOT_RUN, STATES, TRIMMED, judge_shapes, on_time, unsupported

_NOTE = (
    f"{FRAME} B constant, without packets that overlap a stall of the generator. In brackets: too "
    "few packets above for that percentile. Paper: hardware stamps of a card, Snort over DPDK; "
    "here: this machine's virtual ports, so compare the shape, not the values (a card: --set "
    "device.forwarder.link=pci and links.pci). The published captures themselves: --captures DIR."
)
_RULES_NOTE = (
    " Rules: theirs were Snort's community rules, ours are 100 made ones, which every packet "
    "meets and none matches (others: --set device.suricata_filter.options.rules=FILE)."
)
_SAVED_NOTE = (
    "(before - after) / before of each percentile: above zero, after is faster. Empty where a "
    "percentile has too few packets above. Of repetitions pooled: no claim; what is claimed, with "
    "intervals, the verdict says. Rates in overload are left out. Of the paper no numbers are "
    "known here: it compared two kernels, not two states of one."
)
_OVERLOAD_NOTE = (
    f"Overload: more than {SATURATED_LOSS:.1%} lost, whoever lost it. There latency is the size of "
    "a buffer: its packets are the median times what came through in a second (Little). Ring: the "
    "device's own, in each direction; the generator's socket holds some, too."
)
_SHAPE_NOTE = (
    "Without packets that overlap a stall of the generator. The forwarder is judged trimmed, if "
    "that was measured, and where it is worst; trimmed is what `taut host plan` recommends and "
    "what needs no boot. Latency in overload is judged by the shapes of overload alone."
)
_NO_IPS = "IPS in a VM: the image of a guest has taut-forward alone"
_NOT_HERE = Section(
    f"{PAPER}: what is not repeated",
    ("of the publication", "here"),
    (
        ("cards, stamps in hardware", "virtual ports of one machine, stamps of the generator"),
        ("Snort over DPDK", "Suricata, and Snort where it is on PATH, by AF_PACKET over veth"),
        ("Snort in a virtual machine", "not measured: the image of a guest has taut-forward alone"),
        (
            "the virtual machine at 10 to 120 kpkt/s",
            "1 kpkt/s, what emulation carries; where KVM runs: --set traffic.in_guests.rates=LIST",
        ),
        ("the real-time kernel", "in a guest alone, and not with --quick; the host's own runs"),
    ),
)


def compare_live(variants: Variants) -> list[Section]:
    """Set what was published beside what was measured."""
    return [
        *(_latency(of, variants) for of in FUNCTIONS),
        _saved(variants),
        _overload(variants),
        judge_shapes(f"{PAPER}: the shape", SHAPES, variants, _SHAPE_NOTE),
        _NOT_HERE,
    ]


def _latency(of: Function, variants: Variants) -> Section:
    """Write a line for each device, rate and state; of the forwarder the paper's lines, too."""
    between = ("",) * (len(FIGURES) - 2)
    lines = [
        ("paper, about", "below overload", "", f"{of.p50_us} µs", *between, f"{of.max_us} µs", "")
    ]
    for device, label in of.devices.items():
        for pps in rates_of(variants, device):
            theirs = published_at(pps) if device == "forwarder" else None
            if theirs is not None:
                cells = map(format_ns, theirs[1:])
                lines.append(("paper, DPDK's l2fwd", rate_words(pps), "", *cells, ""))
            for state in STATES:
                row = row_of(variants, device, state, pps)
                if row is not None:
                    lines.append((label, rate_words(pps), state, *_cells(row)))
    if of is FORWARDER:
        lines += _in_guests(variants)
    else:
        lines.append((_NO_IPS, *[""] * (2 + len(FIGURES)), NOT_RUN))
    columns = ("", "offered", "host", *FIGURES, "lost")
    note = _NOTE + (_RULES_NOTE if of is FILTER else "")
    return Section(f"{PAPER}: {of.title}", columns, tuple(lines), note)


def _in_guests(variants: Variants) -> Iterator[tuple[str, ...]]:
    rates = rates_of(variants, GUEST)
    for (place, kernel), pps, state in product(MACHINES.items(), rates, STATES):
        row = row_of(variants, GUEST, state, pps, place)
        if row is not None:
            claim = f", {row.device.claim}" if row.device.claim else ""
            label = f"taut-forward in a VM, kernel {kernel}{claim}"
            yield (label, rate_words(pps), state, *_cells(row))


def _cells(row: Variant) -> Iterator[str]:
    figures, few = on_time(row), unsupported(row)
    for name in FIGURES:
        ns = figures.value_ns(name)
        words = "" if ns is None else format_ns(ns)
        yield f"({words})" if name in few else words
    yield share_words(row.loss_ratio) if row.loss_ratio else "0"


def _saved(variants: Variants) -> Section:
    lines = []
    for device, label in LABELS.items():
        for pps in rates_of(variants, device):
            before, after = (row_of(variants, device, state, pps) for state in STATES)
            if before and after and not is_overloaded(before, after):
                change = f"{AS_FOUND}, then {TRIMMED}"
                lines.append((label, rate_words(pps), change, *_of_percentiles(before, after)))
    for pps in rates_of(variants, GUEST):
        before, after = (row_of(variants, GUEST, AS_FOUND, pps, place) for place in MACHINES)
        if before and after and not is_overloaded(before, after):
            claim = before.device.claim
            cells = [claim] * len(FIGURES) if claim else _of_percentiles(before, after)
            change = "kernel {}, then {}".format(*MACHINES.values())
            lines.append(("taut-forward in a VM", rate_words(pps), change, *cells))
    columns = ("", "offered", "before, after", *FIGURES)
    title = f"{PAPER}: relative improvement per percentile"
    return Section(title, columns, tuple(lines), _SAVED_NOTE)


def _of_percentiles(before: Variant, after: Variant) -> Iterator[str]:
    few = {*unsupported(before), *unsupported(after)}
    for name in FIGURES:
        a, b = (on_time(row).value_ns(name) for row in (before, after))
        yield f"{100 * (a - b) / a:+.0f} %" if a and b is not None and name not in few else ""


def _overload(variants: Variants) -> Section:
    there = ("above", "", "30 ms; in a VM 3 ms", "", "")
    lines: list[tuple[str, ...]] = [
        (f"paper, {of.title}", "", f"{most} kpkt/s", *there)
        for of, most in ((WIRE, "80"), (FILTER, "60 to 70"))
    ]
    for device, state in product(LABELS, STATES):
        carried, over = knee(variants, device, state)
        if carried is not None or over is not None:
            cells = ("none met", *[""] * 4) if over is None else _buffer(over)
            lines.append((LABELS[device], state, _offered(carried), *cells))
    columns = ("", "host", "carried", "overload at", "came through", "p50 there", "packets in it")
    title = f"{PAPER}: overload is the size of a buffer"
    return Section(title, (*columns, "ring"), tuple(lines), _OVERLOAD_NOTE)


def _buffer(row: Variant) -> tuple[str, ...]:
    came_pps = row.achieved_pps * (1 - row.loss_ratio)
    p50_ns = on_time(row).value_ns("p50") or 0
    return (
        _offered(row),
        f"{rate_words(came_pps)}, {share_words(row.loss_ratio)} lost",
        format_ns(p50_ns),
        f"{p50_ns * came_pps / 1e9:,.0f}",
        RINGS.get(str(row.device.driver), ""),
    )


def _offered(row: Variant | None) -> str:
    return "" if row is None else rate_words(row.load.asked_pps)
