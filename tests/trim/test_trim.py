"""The loop over a made bench: what is drawn decides what is claimed and what is kept."""

import random
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, exp, inf
from typing import Any

import pytest

from taut.host.plan import Plan
from taut.host.state import FOUND, HostState
from taut.records.documents.trim import PairedRatio
from taut.trim.bench import Figures, Repetition, losses_of
from taut.trim.candidates import NO_CAUSE, Candidate, CauseFound, When
from taut.trim.decision import Decision, Verdict, decide
from taut.trim.document import sentence
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


def test_nothing_that_does_anything_is_no_effect_shown() -> None:
    found, bench = trimmed({})

    assert found.verdict is Verdict.NOT_SHOWN
    assert found.kept == []
    assert set(decisions(found).values()) == {Decision.PUT_BACK}
    # All three looks, and then no group is left out.
    assert len(bench.measured) == 16


@pytest.mark.parametrize("seed", range(20))
def test_the_group_that_carries_the_effect_is_named(seed: int) -> None:
    found, _ = trimmed({("R24-now",): 0.1}, seed=seed)

    assert found.verdict is Verdict.HELPS
    assert decisions(found)["R24-now"] is Decision.KEPT_SHOWN
    assert found.kept == ["R24-now"]
    assert found.confirmed is not None


def test_what_costs_nothing_stays_beside_what_helps() -> None:
    free = candidate("R06-now", NO_CAUSE, cost="")

    found, _ = trimmed({("R24-now",): 0.1}, (HOG, TIMER, free))

    assert decisions(found)["R06-now"] is Decision.KEPT_FREE
    assert found.kept == ["R24-now", "R06-now"]


def test_what_makes_it_longer_is_put_back() -> None:
    found, bench = trimmed({("R24-now",): 4.0})

    assert found.verdict is Verdict.HARMS
    assert found.kept == []
    assert set(decisions(found).values()) == {Decision.HARMED_ALL}
    assert len(bench.measured) == 7


def test_a_group_that_harms_beside_one_that_helps_is_put_back() -> None:
    found, _ = trimmed({("R24-now",): 0.1, ("R07-now",): 2.0})

    assert found.verdict is Verdict.HELPS
    assert decisions(found)["R07-now"] is Decision.HARMED
    assert found.kept == ["R24-now"]


def test_two_groups_that_do_the_same_are_both_kept() -> None:
    found, _ = trimmed({("R24-now", "R07-now"): 0.1}, (HOG, TIMER))

    # Leaving out either shows nothing; leaving out both was never tried, so nothing is put back.
    assert found.verdict is Verdict.HELPS
    assert set(found.kept) == {"R24-now", "R07-now"}
    assert any("all are kept" in note for note in found.notes)


def test_two_groups_that_do_the_same_stay_beside_one_that_helps_by_itself() -> None:
    found, _ = trimmed({("R24-now", "R07-now"): 0.1, ("R06-now",): 0.5})

    # What is left without both helps too, but is shown to be worse than all together.
    assert decisions(found)["R06-now"] is Decision.KEPT_SHOWN
    assert set(found.kept) == {"R24-now", "R07-now", "R06-now"}
    assert any("all are kept" in note for note in found.notes)


def test_what_makes_it_longer_stays_out_where_what_showed_nothing_is_kept() -> None:
    found, _ = trimmed({("R24-now", "R07-now"): 0.1, ("R06-now",): 2.0})

    assert decisions(found)["R06-now"] is Decision.HARMED
    assert found.kept == ["R24-now", "R07-now"]
    assert not any("all are kept" in note for note in found.notes)
    assert any("those that made the figure worse are put back" in note for note in found.notes)


def test_what_is_left_without_what_makes_it_longer_may_not_help_by_itself() -> None:
    class NothingByItself(MadeBench):
        def _in_force(self, state: HostState) -> set[str]:
            return super()._in_force(state) if state.only is None else set()

    bench = NothingByItself((HOG, TIMER), {("R24-now",): 0.1, ("R07-now",): 2.0})
    made = Trimmed(candidates=[HOG, TIMER])
    found = trim(bench, Request(), made, time.monotonic(), lambda _: None)

    assert found.kept == ["R24-now"]
    assert found.notes == [
        "What is left without the remedies that made the figure worse was not shown to help by "
        "itself."
    ]


class Losing(MadeBench):
    """Loses packets in some states, by name, as an overloaded device does."""

    lost: Mapping[str, float]

    def measure(self, states: Sequence[HostState], repetitions: range) -> list[Repetition]:
        gone = {s.name: {"cell": self.lost.get(s.name, 0.0)} for s in states}
        return [
            replace(one, gone=gone, figures=self._figures(one.figures))
            for one in super().measure(states, repetitions)
        ]

    def _figures(self, figures: Mapping[str, Figures]) -> Mapping[str, Figures]:
        """Of p99.9: it is a lost packet where more are lost than lie above it."""
        lost = {"cell": inf}
        return {s: lost if self.lost.get(s, 0.0) > 0.001 else of for s, of in figures.items()}


