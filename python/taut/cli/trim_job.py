"""What the commands that trim share: asking on the terminal, and the notes."""

import sys

import typer
from rich.console import Console

from taut.cli.trim_words import print_candidates
from taut.core.errors import InputError
from taut.core.units import duration_words
from taut.trim.job import Job
from taut.trim.trim import Request, Trimmed


def job_for(request: Request, *, keep: bool, yes: bool, dry_run: bool) -> Job:
    """Make the job of one command; it asks where there is a terminal."""

    def ask(found: Trimmed) -> None:
        print_candidates([c.document() for c in found.candidates], Console(stderr=True))
        budget = duration_words(round(request.budget_s * 1e9))
        if not typer.confirm(f"Try these in turn, for at most {budget}?", err=True):
            raise InputError("not confirmed: nothing was changed")

    can_ask = sys.stdin.isatty()
    return Job(request, keep=keep, yes=yes, dry_run=dry_run, ask=ask if can_ask else None)
