"""A search: the bounds of every goal closing in, trial by trial."""

from collections.abc import Iterator

from taut.records.documents.search import SearchOfDevice
from taut.report.chart import (
    Chart,
    Mark,
    alt,
    colour_scale,
    column_data,
    decades,
    is_wide,
    layered,
)
from taut.report.palette import colour_devices
from taut.report.scene import Scene
from taut.report.search import names_of

_KEPT, _LOST, _HELD_UP = "nothing lost", "packets lost or late", "generator held up"
_BOUNDS = ("lower bound", "upper bound")


class BoundsClosingIn:
    """The loads that a search tried, and the bounds that they led to."""

    id = "bounds"
    question = "How did the search close in on what each device carries?"
    reading = (
        "One mark a trial, at the load that was tried, those far away at the edge; lines are the "
        "bounds of a goal after it, the lower one solid, the upper one dashed. A lower bound that "
        "falls, or an upper one that rises, was contradicted by a later trial."
    )

    def draw(self, scene: Scene) -> Chart | None:
        """Marks of the loads tried, two lines a device and goal."""
        called = list(zip(names_of(scene.searches), scene.searches, strict=True))
        marks = [mark for name, one in called for mark in _marks(name, one)]
        lines = [line for name, one in called for line in _lines(name, one)]
        if not marks:
            return None
        loads = _shown([float(row["load_pps"]) for row in marks])
        loads += [float(row["load_pps"]) for row in lines]
        tokens = colour_devices({str(line["of"]): False for line in lines})
        x = alt.X("step:Q", axis=alt.Axis(title="trial", tickMinStep=1, grid=False))
        y = alt.Y("load_pps:Q", axis=_axis(loads), scale=_scale(loads))
        shape = alt.Scale(domain=[_KEPT, _LOST, _HELD_UP], range=["circle", "cross", "triangle-up"])
        tried = alt.Chart(column_data(marks)).encode(
            x=x,
            y=y,
            shape=alt.Shape("outcome:N", scale=shape),
            tooltip=[
                alt.Tooltip("device:N"),
                alt.Tooltip("step:Q", title="trial"),
                alt.Tooltip("load_pps:Q", format=",.0f", title="load (pkt/s)"),
                alt.Tooltip("loss:Q", format=".4%", title="lost"),
            ],
        )
        layers: list[Chart] = [
            tried.mark_point(size=30, opacity=0.6, strokeWidth=1.5, color="@muted")
        ]
        if lines:
            bounds = alt.Chart(column_data(lines)).encode(
                x=x,
                y=y,
                color=alt.Color("of:N", scale=colour_scale(tokens)),
                strokeDash=alt.StrokeDash(
                    "bound:N",
                    scale=alt.Scale(domain=list(_BOUNDS), range=[[1, 0], [6, 3]]),
                    legend=None,
                ),
            )
            layers.append(bounds.mark_line(strokeWidth=2, interpolate="step-after"))
        return layered(*layers, height=340)


def _marks(name: str, one: SearchOfDevice) -> Iterator[Mark]:
    for number, step in enumerate(one.steps, 1):
        outcome = _LOST if step.loss_ratio else _KEPT
        yield {
            "device": name,
            "step": number,
            "load_pps": step.load_pps,
            "loss": step.loss_ratio,
            "outcome": _HELD_UP if step.instrument_limited else outcome,
        }


def _lines(name: str, one: SearchOfDevice) -> Iterator[Mark]:
    for number, step in enumerate(one.steps, 1):
        for closing in step.bounds:
            pair = (closing.lower_pps, closing.upper_pps)
            for bound, load_pps in zip(_BOUNDS, pair, strict=True):
                if load_pps is not None:
                    yield {
                        "of": f"{name}, {closing.goal}",
                        "bound": bound,
                        "step": number,
                        "load_pps": load_pps,
                    }


def _shown(loads: list[float]) -> list[float]:
    """Leave out the first jumps, beside which the bounds would be one line."""
    at = sorted(loads)
    n_away = len(at) // 10
    return at[n_away : len(at) - n_away]


def _axis(loads: list[float]) -> alt.Axis:
    axis = alt.Axis(title="load (pkt/s)", labelExpr="format(datum.value, '.4~s')", labelFlush=False)
    if is_wide(min(loads), max(loads)):
        axis["values"] = decades(min(loads), max(loads))
    else:
        axis["tickCount"] = 6
    return axis


def _scale(loads: list[float]) -> alt.Scale:
    least, most = min(loads), max(loads)
    if is_wide(least, most):
        return alt.Scale(type="log", domain=[least / 1.3, most * 1.3], nice=False, clamp=True)
    room = 0.1 * (most - least) or 0.01 * most
    return alt.Scale(domain=[least - room, most + room], zero=False, nice=False, clamp=True)
