"""debs20: does batching cost latency? Linux bridge, DPDK's l2fwd with and without its buffer.

Stylianopoulos et al., "On the Performance of Commodity Hardware for Low Latency and Low Jitter
Packet Processing", DEBS 2020. Their numbers are round trips on a 10 Gbit/s NIC with hardware
stamps, one sample a millisecond; ours are virtual ports of one machine, every packet. What must
come out is the shape.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from taut.analysis.load import rate_words, share_words
from taut.core.units import format_ns
from taut.records.documents.results import WITH_VOID, WITHOUT_VOID, Packets, Variant
from taut.reproduce.experiment import DID_IT, PublishedExperiment, Section, Variants, micros

MAIN_PPS = 100_000
MAIN_RATE = "100kpps"
LOW_PPS = 10_000  # 5 Mbit/s of 64 B frames: far below the paper's 50 Mbit/s
SATURATED_LOSS = 0.001


@dataclass(frozen=True)
class Forwarder:
    """A row of the paper's table, in microseconds, and the device that stands for it."""

    device: str
    label: str
    published_us: tuple[float, float, float, float] | None  # avg, min, max, stdev


FORWARDERS = (
    Forwarder("linux_bridge", "Linux bridge", (16.8, 7.8, 45.0, 3.1)),
    Forwarder("l2fwd", "DPDK l2fwd, 32 packets or 100 µs", (56.1, 6.2, 117.0, 28.5)),
    Forwarder("buffered", "taut, 32 packets or 100 µs", (56.1, 6.2, 117.0, 28.5)),
    Forwarder("buffered_no_timer", "taut, 32 packets, no timer", None),
    Forwarder("eager", "taut, no buffer", (5.7, 5.5, 17.8, 0.6)),
)
SWEPT = ("eager", "single", "buffered", "linux_bridge")
# Devices, rates, rates when quick; 100 kpkt/s is the main load. The bridge gives up earlier.
_SWEEPS = (
    (
        ("eager", "single", "buffered"),
        ("10kpps", "30kpps", "300kpps", "1Mpps", "3Mpps", "10Mpps", "20Mpps", "32Mpps"),
        ("10kpps", "1Mpps", "32Mpps"),
    ),
    (("linux_bridge",), ("10kpps", "30kpps", "300kpps", "1Mpps"), ("10kpps", "300kpps", "1Mpps")),
)

_DEVICES: dict[str, str] = {
    "linux_bridge": 'driver = "linux_bridge"',
    "l2fwd": 'driver = "l2fwd"',
    "buffered": 'driver = "taut_forward"\noptions = { transmit = "buffered:32,100us" }',
    "buffered_no_timer": 'driver = "taut_forward"\noptions = { transmit = "buffered:32,none" }',
    "single": 'driver = "taut_forward"\noptions = { transmit = "single" }',
    "eager": 'driver = "taut_forward"\noptions = { transmit = "eager" }',
}

_NOTE = (
    "Published: Xeon E5 2.26 GHz, Intel 82599 10G, round trip, hardware stamps once a millisecond. "
    "Measured: this machine's virtual ports, every packet; compare the shape, not the values. "
    "The bridge goes over veth and the kernel, the others over memif. 32 packets take 320 µs at "
    "100 kpkt/s, so it is the 100 µs drain timer that bounds the buffered forwarder's spread: "
    "without the timer a packet waits for the 32nd. Its last packets stay in the buffer and count "
    "as lost. The paper's jitter with and without core isolation needs a boot option and is not "
    "repeated here."
)
_SHAPE_NOTE = (
    "Measured are medians unless said, without packets that overlap a stall of the generator: one "
    "such stall weighs more in an average than all the rest."
)
_SWEEP_NOTE = (
    "Published: unbuffered holds to about 4.3 Gbit/s and then queues and drops, buffered reaches "
    "10 Gbit/s; below 50 Mbit/s unbuffered is 10 times lower. The paper's unbuffered l2fwd sends "
    "each packet by itself, as `single` does; `eager` sends what one poll returned, so it batches "
    "only when packets wait. `% sent`: the transmit ring was full, or the generator lost its core. "
    "At overload latency is the size of a buffer."
)


