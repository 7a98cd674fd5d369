"""A soak in the report: RUN/soak.json, read, and in the words of the page and the terminal."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console

from taut.analysis.load import share_words
from taut.core.units import digits_of, format_ns, length_words
from taut.explain import causes
from taut.records.documents.soak import (
    ROWS_FILE,
    SHARES,
    SOAK_FILE,
    Beyond,
    Clean,
    Course,
    Latency,
    Row,
    SoakDocument,
    Trend,
)
from taut.records.rows import elapsed
from taut.report import cells
from taut.report.paragraph import print_paragraph
from taut.report.written import read_written

TITLE = "How it held"
COLUMNS = (
    "from",
    "sent",
    "lost",
    "unsent",
    "late",
    "p50",
    "p99",
    "p99.9",
    "p99.99",
    "max",
    "at",
    "MB",
)
LEGEND = (
    "From: measured time at the row's beginning. Late: share of packets that the generator itself "
    "held up; they are in all figures of a row. At: when the slowest packet came back; empty: it "
    "was not recorded. MB: resident memory of taut and all that it started. Rows are windows of "
    "one measurement; whole-run percentiles are of all packets, merged, and none is a mean of rows."
)
BEYOND_TITLE = "Beyond what was measured"
_OF_EPISODES = "that of an older taut was from recorded packets alone, and could be too low"
SHOWN_ROWS = 24
FOLDED_ROWS = 2_000
"""Of a course with more rows the page has the worst alone: a day of rows of 1 s has 86,400."""
_NO_GUESS = {causes.UNKNOWN.title, causes.TRACE_LOST.title}
_MOST_CAUSES = 4  # told of an hour


def read_soak(run: Path) -> SoakDocument | None:
    """Read the soak of a run; None: it is none. InputError: one of a taut unlike this one."""
    return read_written(SoakDocument, run / SOAK_FILE, "soak")


def headline(document: SoakDocument) -> str:
    """Say in one or two sentences how it held, by what the generator itself did not hold up."""
    course = document.course
    of = course.on_time
    said = f"{course.device}: {length_words(course.measured_ns)}"
    if document.is_short:
        said += f" of {length_words(document.planned_ns)}"
    lost = course.counters.get("lost", 0) - course.counters.get("lost_void", 0)
    said += (
        f", p99.9 {cells.time(of.percentiles_ns['p99.9'])}, max {cells.time(of.max_ns)}, "
        f"{lost:,} of {course.counters.get('sent', 0):,} packets lost"
    )
    if course.counters.get("void", 0):
        share = _late_share(course.counters)
        said += f"; the generator was late with {share}, which are left out"
    said += "."
    if document.stopped is not None:
        said += f" Ended early: {document.stopped}."
    return said


def _late_share(counters: Mapping[str, int]) -> str:
    """Say which share of the packets the generator itself held up."""
    return share_words(counters.get("void", 0) / max(1, counters.get("due", 0)))


def verdict_words(document: SoakDocument) -> list[str]:
    """Say what each requirement came to, the worst first."""
    order = ("fail", "invalid", "inconclusive", "pass")
    found = sorted(document.verdicts, key=lambda one: order.index(one.verdict))
    return [f"{one.verdict}: {one.rule}: {one.said}" for one in found]


def figures_words(document: SoakDocument) -> list[str]:
    """Give the whole run's percentiles, the control's below."""
    courses = [document.course, *([document.control] if document.control else [])]
    lines = []
    for course in courses:
        called = course.device
        if course.on_time.n < course.latency.n:
            lines.append(
                f"{course.device}, without what the generator itself held up "
                f"({_late_share(course.counters)} of the packets): {_figures(course.on_time)}"
            )
            called += ", with it"
        lines.append(f"{called}: {_figures(course.latency)}")
    return lines


def _figures(of: Latency) -> str:
    parts = [f"{name} {cells.time(of.percentiles_ns[name])}" for name in SHARES]
    return ", ".join([*parts, f"max {cells.time(of.max_ns)}"])


def rows(course: Course) -> list[tuple[str, ...]]:
    """Give every row of the table; a new segment begins with a line of its own."""
    found: list[tuple[str, ...]] = []
    several = len(course.segments) > 1
    before_ns = 0
    for i, segment in enumerate(course.segments):
        if several:
            ended = {"killed": ", killed", "failed": ", failed"}.get(segment.ended, "")
            found.append((f"segment {i}{ended}", *[""] * (len(COLUMNS) - 1)))
        found += [row_cells(row, before_ns) for row in segment.rows]
        before_ns += segment.measured_ns
    return found


def row_cells(row: Row, before_ns: int = 0) -> tuple[str, ...]:
    """Give one row, as COLUMNS has it."""
    counters, of = row.counters, row.latency
    at = "" if row.max_at_ns is None else clock_words(before_ns + row.max_at_ns)
    return (
        clock_words(before_ns + row.start_ns),
        f"{counters['sent']:,}",
        f"{counters['lost']:,}",
        f"{counters['unsent']:,}",
        _late_share(counters),
        *(cells.time(of.percentiles_ns[name]) for name in ("p50", "p99", "p99.9", "p99.99")),
        cells.time(of.max_ns),
        at,
        f"{sum(row.memory_bytes.values()) / 1e6:,.0f}",
    )


def row_line(row: Row, before_ns: int) -> str:
    """Say a row in one line, as it is printed while a soak measures."""
    start, sent, lost, unsent, late, p50, p99, p999, p9999, most, _, memory = row_cells(
        row, before_ns
    )
    words = f"{start}  sent {sent}, lost {lost}, unsent {unsent}, generator late {late}"
    return f"{words}, p50 {p50}, p99 {p99}, p99.9 {p999}, p99.99 {p9999}, max {most}, {memory} MB"


def worst_rows(course: Course) -> list[tuple[str, ...]]:
    """Give the rows with the slowest packets, in order; all where they are few."""
    pairs = list(elapsed(course.segments))
    if len(pairs) <= SHOWN_ROWS:
        return rows(course)
    worst = sorted(pairs, key=lambda pair: -(pair[1].latency.max_ns or 0))[:SHOWN_ROWS]
    worst.sort(key=lambda pair: pair[0] + pair[1].start_ns)
    return [row_cells(row, before_ns) for before_ns, row in worst]


def chosen_words(course: Course, where: str | None = None) -> str | None:
    """Say that the rows shown are the worst ones, and where all are; None: they are all.

    On the page, which says no `where`, they are below, or in a file.
    """
    n_rows = sum(len(segment.rows) for segment in course.segments)
    if n_rows <= SHOWN_ROWS:
        return None
    where = where or ("below" if is_folded(course) else f"soak/*/{ROWS_FILE}")
    return f"The {SHOWN_ROWS} rows with the slowest packets of {n_rows:,}; all of them: {where}"


def is_folded(course: Course) -> bool:
    """Whether the page has all rows, folded, below the worst ones."""
    return SHOWN_ROWS < sum(len(segment.rows) for segment in course.segments) <= FOLDED_ROWS


def clock_words(ns: int) -> str:
    """Write measured time as h:mm:ss."""
    seconds = ns // 1_000_000_000
    return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def course_words(course: Course) -> Iterator[str]:
    """Say what is to be known of a course beside its rows."""
    for clean in course.clean:
        yield clean_words(clean)
    yield from trend_words(course.trends)


def clean_words(clean: Clean) -> str:
    """Say how long it kept to a rule."""
    if clean.starts_ns is None:
        return f"{clean.rule}: none of {clean.n_rows} rows was clean"
    return (
        f"{clean.rule}: {clean.n_clean} of {clean.n_rows} rows were clean, the longest stretch "
        f"{length_words(clean.longest_ns)} from {clock_words(clean.starts_ns)} on"
    )


def trend_words(trends: Sequence[Trend]) -> Iterator[str]:
    """Say which figures grew or shrank; in one sentence those that did not."""
    moved = [one for one in trends if one.verdict in ("increasing", "decreasing")]
    for one in moved:
        p_value = 0.0 if one.p_value is None else one.p_value
        yield (
            f"{_called(one)} {one.verdict}: {_amount(one, one.per_hour or 0.0)} an hour "
            f"(Mann-Kendall, p = {p_value:.2g}, {one.n_rows} rows)"
        )
    flat = [_called(one) for one in trends if one.verdict == "none"]
    if flat:
        yield f"no trend shown: {', '.join(flat)}"
    few = [one for one in trends if one.verdict == "too few rows"]
    if few:
        yield f"no trend tested: {few[0].n_rows} rows; ten are needed"


def _called(one: Trend) -> str:
    return one.of.replace("_ns", "").replace("memory_bytes", "memory")


def _amount(one: Trend, value: float) -> str:
    sign = "+" if value > 0 else "-"
    size = abs(value)
    return (
        f"{sign}{format_ns(size)}"
        if one.of.endswith("_ns")
        else f"{sign}{digits_of(size / 1e6)} MB"
    )


def causes_rows(course: Course) -> list[tuple[str, str]]:
    """Give a row an hour: its causes, by their share of the recorded lateness, the largest first.

    Each a guess: only slow packets are recorded in a soak, others cannot speak against a cause.
    """
    found = []
    for hour in course.causes:
        total = sum(hour.by_cause.values()) or 1
        parts = [
            f"{share_words(ns / total)} {'' if name in _NO_GUESS else 'maybe '}{name}"
            for name, ns in list(hour.by_cause.items())[:_MOST_CAUSES]
        ]
        of = f"lateness of {hour.n_explained:,} recorded packets"
        found.append((f"{hour.hour}:00", f"{of}: {', '.join(parts)}"))
    return found


def beyond_words(beyond: Beyond) -> str:
    """Say what is to be expected, or why nothing is said."""
    if beyond.block_ns is None:
        return f"No extrapolation: {beyond.refused or _OF_EPISODES}."
    levels = ", ".join(
        f"{format_ns(most)} in {length} (95 % of the fit: {format_ns(low)} to {format_ns(high)})"
        for length, (most, low, high) in beyond.levels_ns.items()
    )
    return (
        f"Extrapolated, not measured: reached once on average is {levels}. From the slowest "
        f"packets of {beyond.n_blocks} times {format_ns(beyond.block_ns)} (generalised "
        f"extreme value, shape {beyond.shape or 0:.2f}); it holds as long as nothing changes."
    )


def print_beyond(run: Path, console: Console) -> None:
    """Print what a run that is a soak is to be expected to show later; of another nothing."""
    soak = read_soak(run)
    if soak is not None and soak.course.beyond is not None:
        print_paragraph(console, beyond_words(soak.course.beyond), style="dim")
