"""Why packets were late, in the terminal: who did it, then a few lines a trial."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from taut.records.documents.explanation import ExplanationDocument
from taut.report import explanation, offenders
from taut.report.columns import numbers, print_columns, words
from taut.report.explanation import Episode, Traced
from taut.report.paragraph import INDENT, print_paragraph

_MOST_NOTES = 2


def print_offenders(
    explanations: Sequence[ExplanationDocument], console: Console, *, details: bool
) -> None:
    """Print the one table over all trials."""
    columns = [words(n) if n in ("who", "remedy") else numbers(n) for n in offenders.COLUMNS]
    rows: list[list[Text]] = []
    for group in offenders.groups_of(explanations):
        rows.append([Text(group.title, "bold")])
        for row in [*group.rows, *(group.more if details else [])]:
            style = "dim italic" if row.is_guess else ""
            cells = (row.who, row.time, row.packets, row.worst, row.core, row.remedy)
            rows.append([Text(cell, style) for cell in cells])
    print_columns(console, columns, rows)
    print_paragraph(console, offenders.legend(explanations), style="dim")


def print_trial(trial: Traced, console: Console, *, details: bool) -> None:
    """Print one trial: ten lines at most, unless details are wanted."""
    console.print()
    print_paragraph(console, trial.heading, style="bold")
    if details:
        print_paragraph(console, f"folder: {trial.name}", style="dim")
    print_paragraph(console, explanation.summary(trial.explanation))
    episodes = explanation.episodes(trial.explanation)
    shown = episodes if details else episodes[: explanation.UNFOLDED]
    for episode in shown:
        print_paragraph(console, episode.line, hanging=INDENT)
        if details:
            _print_parts(episode, console)
    more = len(episodes) - len(shown)
    if more:
        words_of_more = "1 more episode" if more == 1 else f"{more} more episodes"
        print_paragraph(console, f"{words_of_more} told: --details", style="dim")
    if details:
        _print_causes(trial.explanation, console)
    print_notes(trial.explanation, console, details=details)


def print_notes(e: ExplanationDocument, console: Console, *, details: bool = True) -> None:
    """Print what weakens an explanation; all of it with details."""
    # Where there is an overload, it is why there is a tail at all.
    notes = sorted(e.notes, key=lambda note: not note.startswith("overload"))
    lines = [f"! {note}" for note in notes]
    if details:
        lines += [words for words in (explanation.calls(e), explanation.vetoed(e)) if words]
        lines += [f"not recorded: {lack.event}: {lack.costs}" for lack in e.kernel_lacks]
    elif len(lines) > _MOST_NOTES:
        lines = [
            *lines[: _MOST_NOTES - 1],
            f"! {len(lines) - _MOST_NOTES + 1} more notes: --details",
        ]
    for line in lines:
        print_paragraph(console, line, hanging="  ")


def _print_parts(episode: Episode, console: Console) -> None:
    """Where the time of an episode's stall went, and what is known of the episode."""
    for part in episode.parts:
        what = f" {part.what}" if part.what else ""
        told = f"{part.time} ({part.share}) {part.name}{what}"
        print_paragraph(console, told, INDENT, 2 * INDENT, "dim")
    for name, value in episode.facts:
        print_paragraph(console, f"{name}: {value}", INDENT, 2 * INDENT, "dim")


def _print_causes(e: ExplanationDocument, console: Console) -> None:
    first, *middle, last = explanation.COLUMNS
    print_columns(
        console,
        [words(first), *map(numbers, middle), words(last)],
        [
            [row.title, *row.numbers, ", ".join(map(str, row.checks)) or row.ask]
            for row in explanation.rows(e)
        ],
    )
    print_paragraph(console, f"{explanation.MEANING}.", hanging=INDENT, style="dim")
    for row in explanation.rows(e):
        if row.prediction:
            print_paragraph(console, f"{row.title}: {row.prediction}", hanging=INDENT)
    for grade, meaning in explanation.LEGEND:
        print_paragraph(console, f"{grade}: {meaning}", hanging=INDENT, style="dim")
