"""What the self-test found on packet paths: lines and tables for a terminal, rows of JSON."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console

from taut.core.units import format_ns
from taut.report.columns import labels, numbers, print_columns
from taut.report.paragraph import INDENT, print_paragraph
from taut.self_test.cause_report import percent
from taut.self_test.confusion import Confusion, as_row
from taut.self_test.path_trials import PathResult


@dataclass
class PathResults:
    """Of all paths."""

    found: list[PathResult] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    """Paths that this machine has not, and why; those that failed, too."""


def path_line(of: PathResult) -> str:
    """Say of one path what matters, as soon as it is done."""
    felt = sum(act.n_felt for act in of.acts)
    found = sum(act.n_right + act.n_beside for act in of.acts)
    right = sum(act.n_right for act in of.acts)
    return (
        f"{of.path.name}: {felt:,} acts felt, recall {percent(_share(right, felt))}, found "
        f"{percent(_share(found, felt))}; control: {percent(of.control.false_share)} of "
        f"{of.control.n_tail:,} late packets have a false verdict"
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def print_paths(console: Console, results: PathResults) -> None:
    """Print what became of the acts on each path, and what was told where none was made."""
    if results.found:
        _print_acts(results.found, console)
        _print_controls(results.found, console)
    for of in results.found:
        for act in of.acts:
            for line in _remarks(act):
                told = f"{of.path.name}, {act.cause}: {line}"
                print_paragraph(console, told, hanging=INDENT)
        for name, why in of.failed.items():
            told = f"{of.path.name}, {name}: not made: {why}"
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
            f"{of.path.name}, {act.cause}",
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
        for of in found
        for act in of.acts
    ]
    print_columns(console, [labels("path, act"), *map(numbers, titles)], rows)


def _print_controls(found: Sequence[PathResult], console: Console) -> None:
    titles = ("late above", "tail", "said", "false", "of the tail")
    rows = [
        (
            of.path.name,
            format_ns(of.late_ns),
            f"{of.control.n_tail:,}",
            f"{of.control.n_said:,}",
            f"{sum(of.control.false.values()):,}",
            percent(of.control.false_share),
        )
        for of in found
    ]
    print_columns(console, [labels("control of"), *map(numbers, titles)], rows)


_EXPLAINED = (
    "An act on a path is felt if it made a packet late: above 99 % of the control's, by a quarter "
    "of the act's length or more, half of that inside the act; one on the generator also if its "
    "log has the gap. right: most of these packets have its verdict; beside: a gap at the act has "
    "a share of it, and most packets another verdict; missed: neither. said: late packets with "
    "the verdict from the first act to the last; none: at no act, and nothing says whose.",
    "control: nothing is done for three seconds. tail: its packets above p99.9; said: with the "
    "verdict of any act of the path; false: of those, nothing recorded names somebody else.",
)


def path_rows(results: PathResults) -> list[dict[str, Any]]:
    """Give the form of the self-test's document."""
    return [
        {
            "path": of.path.name,
            "late_ns": of.late_ns,
            "control": {
                "tail": of.control.n_tail,
                "said": of.control.n_said,
                "false": dict(of.control.false),
                "false_share": of.control.false_share,
            },
            "acts": [as_row(act, None) for act in of.acts],
            "not_made": dict(of.failed),
        }
        for of in results.found
    ]
