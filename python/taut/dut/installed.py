"""Programs of other projects: where they are, which version, and whether that is new enough."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_ASKING_S = 20.0


@dataclass(frozen=True)
class Program:
    """How a program is found, and what it says of its version."""

    name: str
    """What messages call it."""
    places: tuple[str, ...]
    """Names that PATH is searched for, or whole paths; the first that says its version counts."""
    pattern: str
    """A regular expression in what it says; its groups are what the manifest has."""
    least: tuple[int, ...]
    """The first group, a version, is this at least."""
    remedy: str
    ask: str = "--version"


@dataclass(frozen=True)
class Found:
    """A program of this machine."""

    path: str
    versions: tuple[str, ...]


def find(program: Program) -> Found | None:
    """Give the program of this machine, of whatever version; None: there is none."""
    return _find(program, os.environ.get("PATH", ""))


def missing(program: Program) -> str | None:
    """Say that a program is missing or too old, and the remedy; None: it will do."""
    found = find(program)
    if found is None:
        return f"{program.name}: program not found; {program.remedy}"
    if _numbers(found.versions[0]) < program.least:
        least = ".".join(map(str, program.least))
        return (
            f"{program.name}: {found.path} is version {found.versions[0]}, {least} or newer wanted;"
            f" {program.remedy}"
        )
    return None


@cache
def _find(program: Program, path: str) -> Found | None:
    for place in program.places:
        where = shutil.which(place, path=path)
        versions = None if where is None else _versions(where, program)
        if where is not None and versions is not None:
            return Found(where, versions)
    return None


def _versions(where: str, program: Program) -> tuple[str, ...] | None:
    """Ask a program; None: it does not say, as one that is built without a part."""
    match = re.search(program.pattern, said_by(where, program.ask))
    return match.groups() if match is not None else None


def said_by(*argv: str | Path) -> str:
    """Run a program and give all that it says; nothing: it does not run, or does not end."""
    try:
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=_ASKING_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))