def losing(lost: Mapping[str, float], factors: Mapping[tuple[str, ...], float]) -> Trimmed:
    bench = Losing(ALL, factors)
    bench.lost = lost
    found = Trimmed(candidates=list(ALL))
    return trim(bench, Request(), found, time.monotonic(), lambda _: None)


@pytest.mark.parametrize(("lost", "factor"), [({"trimmed": 0.05}, 0.1), ({"as found": 0.33}, 4.0)])
def test_a_state_that_loses_other_packets_neither_helps_nor_harms(
    lost: Mapping[str, float], factor: float
) -> None:
    found = losing(lost, {("R24-now",): factor})

    assert (found.verdict, found.kept) == (Verdict.NOT_SHOWN, [])
    share = {state: f"{100 * lost.get(state, 0.0):.3g} %" for state in ("as found", "trimmed")}
    said = (
        f"cell: lost or not sent {share['as found']} as found, {share['trimmed']} trimmed (medians)"
    )
    assert said in sentence(found, "p99.9")
    [note] = found.notes
    assert note == f"{said}: what is lost has no latency, so nothing is claimed of these two."


def test_one_trial_that_loses_a_quarter_in_a_stall_of_the_machine_is_no_state_that_loses() -> None:
    calm = {"as found": {"cell": 2.0}, "trimmed": {"cell": 1.0}}
    none = {state: {"cell": 0.0} for state in calm}
    once = Repetition(5, calm | {"trimmed": {"cell": inf}}, gone=none | {"trimmed": {"cell": 0.24}})
    others = [Repetition(n, calm, gone=none) for n in range(4)]

    assert losses_of([once, *others], "as found", "trimmed") is None
    assert losses_of([once], "as found", "trimmed") is not None


def test_void_packets_that_are_lost_make_a_ratio_of_all_packets_no_size() -> None:
    class LosingVoid(MadeBench):
        def measure(self, states: Sequence[HostState], repetitions: range) -> list[Repetition]:
            [one] = super().measure(states, repetitions)
            void = {s.name: 0.004 * (s.name == "trimmed") for s in states}
            figures = {s: {"cell": inf} if void[s] else of for s, of in one.figures.items()}
            gone = {state: {"cell": share} for state, share in void.items()}
            return [replace(one, with_void=figures, gone_with_void=gone)]

    bench = LosingVoid((HOG,), {("R24-now",): 0.1})
    found = trim(bench, Request(), Trimmed(candidates=[HOG]), time.monotonic(), lambda _: None)

    assert found.verdict is Verdict.HELPS
    assert found.whole is not None
    assert found.whole.with_void is not None
    assert found.whole.losses is None
    said = "cell: lost or not sent 0 % as found, 0.4 % trimmed (medians)"
    assert found.whole.with_void.losses == said


def test_losses_of_less_than_the_tail_are_no_reason_to_claim_nothing() -> None:
    found = losing({"as found": 0.0001, "trimmed": 0.0009}, {("R24-now",): 0.1})

    assert found.verdict is Verdict.HELPS


def test_a_group_without_which_other_packets_are_lost_is_kept() -> None:
    found = losing({"without timer": 0.05}, {("R24-now",): 0.1, ("R07-now",): 2.0})

    assert decisions(found)["R07-now"] is Decision.KEPT_LOSSES
    [ratio] = [d.ratio for d in found.decided if d.candidate is TIMER]
    assert ratio is not None
    assert ratio == found.groups["timer"].effect
    assert ratio.losses == "cell: lost or not sent 0 % trimmed, 5 % without timer (medians)"
    assert any("0 % trimmed, 5 % without timer (medians)" in note for note in found.notes)


@pytest.mark.parametrize(
    ("lost_in", "high", "decision"),
    [
        (("without timer",), 2.0, Decision.KEPT_LOSSES),
        (("trimmed",), 0.5, Decision.HARMED_LOSSES),
        (("trimmed",), 2.0, Decision.KEPT_UNTOLD),
        (("trimmed", "without timer"), 0.5, Decision.KEPT_UNTOLD),
    ],
)
def test_of_losses_the_state_that_has_them_decides(
    lost_in: tuple[str, ...], high: float, decision: Decision
) -> None:
    ratio = PairedRatio(7, 0.2, 0.1, high, 0.98, 0.016, "cell: lost or not sent", lost_in)

    [decided] = decide([TIMER], Verdict.HELPS, {"timer": ratio})

    assert decided.decision is decision


def test_a_group_without_which_alone_nothing_is_lost_is_put_back() -> None:
    class LosingInParts(Losing):
        def measure(self, states: Sequence[HostState], repetitions: range) -> list[Repetition]:
            names = [state.name for state in states]
            is_parts = "without timer" in names
            self.lost = {n: 0.05 * (is_parts and n != "without timer") for n in names}
            return super().measure(states, repetitions)

    bench = LosingInParts(ALL, {("R24-now",): 0.1})
    found = trim(bench, Request(), Trimmed(candidates=list(ALL)), time.monotonic(), lambda _: None)

    assert decisions(found)["R07-now"] is Decision.HARMED_LOSSES
    assert decisions(found)["R24-now"] is Decision.KEPT_UNTOLD
    assert found.kept == ["R24-now", "R06-now"]


