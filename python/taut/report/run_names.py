"""How runs and trials are called where several runs are in one report."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from string import ascii_uppercase

from taut.analysis.pairing import AnalysedRun
from taut.analysis.trial_names import headings

Runs = Sequence[AnalysedRun]


def letters(runs: Runs) -> list[str]:
    """Name each run by a letter, as room is little where it stands beside every device."""
    if len(runs) > len(ascii_uppercase):
        return [str(number) for number in range(1, len(runs) + 1)]
    return list(ascii_uppercase[: len(runs)])


def run_names(runs: Runs) -> list[str]:
    """Name each run by its folder, with those above as far as two are called alike."""
    paths = [run.path.resolve() for run, _ in runs]
    deepest = max((len(path.parts) for path in paths), default=0)
    names = [path.name for path in paths]
    for depth in range(2, deepest + 1):
        n_alike = Counter(names)
        names = [
            name if n_alike[name] == 1 else str(Path(*path.parts[-depth:]))
            for name, path in zip(names, paths, strict=True)
        ]
    return names


def trial_names(runs: Runs, names: Sequence[str]) -> list[dict[str, str]]:
    """Name the trials of each run by their folders; with the run's name where there are several."""
    return [
        {
            folder: f"{words} ({name})" if len(runs) > 1 else words
            for folder, words in headings(analysis.trials).items()
        }
        for (_, analysis), name in zip(runs, names, strict=True)
    ]
