"""What only a pair of captures has, in words: classes of frames, clocks, content classes."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from taut.analysis.capture_result import drift_words, growth_words
from taut.records.documents.capture import CaptureResult
from taut.records.documents.content import ContentClass, PositionRun
from taut.report import cells
from taut.report.run_names import Runs, run_names, trial_names

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


class Captured(NamedTuple):
    """What a pair of captures came to, and what the pair is called among those of the report."""

    name: str
    result: CaptureResult


def captures_of(runs: Runs, names: Sequence[str] = ()) -> list[Captured]:
    """Give the trials that were made of captures; runs are called by `names`, or their folders.

    One by its device; several of one device by load, repetition and run, too.
    """
    of_trials = trial_names(runs, names or run_names(runs))
    found = [
        (str(trial.device.dut), Captured(called[trial.name], trial.capture))
        for (_, analysis), called in zip(runs, of_trials, strict=True)
        for trial in analysis.trials
        if trial.capture is not None
    ]
    n_of = Counter(device for device, _ in found)
    return [pair._replace(name=device) if n_of[device] == 1 else pair for device, pair in found]


def class_row(pair: Captured) -> list[str]:
    """Frames by class, as CLASS_COLUMNS."""
    classes, truncated = pair.result.classes, pair.result.truncated
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
    return [pair.name, *map(cells.count, numbers)]


def clock_words(pair: Captured) -> str:
    """What the lower envelope says about the two clocks."""
    clocks, name = pair.result.clocks, pair.name
    drift = drift_words(clocks)
    if not drift:
        return f"{name}: too few packets to say whether the clocks drift"
    shown = growth_words(clocks) if clocks.is_drift_shown else f"no drift shown: {drift}"
    return (
        f"{name}: {shown}; offset plus the least latency is "
        f"{cells.time(clocks.offset_ns)} ± {cells.time(clocks.offset_uncertainty_ns)} "
        f"(lower envelope, {cells.count(clocks.n_points)} stretches)"
    )


def content_words(pair: Captured) -> str:
    """Say in one line what the search by content found."""
    content, name = pair.result.content, pair.name
    if content is None:
        return f"{name}: content not searched; --content does"
    if content.not_searched:
        return f"{name}: content not searched: {content.not_searched}"
    n = len(content.classes)
    n_open = sum(bool(found.alternative) for found in content.classes)
    found = f"{n} classes of packets are" if n > 1 else "1 class of packets is"
    words = f"{found} slower or faster than those around them, with a value in common"
    if not n:
        words = "no class of packets that is slower or faster was found"
    if n_open:
        words += "; something else would look the same"
        words += f" ({n_open} of them)" if n > n_open else ""
    searched = f"{content.n_captures} captures, " if content.n_captures > 1 else ""
    return f"{name}: {words} ({searched}{content.n_tests:,} tests)"


def content_rows(pair: Captured) -> list[list[str]]:
    """The content classes, as CONTENT_COLUMNS."""
    return [[pair.name, *_content_row(found)] for found in _classes(pair)]


def _classes(pair: Captured) -> Sequence[ContentClass]:
    content = pair.result.content
    return () if content is None else content.classes


def open_words(pair: Captured) -> list[str]:
    """What would look the same as a class, a line each."""
    return [
        f"{pair.name}: {found.field} = {_value(found)}, or {found.alternative}: "
        "a capture in which the value comes at another place settles it (--with)"
        for found in _classes(pair)
        if found.alternative
    ]


def _value(found: ContentClass) -> str:
    """A value, marked where something else would look the same."""
    return found.value + (" (?)" if found.alternative else "")


def position_words(pair: Captured) -> list[str]:
    """Runs of neighbours that differ from the rest by far, a line each."""
    content, name = pair.result.content, pair.name
    if content is None:
        return []
    positions = content.positions
    lines = [f"{name}: {_run_words(run)}" for run in positions.runs]
    n_more = positions.n_runs - len(lines)
    if n_more:
        runs = "run" if n_more == 1 else "runs"
        lines.append(f"{name}: {cells.count(n_more)} more {runs} of neighbours like these")
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


def _by_capture_words(found: ContentClass) -> str:
    """What each of several captures has in the tail; empty where there is one."""
    if len(found.by_capture) < 2:
        return ""
    here, *others = (
        f"{cells.count(of.n_in_tail)} of {cells.count(of.n_packets)}" for of in found.by_capture
    )
    return f" ({here} packets here, of the other captures {', '.join(others)})"


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
        f"{100 * tail.of_tail:.3g} % of {cells.count(tail.n)}{_by_capture_words(found)}",
        f"{found.p_corrected:.1g}",
        ", ".join(packets) + (f" and {cells.count(more)} more" if more > 0 else ""),
    ]
