"""The slowest packets over time, and below them the interrupts and softirqs of the same time."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from taut.analysis.interrupts import BIN_NS, HOST, read_interrupts
from taut.analysis.worst import N_WORST
from taut.report.chart import (
    Chart,
    Mark,
    alt,
    at_x,
    at_y,
    column_data,
    layered,
    time_axis,
    time_scale,
)
from taut.report.palette import DEVICE_TOKENS
from taut.report.scene import Device, Scene, SlowPacket

MOST_PANELS = 4
MOST_NAMES = 7
MOST_BINS = 120

OTHERS = "others together"
_OTHERS_TOKEN = "@floor1"  # noqa: S105 - a colour

_COUNT = "datum.value >= 1e3 ? format(datum.value / 1e3, '~g') + ' k' : format(datum.value, '~g')"

# Pixels, from the top of a panel down.
_TITLE = 22
_PACKETS = 130
_BETWEEN = 26
_COUNTS = 130
_BELOW = 40
_LEFT = -44


@dataclass(frozen=True)
class _Panel:
    """One trial: where it is drawn, its slowest packets, its interrupts on one core."""

    device: Device
    core: int
    packets: Sequence[SlowPacket]
    counts: Sequence[Mark]
    """Of each name and bin: name, from when to when (s), how many a second."""
    end_s: float
    top: int

    @property
    def latency(self) -> list[int]:
        """Where packets are drawn, as an axis wants it: bottom, top."""
        return [self.top + _TITLE + _PACKETS, self.top + _TITLE]

    @property
    def rates(self) -> list[int]:
        """Where interrupts are drawn."""
        top = self.latency[0] + _BETWEEN
        return [top + _COUNTS, top]

    @property
    def end(self) -> int:
        """Where the next panel begins."""
        return self.rates[0] + _BELOW


class InterruptsBesideLatency:
    """Worst packets and interrupts a second on the same axis of time."""

    id = "interrupts"
    question = "Do slow packets come with interrupts, and with which?"
    reading = (
        f"Of each device's repetition with the slowest packet ({MOST_PANELS} devices at most): its "
        f"{N_WORST} slowest packets by the time they were sent, and below, on the same axis, how "
        "many interrupts and softirqs a second its core began (of a floor, the generator's; of a "
        "device in a guest, its CPU in the guest besides), "
        f"counted from the trace: the {MOST_NAMES} most frequent by name, the others together. "
        "That they come together shows no cause; the causes are found packet by packet. Drawn "
        "where the whole trial was traced."
    )

    def draw(self, scene: Scene) -> Chart | None:
        """Draw the panels one below the other."""
        panels = list(_panels(scene))
        if not panels:
            return None
        colour = _colour(panels)
        longest = max(panel.end_s for panel in panels)
        layers = [layer for panel in panels for layer in _layers(panel, longest, colour)]
        height = panels[-1].end - _BELOW
        return layered(*layers, height=height, resolve={"scale": {"y": "independent"}})


def _panels(scene: Scene) -> Iterator[_Panel]:
    devices = sorted(scene.devices, key=lambda d: -(d.slowest_trial.latency().max_ns or 0))
    chosen = [d for d in devices if d.slowest_trial.measured.every_packet]
    top = n = 0
    for device in chosen:
        panel = _panel(device, top)
        if panel is not None and n < MOST_PANELS:
            yield panel
            top, n = panel.end, n + 1


def _panel(device: Device, top: int) -> _Panel | None:
    """Lay out a device; None where its trial was not traced, or no interrupt began on its core."""
    trial = device.slowest_trial
    table = read_interrupts(device.folder_of(trial))
    packets = device.worst(N_WORST)
    if table is None or not packets or trial.cores is None:
        return None
    core = trial.cores.generator if device.is_floor else trial.cores.device
    rows = [row for row in table.to_pylist() if _is_drawn(row, core) and row["start_ns"] >= 0]
    if core is None or not rows:
        return None
    end_s = max(max(p.sent_ns for p in packets), max(row["start_ns"] for row in rows) + BIN_NS)
    return _Panel(device, core, packets, _rates(rows), end_s / 1e9, top)


def _is_drawn(row: dict[str, Any], core: int | None) -> bool:
    """Whether it is of this core, or of a guest: that traces the device's CPU alone."""
    return bool(row["place"] != HOST or row["cpu"] == core)


