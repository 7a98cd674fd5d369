"""What only a pair of captures has, in words: classes of frames, clocks, content classes."""

from collections.abc import Sequence

from taut.records.documents.capture import CaptureResult
from taut.records.documents.content import ContentClass, PositionRun
from taut.records.documents.results import TrialResult
from taut.report import cells

CLASS_COLUMNS = (
    "pair",
    "matched",
    "lost",
    "duplicates",
    "beyond window",
    "orphans",
    "ambiguous in",
    "ambiguous out",
    "truncated in",
    "truncated out",
    "negative",
    "out of sequence",
)
CONTENT_COLUMNS = (
    "pair",
    "field",
    "value",
    "packets",
    "is",
    "by (95 %)",
    "median",
    "of the others",
    "share of its tail",
    "p (corrected)",
    "first packets",
)
_FIRST = 4


def captures_of(trials: Sequence[TrialResult]) -> list[TrialResult]:
    """The trials that were made of captures; the other functions take one of these."""
    return [trial for trial in trials if trial.capture is not None]


def _capture(trial: TrialResult) -> CaptureResult:
    assert trial.capture is not None, f"{trial.name}: not made of captures"
    return trial.capture


def class_row(trial: TrialResult) -> list[str]:
    """Frames by class, as CLASS_COLUMNS."""
    classes, truncated = _capture(trial).classes, _capture(trial).truncated
    numbers = (
        *(
            classes.matched,
            classes.lost,
            classes.duplicates,
            classes.beyond_window,
            classes.orphans,
        ),
        *(classes.ambiguous.ingress, classes.ambiguous.egress, truncated.ingress, truncated.egress),
        *(classes.negative, classes.out_of_sequence),
    )
    return [str(trial.device.dut), *map(cells.count, numbers)]


def clock_words(trial: TrialResult) -> str:
    """What the lower envelope says about the two clocks."""
    clocks, dut = _capture(trial).clocks, trial.device.dut
    drift, doubt = clocks.drift_ppb, clocks.drift_uncertainty_ppb
    if drift is None or doubt is None:
        return f"{dut}: too few packets to say whether the clocks drift"
    shown = "drift" if clocks.is_drift_shown else "no drift shown"
    return (
        f"{dut}: {shown}: {drift:.3g} ± {doubt:.2g} ns a second; offset plus the least "
        f"latency is {cells.time(clocks.offset_ns)} ± "
        f"{cells.time(clocks.offset_uncertainty_ns)} (lower envelope, "
        f"{cells.count(clocks.n_points)} stretches)"
    )


def content_words(trial: TrialResult) -> str:
    """Say in one line what the search by content found."""
    content, dut = _capture(trial).content, trial.device.dut
    if content is None:
        return f"{dut}: content not searched; --content does"
    if content.not_searched:
        return f"{dut}: content not searched: {content.not_searched}"
    n = len(content.classes)
    n_open = sum(bool(found.alternative) for found in content.classes)
    found = f"{n} classes of packets are" if n > 1 else "1 class of packets is"
    words = f"{found} slower or faster for what is in them" if n else "no packet is slow for "
    words += "" if n else "what is in it"
    if n_open:
        words += ", or for something else that would look the same"
        words += f" ({n_open} of them)" if n > n_open else ""
    searched = f"{content.n_captures} captures, " if content.n_captures > 1 else ""
    return f"{dut}: {words} ({searched}{content.n_tests:,} tests)"


def content_rows(trial: TrialResult) -> list[list[str]]:
    """The content classes, as CONTENT_COLUMNS."""
    return [[str(trial.device.dut), *_content_row(found)] for found in _classes(trial)]


def _classes(trial: TrialResult) -> Sequence[ContentClass]:
    content = _capture(trial).content
    return () if content is None else content.classes


def open_words(trial: TrialResult) -> list[str]:
    """What would look the same as a class, a line each."""
    return [
        f"{trial.device.dut}: {found.field} = {_value(found)}, or {found.alternative}: "
        "a capture in which the value comes at another place settles it (--with)"
        for found in _classes(trial)
        if found.alternative
    ]


def _value(found: ContentClass) -> str:
    """A value, marked where something else would look the same."""
    return found.value + (" (?)" if found.alternative else "")


def position_words(trial: TrialResult) -> list[str]:
    """Runs of neighbours that differ from the rest by far, a line each."""
    content, dut = _capture(trial).content, trial.device.dut
    if content is None:
        return []
    positions = content.positions
    lines = [f"{dut}: {_run_words(run)}" for run in positions.runs]
    n_more = positions.n_runs - len(lines)
    if n_more:
        runs = "run" if n_more == 1 else "runs"
        lines.append(f"{dut}: {cells.count(n_more)} more {runs} of neighbours like these")
    return lines


def _run_words(run: PositionRun) -> str:
    n_packets = run.last_position - run.first_position + 1
    first, last = cells.count(run.first_position), cells.count(run.last_position)
    places = first if n_packets == 1 else f"{first} to {last}"
    noun = "packet" if n_packets == 1 else "packets"
    if run.where == "inside":
        which = f"{noun} {places}"
    else:
        number = "" if n_packets == 1 else f"{cells.count(n_packets)} "
        which = f"the {run.where} {number}{noun} ({places})"
    be = "is" if n_packets == 1 else "are"
    by = cells.time(abs(run.median_ns - run.rest_median_ns))
    return f"{which} {be} {run.direction} than the rest by {by}, from {run.time_ns / 1e9:.6f} s"


def _content_row(found: ContentClass) -> list[str]:
    low, high = found.shift_interval_ns
    tail = found.tail
    packets = [f"#{p.position} at {p.time_ns / 1e9:.6f} s" for p in found.packets[:_FIRST]]
    more = found.n_packets - len(packets)
    return [
        found.field,
        _value(found),
        cells.count(found.n_packets),
        found.direction,
        f"{cells.time(found.shift_ns)} ({cells.time(low)} to {cells.time(high)})",
        cells.time(found.median_ns),
        cells.time(found.rest_median_ns),
        f"{100 * tail.of_tail:.3g} % of {cells.count(tail.n)}",
        f"{found.p_corrected:.1g}",
        ", ".join(packets) + (f" and {cells.count(more)} more" if more > 0 else ""),
    ]
