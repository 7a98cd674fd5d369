"""Count how often `taut trend` shows a step where none is, and how soon it finds one that is there.

Series of 30 runs that differ by 2 % are made in three ways; recorded ones (tests/data) are drawn
anew: a run is ten repetitions in a row, its median the run's.

    bench/trend_steps.py    the tables of docs/measuring.md
"""

import argparse
import json
from collections.abc import Callable, Iterator
from math import exp, log
from pathlib import Path

import numpy as np
import numpy.typing as npt

from taut.analysis.jumps import csit_groups
from taut.analysis.steps import LEAST_RUNS, find_steps

Floats = npt.NDArray[np.float64]

DATA = Path(__file__).parent.parent / "tests" / "data"
FILES = {"busy": "unchanged_runs.json", "alone": "unchanged_runs_alone.json"}
FIGURE = "p50_without_void_ns"

N_RUNS = 30
SIGMA = 0.02
A_RUN = 10
"""Recorded repetitions that are a run."""


def independent(random: np.random.Generator, n: int) -> Floats:
    """Logarithms of medians that are normal."""
    return random.normal(0, SIGMA, n)


def with_spikes(random: np.random.Generator, n: int) -> Floats:
    """The same; one in ten is longer by a Pareto number (shape 1.5)."""
    found = random.normal(0, SIGMA, n)
    return found + np.where(random.random(n) < 0.1, np.log1p(random.pareto(1.5, n)), 0)


def correlated(random: np.random.Generator, n: int) -> Floats:
    """Normal ones that have half of the run before in them."""
    found = random.normal(0, SIGMA, n)
    for at in range(1, n):
        found[at] = 0.5 * found[at - 1] + np.sqrt(0.75) * found[at]
    return found


MADE: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "independent, normal": independent,
    "with Pareto spikes, one run in ten": with_spikes,
    "correlated with the run before by 0.5": correlated,
}


def read_recorded() -> dict[str, list[int]]:
    """Read the medians of what was measured again and again, in ns, by device and machine."""
    return {
        f"{name}, {machine}": figures[FIGURE]
        for machine, file in FILES.items()
        for name, figures in json.loads((DATA / file).read_text()).items()
    }


def drawn(values: list[int], random: np.random.Generator) -> Floats:
    """Draw the runs of a series from recorded repetitions: logarithms of their medians."""
    starts = random.integers(0, len(values) - A_RUN + 1, N_RUNS)
    return np.log([np.median(values[at : at + A_RUN]) for at in starts])


def shows(series: Floats) -> tuple[bool, bool]:
    """Whether a step is shown, and whether a confirmed one is."""
    found = find_steps(series.tolist())
    return bool(found), any(step.is_confirmed for step in found)


def is_ever_confirmed(series: Floats) -> bool:
    """Whether who looks after each run sees a confirmed step once."""
    return any(shows(series[:n])[1] for n in range(LEAST_RUNS, len(series) + 1))


def is_found(series: Floats, at: int, by: float, n_after: int) -> bool:
    """Whether a step is found with so many runs after it."""
    series = series[: at + n_after].copy()
    series[at:] += by
    return any(step.at == at for step in find_steps(series.tolist()))


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _head(*names: str) -> Iterator[str]:
    yield _line(*names)
    yield "|" + "---|" * len(names)


def _percent(hits: list[bool]) -> str:
    return f"{100 * np.mean(hits):.1f} %"


def of_no_step(n: int) -> Iterator[str]:
    """Give the table of made series in which nothing changed."""
    yield from _head(
        *("runs that are", "a step shown where none is", "of these confirmed"),
        *("confirmed at any time in 30 looks", "jumpavg shows one"),
    )
    for name, make in MADE.items():
        random = np.random.default_rng(1)
        series = [make(random, N_RUNS) for _ in range(n)]
        seen = [shows(one) for one in series]
        ever = [is_ever_confirmed(one) for one in series[: n // 4]]
        csit = [len(csit_groups([1000 * exp(x) for x in one])) > 1 for one in series]
        shares = ([one for one, _ in seen], [two for _, two in seen], ever, csit)
        yield _line(name, *map(_percent, shares))


def of_steps(n: int) -> Iterator[str]:
    """Give the table of steps in independent, normal series, by runs before and after."""
    sizes = (("20 %", log(1.2)), ("3 sigma", 3 * SIGMA), ("2 sigma", 2 * SIGMA))
    yield from _head("step", "runs before", "found by the second run after it", "third", "fourth")
    for name, by in sizes:
        for at in (27, 10, 6, 5):
            random = np.random.default_rng(2)
            series = [independent(random, N_RUNS + 4) for _ in range(n)]
            found = [
                _percent([is_found(one, at, by, after) for one in series]) for after in (2, 3, 4)
            ]
            yield _line(name, str(at), *found)


def of_recorded(n: int) -> Iterator[str]:
    """Give the table of recorded repetitions, drawn anew."""
    yield from _head(
        *("recorded", "medians: least, median, greatest"),
        *("a step shown where none is", "20 % more found by the third run"),
    )
    for name, values in read_recorded().items():
        random = np.random.default_rng(30)
        series = [drawn(values, random) for _ in range(n)]
        yield _line(
            name,
            f"{min(values):,}, {np.median(values):,.0f}, {max(values):,} ns",
            _percent([shows(one)[0] for one in series]),
            _percent([is_found(one, 27, log(1.2), 3) for one in series]),
        )


def main() -> None:
    """Print the tables of docs/measuring.md."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--series", type=int, default=400, help="of each kind")
    asked = parser.parse_args()
    for table in (of_no_step, of_steps, of_recorded):
        for line in table(asked.series):
            print(line, flush=True)
        print()


if __name__ == "__main__":
    main()
