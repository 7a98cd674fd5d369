"""The whole distribution, on the axis that gives every nine the same room."""

from collections.abc import Iterator

import numpy as np

from taut.core.percentiles import PERCENTILES, SUPPORT
from taut.report.cells import UNSUPPORTED
from taut.report.chart import Chart, Mark, alt, column_data, device_colour, time_axis, time_scale
from taut.report.nines import EVERY_SLOWEST, POINTS_PER_DECADE, curve_points, nines_axis
from taut.report.scene import Device, Ints, Scene


class Percentiles:
    """Latency over its percentile, on the axis of nines."""

    id = "percentiles"
    question = "How slow are the slow packets: one in ten, one in a thousand, one in a million?"
    reading = (
        "One packet in x took at least the time drawn. Solid: as far as no percentile of the table "
        f"is grey. Dashed: {UNSUPPORTED}. Dotted and faint: only packets that the generator was on "
        "time with. Repetitions are pooled; the slowest "
        f"{EVERY_SLOWEST} packets are all drawn, of the others {POINTS_PER_DECADE} exact steps a "
        "decade."
    )

    def draw(self, scene: Scene) -> Chart | None:
        """One line a device."""
        rows = [row for device in scene.devices for row in _rows_of(device)]
        if not rows:
            return None
        slowest = max(float(row["latency_us"]) for row in rows)
        fastest = min(float(row["latency_us"]) for row in rows)
        most = max(float(row["one_in"]) for row in rows)
        chart: Chart = (
            alt.Chart(column_data(rows))
            .mark_line(interpolate="step-before", strokeWidth=2, clip=True)
            .encode(
                x=nines_axis(most),
                y=alt.Y(
                    "latency_us:Q",
                    scale=time_scale(fastest, slowest, 0.85, 1.2),
                    axis=time_axis("service latency", fastest, slowest),
                ),
                color=device_colour(scene.colours_of(device.label for device in scene.devices)),
                strokeDash=alt.StrokeDash(
                    "part:N",
                    scale=alt.Scale(
                        domain=["supported", "few packets", "without void"],
                        range=[[1, 0], [6, 4], [2, 3]],
                    ),
                    legend=None,
                ),
                opacity=alt.Opacity(
                    "part:O",
                    scale=alt.Scale(
                        domain=["supported", "few packets", "without void"], range=[1, 0.6, 0.75]
                    ),
                    legend=None,
                ),
                detail=alt.Detail("part:N"),
                tooltip=[
                    alt.Tooltip("device:N"),
                    alt.Tooltip("one_in:Q", format=",.1f", title="one packet in"),
                    alt.Tooltip("latency_us:Q", format=",.3f", title="took at least (µs)"),
                    alt.Tooltip("part:N", title="part"),
                ],
            )
            .properties(height=380)
        )
        return chart


def _rows_of(device: Device) -> Iterator[Mark]:
    values, n = device.counts("latency")
    # From the first percentile on that the table greys.
    few = [PERCENTILES[name] for name in device.row.doubt.unsupported_percentiles]
    limit = min((under / (under - over) for over, under in few), default=np.inf)
    yield from _curve(device.label, values, n, "supported", "few packets", limit)
    if device.row.void:
        values, n = device.counts("latency", with_void=False)
        if len(values):
            yield from _curve(device.label, values, n, "without void", "without void")


def _curve(
    label: str, values: Ints, n: Ints, solid: str, dashed: str, limit: float = np.inf
) -> Iterator[Mark]:
    """Give a curve's points; those with few packets above them, or from `limit` on, are dashed."""
    last_solid: Mark | None = None
    for n_slower, one_in, latency_us in curve_points(values, n):
        point: Mark = {"device": label, "one_in": one_in, "latency_us": latency_us}
        if n_slower >= SUPPORT and one_in < limit:
            last_solid = {**point, "part": dashed}
            yield {**point, "part": solid}
        else:
            if last_solid is not None and dashed != solid:
                # The dashed part starts where the solid one ends.
                yield last_solid
            last_solid = None
            yield {**point, "part": dashed}