def _rates(rows: Sequence[dict[str, Any]]) -> list[Mark]:
    """Count a second, by name, in so few bins that each can be seen; none is left out as zero."""
    is_alone = {row["place"] for row in rows} == {HOST}
    n_bins = max(row["start_ns"] for row in rows) // BIN_NS + 1
    width_ns = -(-n_bins // MOST_BINS) * BIN_NS
    counts: dict[str, Counter[int]] = {}
    for row in rows:
        name = row["name"] if is_alone else f"{row['place']}: {row['name']}"
        counts.setdefault(name, Counter())[row["start_ns"] // width_ns] += row["n"]
    last = n_bins * BIN_NS // width_ns + 1
    return [
        {"name": name, "at_s": at * width_ns / 1e9, "rate": of[at] / (width_ns / 1e9)}
        for name, of in counts.items()
        for at in range(last)
    ]


def _names(panels: Sequence[_Panel]) -> list[str]:
    """Give the most frequent of all panels, the most frequent first."""
    total: Counter[str] = Counter()
    for panel in panels:
        for mark in panel.counts:
            total[str(mark["name"])] += int(float(mark["rate"]))
    return [name for name, _ in total.most_common(MOST_NAMES)]


def _colour(panels: Sequence[_Panel]) -> alt.Color:
    names = _names(panels)
    tokens = list(DEVICE_TOKENS[: len(names)])
    if any(mark["name"] not in names for panel in panels for mark in panel.counts):
        names, tokens = [*names, OTHERS], [*tokens, _OTHERS_TOKEN]
    legend = alt.Legend(symbolType="stroke", symbolOpacity=1, symbolSize=200, columns=4)
    return alt.Color("name:N", scale=alt.Scale(domain=names, range=tokens), legend=legend)


def _layers(panel: _Panel, longest_s: float, colour: alt.Color) -> Iterator[Chart]:
    """Give the trial's name, its packets and its interrupts."""
    x = alt.X(
        "at_s:Q",
        scale=alt.Scale(domain=[0, longest_s], nice=False),
        axis=alt.Axis(title="seconds of the trial", grid=False, tickCount=8, labelFlush=False),
    )
    trial = panel.device.slowest_trial
    whose = "generator's" if panel.device.is_floor else "device's"
    words = f"{panel.device.label}, repetition {trial.repetition}; the {whose} core, {panel.core}"
    title = alt.Chart(alt.InlineData(values=[{"text": words}])).mark_text(
        align="left", baseline="middle", color="@ink", fontWeight="bold"
    )
    yield title.encode(x=at_x(_LEFT), y=at_y(panel.top + _TITLE / 2 - 4), text=alt.Text("text:N"))
    yield _packet_layer(panel, x)
    yield _rate_layer(panel, x, colour)


def _packet_layer(panel: _Panel, x: alt.X) -> alt.Chart:
    times = [packet.latency_ns / 1e3 for packet in panel.packets]
    scale = time_scale(min(times), max(times), 0.8, 1.3).to_dict()
    rows: list[Mark] = [
        {"at_s": packet.sent_ns / 1e9, "latency_us": packet.latency_ns / 1e3}
        for packet in panel.packets
    ]
    y = alt.Y(
        "latency_us:Q",
        scale=alt.Scale(**{**scale, "range": panel.latency}),
        axis=_left(time_axis("service latency", min(times), max(times))),
    )
    marks = alt.Chart(column_data(rows)).mark_point(
        filled=False, strokeWidth=1, size=10, opacity=0.5, color="@ink", aria=False
    )
    tooltip = [
        alt.Tooltip("at_s:Q", format=".6f", title="sent (s)"),
        alt.Tooltip("latency_us:Q", format=",.3f", title="latency (µs)"),
    ]
    found: alt.Chart = marks.encode(x=x, y=y, tooltip=tooltip)
    return found


def _rate_layer(panel: _Panel, x: alt.X, colour: alt.Color) -> alt.Chart:
    named = colour["scale"]["domain"]
    rows = _with_others(panel.counts, named)
    top = max(float(row["rate"]) for row in rows)
    # From 0, which a logarithm has not, over decades: a timer's hundreds, packets' ten thousands.
    scale = alt.Scale(type="symlog", constant=1, domain=[0, top * 1.3], range=panel.rates)
    ticks = [0, *(10**n for n in range(8) if 10**n <= top * 1.3)]
    axis = _left(alt.Axis(title="a second", values=ticks, labelExpr=_COUNT))
    lines = alt.Chart(column_data(rows)).mark_line(interpolate="step-after", strokeWidth=1.5)
    tooltip = [
        alt.Tooltip("name:N"),
        alt.Tooltip("at_s:Q", format=".1f", title="from (s)"),
        alt.Tooltip("rate:Q", format=",.0f", title="a second"),
    ]
    y = alt.Y("rate:Q", scale=scale, axis=axis)
    found: alt.Chart = lines.encode(x=x, y=y, color=colour, tooltip=tooltip)
    return found


def _with_others(counts: Sequence[Mark], named: Sequence[str]) -> list[Mark]:
    """Add up what has no colour of its own."""
    rest: Counter[float] = Counter()
    for mark in counts:
        if mark["name"] not in named:
            rest[float(mark["at_s"])] += float(mark["rate"])  # type: ignore[assignment]
    others: list[Mark] = [
        {"name": OTHERS, "at_s": at, "rate": rate} for at, rate in sorted(rest.items())
    ]
    return [*(mark for mark in counts if mark["name"] in named), *others]


def _left(axis: alt.Axis) -> alt.Axis:
    """What only the first of several axes would have: the left side, and its lines."""
    axis["orient"], axis["grid"] = "left", True
    return axis
