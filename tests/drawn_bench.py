"""A bench of a trim that draws its figures, and trims over it."""

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp

from taut.host.plan import Plan
from taut.host.state import FOUND, HostState
from taut.trim.bench import Repetition
from taut.trim.candidates import NO_CAUSE, Candidate, CauseFound, When
from taut.trim.decision import Decision
from taut.trim.trim import Request, Trimmed, trim

NOISE = 0.05
"""Standard deviation of the logarithm of a figure."""


def candidate(remedy: str, cause: str, *, cost: str = "something") -> Candidate:
    return Candidate(
        remedy=remedy,
        check=remedy.partition("-")[0],
        summary="",
        when=When.NOW,
        cause=cause,
        share=0.5 if cause else 0.0,
        severity="major",
        risk="",
        cost=cost,
    )


HOG = candidate("R24-now", "preemption")
TIMER = candidate("R07-now", "timer")
REST = candidate("R06-now", NO_CAUSE)
ALL = (HOG, TIMER, REST)


@dataclass
class MadeBench:
    """Draws figures. `factors`: what a set of remedies does to them while any of it is in force."""

    candidates: Sequence[Candidate]
    factors: Mapping[tuple[str, ...], float]
    seed: int = 1
    measured: list[list[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)

    @property
    def figure(self) -> str:
        return "made figure"

    @property
    def unusable(self) -> str:
        return "in one state nothing was made"

    def scout(self) -> Sequence[CauseFound]:
        return ()

    def plan(self, state: HostState) -> Plan:
        raise NotImplementedError

    def measure(self, states: Sequence[HostState], repetitions: range) -> list[Repetition]:
        self.measured += [[state.name for state in states] for _ in repetitions]
        return [
            Repetition(n, {s.name: {"cell": self._draw(s)} for s in states}) for n in repetitions
        ]

    def seconds(self, n_states: int) -> float:
        return 0.001 * n_states

    def _draw(self, state: HostState) -> float:
        value = 1e6 * exp(self._rng.gauss(0, NOISE))
        for remedies, factor in self.factors.items():
            value *= factor if set(remedies) & self._in_force(state) else 1
        return value

    def _in_force(self, state: HostState) -> set[str]:
        if state == FOUND:
            return set()
        chosen = {c.remedy for c in self.candidates} if state.only is None else set(state.only)
        return chosen - set(state.without)


def trimmed(
    factors: Mapping[tuple[str, ...], float],
    candidates: Sequence[Candidate] = ALL,
    *,
    budget_s: float = 600.0,
    seed: int = 1,
) -> tuple[Trimmed, MadeBench]:
    bench = MadeBench(candidates, factors, seed)
    found = Trimmed(candidates=list(candidates))
    request = Request(budget_s=budget_s)
    return trim(bench, request, found, time.monotonic(), lambda _: None), bench


def decisions(found: Trimmed) -> dict[str, Decision]:
    return {d.candidate.remedy: d.decision for d in found.decided}
