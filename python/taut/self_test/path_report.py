"""What the self-test found on packet paths: lines and tables for a terminal, rows of JSON."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console

from taut.core.units import format_ns
from taut.records.documents.self_test import ControlOfPath, PathDocument
from taut.report.columns import labels, numbers, print_columns
from taut.report.paragraph import INDENT, print_paragraph
from taut.self_test.cause_report import percent
from taut.self_test.confusion import Confusion, as_document
from taut.self_test.path_trials import PathResult


@dataclass
class PathResults:
    """What a self-test found of every packet path of this machine; filled as it goes."""

    found: list[PathResult] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    """Paths that this machine has not, and why; those that failed, too."""


def path_line(one: PathResult) -> str:
    """Say of one path what matters, as soon as it is done."""
    felt = sum(act.n_felt for act in one.acts)
    found = sum(act.n_right + act.n_beside for act in one.acts)
    right = sum(act.n_right for act in one.acts)
    return (
        f"{one.path.name}: {felt:,} acts felt, recall {percent(_share(right, felt))}, found "
        f"{percent(_share(found, felt))}; control: {percent(one.control.false_share)} of "
        f"{one.control.n_tail:,} late packets have a false verdict"
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def print_paths(console: Console, results: PathResults) -> None:
    """Print what became of the acts on each path, and what was told where none was made."""
    if results.found:
        _print_acts(results.found, console)
        _print_controls(results.found, console)
    for one in results.found:
        for act in one.acts:
            for line in _remarks(act):
                told = f"{one.path.name}, {act.cause}: {line}"
                print_paragraph(console, told, hanging=INDENT)
        for name, why in one.failed.items():
            told = f"{one.path.name}, {name}: not made: {why}"
            print_paragraph(console, told, hanging=INDENT)
    for line in _EXPLAINED if results.found else ():
        print_paragraph(console, line)
    for name, why in results.skipped.items():
        print_paragraph(console, f"{name}: skipped: {why}", hanging=INDENT)


def _remarks(act: Confusion) -> list[str]:
    lines = [f"{n:,} missed: {why}" for why, n in act.why_missed.items()]
    if act.beside:
        told = ", ".join(f"{name} {n:,}" for name, n in act.beside.items())
        lines.append(f"larger beside it: {told}")
    return lines


def _print_acts(found: Sequence[PathResult], console: Console) -> None:
    of_acts = ("acts", "felt", "right", "beside", "missed", "recall", "found")
    titles = (*of_acts, "said", "none", "precision")
    rows = [
        (
            f"{one.path.name}, {act.cause}",
            f"{act.n_acts:,}",
            f"{act.n_felt:,}",
            f"{act.n_right:,}",
            f"{act.n_beside:,}",
            f"{sum(act.why_missed.values()):,}",
            percent(act.recall),
            percent(act.found),
            f"{act.n_said:,}",
            f"{act.n_unexplained:,}",
            percent(act.precision),
        )
        for one in found
        for act in one.acts
    ]
    print_columns(console, [labels("path, act"), *map(numbers, titles)], rows)


def _print_controls(found: Sequence[PathResult], console: Console) -> None:
    titles = ("late above", "tail", "said", "false", "of the tail")
    rows = [
        (
            one.path.name,
            format_ns(one.late_ns),
            f"{one.control.n_tail:,}",
            f"{one.control.n_said:,}",
            f"{sum(one.control.false.values()):,}",
            percent(one.control.false_share),
        )
        for one in found
    ]
    print_columns(console, [labels("control of"), *map(numbers, titles)], rows)


_EXPLAINED = (
    "An act on a path is felt if it made a packet late: above 99 % of the control's, by a quarter "
    "of the act's length or more, half of that inside the act; one on the generator also if its "
    "log has the gap. right: most of these packets have its verdict; beside: a gap at the act has "
    "a share of it, and most packets another verdict; missed: neither. said: late packets with "
    "the verdict from the first act to the last; none: at no act, and nothing says whose. A false "
    "one may be at an act by chance, as often as acts take of the time: up to a third.",
    "control: nothing is done for two seconds. tail: its packets above p99.9; said: with the "
    "verdict of any act of the path; false: of those, nothing recorded names somebody else.",
)


def path_documents(results: PathResults) -> tuple[PathDocument, ...]:
    """Give the form of the self-test's document."""
    return tuple(
        PathDocument(
            path=one.path.name,
            late_ns=one.late_ns,
            control=ControlOfPath(
                one.control.n_tail, one.control.n_said, one.control.false, one.control.false_share
            ),
            acts=tuple(as_document(act, None) for act in one.acts),
            not_made=one.failed,
        )
        for one in results.found
    )
