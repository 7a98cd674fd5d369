"""A trim on the terminal: the sentence, the tail before and after, what became of each remedy."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from taut.analysis.load import share_words
from taut.analysis.paired import factor, interval_words
from taut.explain.causes import title_of
from taut.records.documents.trim import RemedyOfTrim, TrimDocument
from taut.records.rundir import AS_FOUND, TRIMMED
from taut.report import cells
from taut.report.columns import numbers, print_columns, words
from taut.report.paragraph import INDENT, print_paragraph, print_whole
from taut.report.trim import last_lines, median_rows, over_of

_ABOUT = "Medians of the {of} in each state; the sentence above is about their pairs."
_STYLES = {"helps": "bold green", "harms": "bold red"}


def print_trim(document: TrimDocument, console: Console, report: Path, *, is_dry: bool) -> None:
    """Print what a trim found; the last line is the path of the report, or of trim.json."""
    if is_dry:
        _print_causes(document, console)
        print_candidates(document.remedies, console)
        print_paragraph(console, "Nothing was changed (--dry-run).")
    else:
        style = _STYLES.get(document.verdict, "bold")
        print_paragraph(console, document.sentence, style=style)
        if document.cells:
            console.print()
            _print_cells(document, console)
            measured = "windows" if document.is_by_stalls else "runs"
            print_paragraph(console, _ABOUT.format(of=measured), style="dim")
        _print_causes(document, console)
        _print_decisions(document.remedies, console)
        for note in document.notes:
            print_paragraph(console, note)
        for line in last_lines(document):
            print_paragraph(console, line)
    print_whole(console, f"{'All windows' if document.is_by_stalls else 'Report'}: {report}")


def print_candidates(candidates: Sequence[RemedyOfTrim], console: Console) -> None:
    """Print what could help: by cause, each with its price."""
    if not candidates:
        none = "No remedy to try: the audit has nothing that taut could change."
        print_paragraph(console, none)
        return
    console.print()
    print_paragraph(console, "What could help, and what it costs", style="italic")
    for candidate in candidates:
        title = title_of(candidate.cause)
        asked = f"helps against: {title}" if candidate.cause else "the audit asks"
        _print_remedy(console, candidate, f"{candidate.when}; {asked}")


def _print_cells(document: TrimDocument, console: Console) -> None:
    titles = (AS_FOUND, TRIMMED, "trimmed / as found")
    columns = [words(document.target), *map(numbers, titles)]
    print_columns(console, columns, list(median_rows(document)))


def _print_causes(document: TrimDocument, console: Console) -> None:
    shown = [c for c in document.causes if max(c.before, c.after or 0) >= 0.01]
    if not shown:
        none = "The tail has no cause taut could name: not traced, or too short."
        if document.is_by_stalls:
            none = "The kernel saw nothing that took a core of the process."
        console.print()
        print_paragraph(console, none)
        return
    console.print()
    n_states = 1 + any(c.after is not None for c in shown)
    title = f"why packets were late (share of those above {over_of(document)})"
    if document.is_by_stalls:
        title = "what took its cores (share of the time taken)"
    rows = []
    for cause in shown:
        shares = [cause.before, cause.after][:n_states]
        told = [cells.NOTHING if share is None else share_words(share) for share in shares]
        rows.append([cause.title, *told])
    columns = [words(title), *map(numbers, (AS_FOUND, TRIMMED)[:n_states])]
    print_columns(console, columns, rows)


def _print_decisions(remedies: Sequence[RemedyOfTrim], console: Console) -> None:
    by_decision: dict[str, list[RemedyOfTrim]] = {}
    for remedy in remedies:
        by_decision.setdefault(str(remedy.decision), []).append(remedy)
    for decision, members in by_decision.items():
        console.print()
        print_paragraph(console, f"{decision[0].upper()}{decision[1:]}", style="italic")
        for remedy in members:
            _print_remedy(console, remedy, _measured(remedy))


def _measured(remedy: RemedyOfTrim) -> str:
    without = remedy.without_it
    if without is None:
        return ""
    if without.losses is not None:
        return f"without its group not shown: {without.losses}"
    return (
        f"without its group {factor(without.ratio)} times as long "
        f"({interval_words(without.low, without.high)})"
    )


def _print_remedy(console: Console, remedy: RemedyOfTrim, about: str) -> None:
    head = f"{remedy.remedy}  {remedy.summary}"
    print_paragraph(console, head, "", INDENT, style="bold")
    told = (("cost", remedy.cost), ("risk", remedy.risk))
    lines = [about, *(f"{name}: {text}" for name, text in told if text)]
    if remedy.when != "now":
        lines += remedy.lines
    for text in filter(None, lines):
        print_paragraph(console, text, INDENT, 2 * INDENT, style="dim")
