"""The tail of the host as found beside that of the trimmed host, with what repetitions leave open.

The repetition is the unit, as in the trim's claim: each gives one value a percentile and state,
and only repetitions measured in both states are drawn. The line is their median; the band is where
the median of all such repetitions lies with 95 %, by order statistics: no distribution is assumed
(Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd ed., section 3.6).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import comb, inf, isfinite

import numpy as np
import numpy.typing as npt

from taut.core.percentiles import SUPPORT
from taut.records.documents.results import WITHOUT_VOID, TrialResult
from taut.records.rundir import AS_FOUND, TRIMMED
from taut.report.chart import (
    Chart,
    Mark,
    alt,
    column_data,
    device_colour,
    layered,
    time_axis,
    time_scale,
)
from taut.report.nines import nines_axis
from taut.report.scene import Device, Ints, Scene

STEPS_PER_DECADE = 30

_ERROR = 0.05
_HEIGHT = 380

Floats = npt.NDArray[np.float64]


class TrimmedPercentiles:
    """Percentiles of each device in both states, with intervals over the repetitions."""

    id = "trimmed"
    question = "How slow are the slow packets before and after the trim?"
    reading = (
        "Packets that the generator was on time with: they measure the device. One packet in x "
        "took at least the time drawn: the median of the repetitions, dashed as found, solid "
        "trimmed. Lost packets count as slower than any: a line ends where its packet is a lost "
        "one. The band is the 95 % interval of that median; with fewer than six repetitions, or "
        "where its upper end is a lost packet, there is none. Only repetitions measured in both "
        "states count, and percentiles with ten packets above them in each. Bands that overlap do "
        "not mean that nothing is shown: the claim rests on the differences within pairs, which "
        "the bands do not show."
    )

    def draw(self, scene: Scene) -> Chart | None:
        """Two lines and two bands a device."""
        pairs = list(_in_both_states(scene.devices))
        rows = [row for pair in pairs for row in _rows(pair)]
        if not rows:
            return None
        labels = [device.label for pair in pairs for device in pair]
        color = device_colour(scene.colours_of(labels))
        least = min(float(row["low_us"]) for row in rows)
        most = max(float(row["high_us"]) for row in rows)
        scale = time_scale(least, most, 0.85, 1.2)
        base = alt.Chart(column_data(rows)).encode(
            x=nines_axis(max(float(row["one_in"]) for row in rows)),
            y=alt.Y("median_us:Q", scale=scale, axis=time_axis("service latency", least, most)),
            color=color,
        )
        band = (
            base.transform_filter(alt.datum.low_us < alt.datum.high_us)
            .mark_area(opacity=0.2, line=False, clip=True)
            .encode(y=alt.Y("low_us:Q", scale=scale), y2="high_us:Q")
        )
        line = base.mark_line(strokeWidth=2.25, clip=True).encode(
            strokeDash=alt.StrokeDash(
                "state:N",
                scale=alt.Scale(domain=[AS_FOUND, TRIMMED], range=[[6, 4], [1, 0]]),
                legend=None,
            ),
            tooltip=[
                alt.Tooltip("device:N"),
                alt.Tooltip("one_in:Q", format=",.0f", title="one packet in"),
                alt.Tooltip("median_us:Q", format=",.3f", title="median (µs)"),
                alt.Tooltip("low_us:Q", format=",.3f", title="from (µs)"),
                alt.Tooltip("high_us:Q", format=",.3f", title="to (µs)"),
                alt.Tooltip("repetitions:Q"),
            ],
        )
        return layered(band, line, height=_HEIGHT)


def _in_both_states(devices: Sequence[Device]) -> Iterator[tuple[Device, Device]]:
    """Each device in a place as found and trimmed, with the trials of common repetitions alone."""
    for found in devices:
        if found.is_floor or found.state != AS_FOUND:
            continue
        for trimmed in devices:
            if _but_state(trimmed) == _but_state(found) and trimmed.state == TRIMMED:
                common = _repetitions(found) & _repetitions(trimmed)
                if common:
                    yield _only(found, common), _only(trimmed, common)


def _but_state(device: Device) -> tuple[str, str, str]:
    return device.name, device.row.device.place, device.neighbour


def _repetitions(device: Device) -> set[int]:
    return {
        t.repetition
        for t in device.trials
        if t.repetition is not None and t.latency(WITHOUT_VOID).n
    }


def _only(device: Device, repetitions: set[int]) -> Device:
    trials = sorted(
        (t for t in device.trials if t.repetition in repetitions),
        key=lambda trial: trial.repetition or 0,
    )
    return replace(device, trials=trials)


def _rows(pair: tuple[Device, Device]) -> Iterator[Mark]:
    counts = [[_on_time(device, t) for t in device.trials] for device in pair]
    fewest = min(n_due for repetitions in counts for _, _, n_due in repetitions)
    if fewest <= SUPPORT:
        return
    n_steps = int(STEPS_PER_DECADE * np.log10(fewest / SUPPORT)) + 1
    one_in = np.logspace(0, np.log10(fewest / SUPPORT), n_steps)
    for device, repetitions in zip(pair, counts, strict=True):
        drawn = np.array([_percentiles(*counted, one_in) for counted in repetitions])
        yield from _points(device, one_in, drawn)


def _on_time(device: Device, trial: TrialResult) -> tuple[Ints, Ints, int]:
    """Give one repetition's distinct latencies, the ranks up to each, and how many were due.

    Void packets are left out.
    """
    values, n = device.counts("latency", with_void=False, of=trial)
    return values, np.cumsum(n), trial.measured.warm.on_time


def _percentiles(values: Ints, upto: Ints, n_due: int, one_in: Floats) -> Floats:
    """Give the packet of which one in so many is as slow, as percentile_disc has it; inf: lost."""
    # Rounding must not lift a whole rank to the next.
    ranks = np.maximum(1, np.ceil(n_due * (1 - 1 / one_in) - 1e-6))
    found: Floats = np.append(values / 1e3, inf)[np.searchsorted(upto, ranks)]
    return found


def _points(device: Device, one_in: Floats, values: Floats) -> Iterator[Mark]:
    n = len(values)
    ordered = np.sort(values, axis=0)
    middle = np.median(values, axis=0)
    out = outermost(n)
    low, high = (middle, middle) if out is None else (ordered[out], ordered[n - 1 - out])
    columns = (one_in.tolist(), middle.tolist(), low.tolist(), high.tolist())
    for x, median, least, most in zip(*columns, strict=True):
        if not isfinite(median):
            return
        has_band = isfinite(most)
        yield {
            "device": device.label,
            "state": device.state,
            "one_in": x,
            "median_us": median,
            "low_us": least if has_band else median,
            "high_us": most if has_band else median,
            "repetitions": n,
        }


def outermost(n: int) -> int | None:
    """Give how many values to leave out at either end for the 95 % interval of the median.

    None: of so few values not even all of them reach from below the median to above it.
    """
    below, out = 0, None
    for k in range(n):
        below += comb(n, k)
        if 2 * below > _ERROR * 2**n:
            break
        out = k
    return out