class Debs20(PublishedExperiment):
    """The experiment and its published numbers."""

    name = "debs20"

    def optional_devices(self) -> Mapping[str, str]:
        """Give what wants root, and l2fwd: it is built from DPDK's sources, if they are there."""
        return {"linux_bridge": "linux_bridge", "l2fwd": "l2fwd"}

    def spec_text(self, *, quick: bool, without: Sequence[str] = ()) -> str:
        """Write the paper's load, then the sweep; quick is short and makes no claim."""
        devices = {name: text for name, text in _DEVICES.items() if name not in without}
        tables = [_HEAD_QUICK if quick else _HEAD]
        tables += [f'[[device]]\nname = "{name}"\n{text}' for name, text in devices.items()]
        tables.append(_traffic([MAIN_RATE], list(devices)))
        length = _SWEEP_QUICK if quick else _SWEEP
        for names, rates, quick_rates in _SWEEPS:
            here = [name for name in names if name not in without]
            if here:
                tables.append(_traffic(quick_rates if quick else rates, here) + length)
        return "\n\n".join(tables) + "\n"

    def compare(self, variants: Variants) -> list[Section]:
        """Set the paper's table, the shape and the sweep beside what was measured."""
        return [_table(variants), _shape(variants), _sweep(variants)]


_HEAD = """name = "debs20"
seed = 20
repetitions = 3
duration = "10s"
warm_up = "1s"
deadline = "500ms\""""
_HEAD_QUICK = """name = "debs20-quick"
seed = 20
repetitions = 1
duration = "2s"
warm_up = "300ms"
deadline = "200ms\""""
_SWEEP = '\nduration = "3s"\nwarm_up = "500ms"'
# Traced are the loads of the paper's table: arming takes its time, and a sweep asks how much.
_SWEEP_QUICK = '\nduration = "1s"\nwarm_up = "200ms"\nfloor = false\ntrace = "off"'


def _traffic(rates: Sequence[str], devices: Sequence[str]) -> str:
    return (
        '[[traffic]]\nschedule = "constant"\nframes = [64]\n'
        f"rates = {_toml(rates)}\ndevices = {_toml(devices)}"
    )


def _toml(words: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{word}"' for word in words) + "]"


def _row(variants: Variants, device: str, pps: float = MAIN_PPS) -> Variant | None:
    """Find a device at a rate; None when it was not measured or nothing came back."""
    for row in variants:
        if row.device.dut == device and row.load.asked_pps == pps and row.latency.n:
            return row
    return None


def _table(variants: Variants) -> Section:
    columns = (
        "avg / min / max / stdev, µs",
        "published",
        "measured",
        "measured, on time",
        "p50",
    )
    rows = []
    for forwarder in FORWARDERS:
        row = _row(variants, forwarder.device)
        published = forwarder.published_us
        rows.append(
            (
                forwarder.label,
                " / ".join(f"{us:g}" for us in published) if published else "",
                _four(row, WITH_VOID),
                _four(row, WITHOUT_VOID),
                "" if row is None else micros(row.latency.p50_ns or 0),
            )
        )
    return Section("DEBS 2020: 64 B, 100 kpkt/s constant", columns, tuple(rows), _NOTE)


def _four(row: Variant | None, packets: Packets) -> str:
    if row is None:
        return "not run"
    figures = row.metrics.latency(packets)
    if not figures.n:
        return "none"
    return " / ".join(
        micros(figures.value_ns(name) or 0) for name in ("mean", "min", "max", "stdev")
    )


def _shape(variants: Variants) -> Section:
    """Say what must come out on any machine, and whether it did."""
    checks = (_batching, _timer, _no_timer, _bridge, _same, _low, _top)
    columns = ("what must come out", "published", "measured", DID_IT)
    rows = tuple(check(variants) for check in checks)
    return Section("DEBS 2020: the shape", columns, rows, _SHAPE_NOTE)


_Check = tuple[str, str, str, str]


def _answer(what: str, published: str, measured: str | None, came_out: bool) -> _Check:
    if measured is None:
        return what, published, "not run", "not run"
    return what, published, measured, "yes" if came_out else "no"


def _batching(variants: Variants) -> _Check:
    ratio = _ratio(variants, "buffered", "eager", "p50", MAIN_PPS)
    text = None if ratio is None else f"{ratio:.1f} x"
    what = "buffered over unbuffered: at least 5 x"
    return _answer(what, "9.8 x (avg)", text, ratio is not None and ratio >= 5)