def test_what_is_left_and_loses_more_than_the_whole_is_not_kept_alone() -> None:
    found = losing({"as found": 0.0008, "kept": 0.0015}, {("R24-now",): 0.1})

    assert found.kept == ["R24-now", "R07-now", "R06-now"]
    assert any("was not shown to help by itself" in note for note in found.notes)


def test_a_state_in_which_one_of_two_devices_has_no_figure_is_not_judged_by_the_other() -> None:
    class Vanishing(MadeBench):
        def measure(self, states: Sequence[HostState], repetitions: range) -> list[Repetition]:
            [one] = super().measure(states, repetitions)
            figures = {state: {**of, "other": 1e6} for state, of in one.figures.items()}
            del figures["trimmed"]["other"]
            return [replace(one, figures=figures)]

    bench = Vanishing(ALL, {("R24-now",): 0.1})
    found = trim(bench, Request(), Trimmed(candidates=list(ALL)), time.monotonic(), lambda _: None)

    assert (found.verdict, found.kept) == (Verdict.NOT_SHOWN, [])
    assert (
        "of 16 pairs of runs 0 are usable; of the others in one state nothing was made."
        in sentence(found, "p99")
    )


def test_pairs_that_do_not_count_are_told() -> None:
    class Failing(MadeBench):
        def measure(self, states: Sequence[HostState], repetitions: range) -> list[Repetition]:
            [one] = super().measure(states, repetitions)
            return [replace(one, figures={}) if one.number == 2 else one]

    bench = Failing((HOG,), {("R24-now",): 0.1})
    found = trim(bench, Request(), Trimmed(candidates=[HOG]), time.monotonic(), lambda _: None)

    assert found.verdict is Verdict.HELPS
    [note] = found.notes
    assert note.startswith(
        "1 of 10 pairs of as found and trimmed do not count: in one state nothing was made."
    )


def test_without_time_to_leave_groups_out_the_whole_is_kept() -> None:
    class Slow(MadeBench):
        def seconds(self, n_states: int) -> float:
            return 1e6 if n_states > 2 else 0.0

    bench = Slow(ALL, {("R24-now",): 0.1})
    found = trim(bench, Request(), Trimmed(candidates=list(ALL)), time.monotonic(), lambda _: None)

    assert found.verdict is Verdict.HELPS
    assert set(decisions(found).values()) == {Decision.KEPT_WHOLE}
    [note] = found.notes
    assert note.startswith("The budget ended before 3 groups of remedies could be left out")
    # Nine pairs of four states, then seven of three: as long as they are guessed to take.
    assert note.endswith(f"About --budget {ceil((9 + 7) * 1e6 / 60)}m would do.")


def test_what_the_budget_did_not_reach_is_not_said_to_have_shown_nothing() -> None:
    class Slow(MadeBench):
        def seconds(self, n_states: int) -> float:
            return 1e6 if n_states == 3 else 0.0

    bench = Slow(ALL, {("R24-now",): 0.1})
    found = trim(bench, Request(), Trimmed(candidates=list(ALL)), time.monotonic(), lambda _: None)

    assert found.confirmed is None
    assert found.kept == ["R24-now", "R07-now", "R06-now"]
    assert any("was not measured, for the budget ended: all are kept" in n for n in found.notes)


def test_of_a_single_group_the_whole_is_its_own_proof() -> None:
    found, bench = trimmed({("R24-now",): 0.1}, (HOG,))

    assert decisions(found) == {"R24-now": Decision.KEPT_SHOWN}
    assert len(bench.measured) == 7


def test_of_several_remedies_no_more_is_said_than_was_measured() -> None:
    both = (HOG, candidate("K04-now", "preemption"))

    found, _ = trimmed({("R24-now",): 0.1}, both)
    assert set(decisions(found).values()) == {Decision.KEPT_ALL}

    found, _ = trimmed({("R24-now",): 0.1, ("R07-now",): 2.0}, (*both, TIMER))
    assert decisions(found) == {
        "R24-now": Decision.KEPT_GROUP,
        "K04-now": Decision.KEPT_GROUP,
        "R07-now": Decision.HARMED,
    }


def test_a_budget_that_ends_at_once_shows_nothing() -> None:
    found, bench = trimmed({("R24-now",): 0.1}, budget_s=0)

    assert (found.whole, found.verdict, found.kept) == (None, Verdict.NOT_SHOWN, [])
    assert bench.measured == []


def test_what_must_not_be_tried_is_in_no_state() -> None:
    seen: list[Collection[str]] = []

    class Watching(MadeBench):
        def measure(self, states: Sequence[HostState], repetitions: range) -> list[Repetition]:
            seen.extend(state.without for state in states if not state.is_as_found)
            return super().measure(states, repetitions)

    bench: Any = Watching(ALL, {("R24-now",): 0.1})
    request = Request(without=("K04-now",))
    trim(bench, request, Trimmed(candidates=list(ALL)), time.monotonic(), lambda _: None)

    of_groups = [without for without in seen if len(without) > 1]
    assert of_groups
    assert all("K04-now" in without for without in of_groups)
