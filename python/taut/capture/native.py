"""Run taut-match over a pair of captures and read what it found; docs/matching.md defines it."""

import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from taut.binaries.ended import kind_of
from taut.core.asked import check_understood
from taut.core.binaries import find_binary
from taut.core.dying import die_with
from taut.core.errors import InputError, InterruptedRun, TautError
from taut.records.documents.json_form import parse, read_json
from taut.records.documents.match import MATCH_FILE, MatchCounts, MatchReport

PROGRAM = "taut-match"
HISTOGRAMS = "histograms.bin"
HEADS = "ingress_heads.bin"

DEFAULT_WINDOW_NS = 5_000_000_000

Progress = Callable[[int, int], None]
"""Called with the bytes done of the ingress and of the egress file, decompressed."""


@dataclass(frozen=True)
class MatchOptions:
    """How a pair is matched, by the names of match.json."""

    key: str = "default"
    window_ns: int = DEFAULT_WINDOW_NS
    skip_ns: int = 0
    egress_offset_ns: int = 0
    """Subtracted from every egress time stamp."""
    egress_drift_ppb: float = 0.0
    """Nanoseconds a second, subtracted as well, counted from the first egress time stamp."""


@dataclass(frozen=True)
class Matched:
    """What taut-match wrote, read back."""

    folder: Path
    report: MatchReport = field(repr=False)

    @property
    def counts(self) -> MatchCounts:
        """Frames of each class and the like; docs/matching.md says how they add up."""
        return self.report.counts


def run_match(
    ingress: Path,
    egress: Path,
    options: MatchOptions,
    folder: Path,
    *,
    write: Sequence[str] = (),
    progress: Progress | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> Matched:
    """Match two captures; `write` names what else taut-match leaves: packets, keys, heads.

    `meanwhile` is called once, while taut-match works: for imports that take long.
    """
    argv = [
        str(find_binary(PROGRAM)),
        *("--ingress", str(ingress), "--egress", str(egress), "--out", str(folder)),
        *("--key", options.key),
        *("--window", f"{options.window_ns}ns", "--skip", f"{options.skip_ns}ns"),
        *("--egress-offset", f"{options.egress_offset_ns}ns"),
        f"--egress-drift={options.egress_drift_ppb!r}",
        *(f"--{name}" for name in write),
        *(["--progress"] if progress else []),
    ]
    status, lines = _run(argv, progress, meanwhile)
    kind = kind_of(status)
    if kind is InputError:
        raise InputError(_words_of(lines))
    if kind is InterruptedRun:
        raise InterruptedRun("interrupted; nothing was kept")
    if status != 0:
        ended = f"ended by signal {-status}" if status < 0 else _words_of(lines)
        raise TautError(f"{PROGRAM}: {ended}")
    path = folder / MATCH_FILE
    written = read_json(path)
    # A key has many texts, and match.json its own one.
    asked = {name: value for name, value in vars(options).items() if name != "key"}
    check_understood(PROGRAM, asked, written)
    return Matched(folder, parse(MatchReport, written, str(path)))


def _run(
    argv: Sequence[str], progress: Progress | None, meanwhile: Callable[[], None] | None
) -> tuple[int, list[str]]:
    """Run to the end; give exit status and the lines on standard error that are not progress."""
    said: list[str] = []
    with subprocess.Popen(
        argv,
        stdin=None,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        preexec_fn=partial(die_with, os.getpid()),
    ) as process:
        assert process.stderr is not None
        try:
            if meanwhile:
                meanwhile()
            for line in process.stderr:
                words = line.split()
                if progress and len(words) == 3 and words[0] == "progress":
                    progress(int(words[1]), int(words[2]))
                else:
                    said.append(line.strip())
        except BaseException:
            process.kill()
            raise
        return process.wait(), said


def _words_of(lines: Sequence[str]) -> str:
    text = lines[-1] if lines else "failed without a word"
    return text.removeprefix(f"{PROGRAM}: ")