def _timer(variants: Variants) -> _Check:
    p90 = _value(variants, "buffered", "p90")
    text = None if p90 is None else f"p90 {format_ns(p90)}"
    what = "the 100 µs timer bounds buffered: p90 of 70 to 115 µs"
    return _answer(what, "max 117 µs", text, p90 is not None and 70_000 <= p90 <= 115_000)


def _no_timer(variants: Variants) -> _Check:
    ratio = _ratio(variants, "buffered_no_timer", "buffered", "p90", MAIN_PPS)
    p90 = _value(variants, "buffered_no_timer", "p90")
    text = None if ratio is None or p90 is None else f"p90 {format_ns(p90)}, {ratio:.1f} x"
    what = "without it the 32nd packet does (310 µs): p90 at least 2 x"
    return _answer(what, "", text, ratio is not None and ratio >= 2)


def _bridge(variants: Variants) -> _Check:
    what, published = "unbuffered < bridge < buffered", "5.7 / 16.8 / 56.1 µs (avg)"
    medians = [_value(variants, name, "p50") for name in ("eager", "linux_bridge", "buffered")]
    known = [median for median in medians if median is not None]
    if len(known) < len(medians):
        return _answer(what, published, None, False)
    text = " / ".join(format_ns(median) for median in known)
    return _answer(what, published, text, known == sorted(known))


def _same(variants: Variants) -> _Check:
    ratio = _ratio(variants, "buffered", "l2fwd", "p50", MAIN_PPS)
    text = None if ratio is None else f"{ratio:.2f} x"
    what = "taut buffered like DPDK's l2fwd: 0.8 to 1.25 x"
    return _answer(what, "", text, ratio is not None and 0.8 <= ratio <= 1.25)


def _low(variants: Variants) -> _Check:
    ratio = _ratio(variants, "buffered", "eager", "p50", LOW_PPS)
    text = None if ratio is None else f"{ratio:.1f} x"
    what = "buffered over unbuffered at 10 kpkt/s: at least 5 x"
    return _answer(what, "10 x below 50 Mbit/s", text, ratio is not None and ratio >= 5)


def _top(variants: Variants) -> _Check:
    single, buffered = (_most_carried_pps(variants, name) for name in ("single", "buffered"))
    what, published = "sent one by one, no more comes through than buffered", "4.3 / 10 Gbit/s"
    if single is None or buffered is None:
        return _answer(what, published, None, False)
    text = f"{single / 1e6:.2f} / {buffered / 1e6:.2f} Mpkt/s"
    # Where neither is saturated they carry the same, give or take a stall.
    return _answer(what, published, text, single <= 1.02 * buffered)


def _value(variants: Variants, device: str, what: str, pps: float = MAIN_PPS) -> float | None:
    """Give a percentile without void packets, where any is left: the device, not the instrument."""
    row = _row(variants, device, pps)
    if row is None:
        return None
    on_time = row.metrics.latency(WITHOUT_VOID)
    value = (on_time if on_time.n else row.latency).value_ns(what)
    return None if value is None else float(value)


def _ratio(variants: Variants, one: str, other: str, what: str, pps: float) -> float | None:
    above, below = (_value(variants, name, what, pps) for name in (one, other))
    return above / below if above is not None and below else None


def _most_carried_pps(variants: Variants, device: str) -> float | None:
    """Give the most packets a second that came through a device at any rate."""
    rows = [row for row in variants if row.device.dut == device]
    return max((row.achieved_pps * (1 - row.loss_ratio) for row in rows), default=None)


def _sweep(variants: Variants) -> Section:
    rates = sorted({row.load.asked_pps or 0.0 for row in variants if row.device.dut in SWEPT})
    rows = []
    for pps in rates:
        cells = (_sweep_cell(_row(variants, device, pps)) for device in SWEPT)
        rows.append((rate_words(pps), *cells))
    columns = ("offered", *SWEPT)
    return Section("DEBS 2020: rate sweep to overload, p50", columns, tuple(rows), _SWEEP_NOTE)


def _sweep_cell(row: Variant | None) -> str:
    if row is None:
        return "-"
    cell = format_ns(row.latency.p50_ns or 0)
    if row.loss_ratio > SATURATED_LOSS:
        cell += f", {share_words(row.loss_ratio)} lost"
    if row.achieved_pps < (1 - SATURATED_LOSS) * row.offered_pps:
        cell += f", {share_words(row.achieved_pps / row.offered_pps)} sent"
    return cell


DEBS20 = Debs20()
