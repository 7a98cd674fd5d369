"""The loop over a made bench: what is drawn decides what is claimed and what is kept."""

import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from math import ceil
from typing import Any

import pytest

from drawn_bench import ALL, HOG, TIMER, MadeBench, candidate, decisions, trimmed
from taut.host.state import HostState
from taut.trim.bench import Repetition
from taut.trim.candidates import NO_CAUSE
from taut.trim.decision import Decision, Verdict
from taut.trim.document import sentence
from taut.trim.trim import Request, Trimmed, trim


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
    assert set(decisions(found).values()) == {Decision.KEPT_UNCONFIRMED}
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


def test_a_single_slow_repetition_does_not_stand_for_all_to_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])

    class Timed(MadeBench):
        def measure(self, states: Sequence[HostState], repetitions: range) -> list[Repetition]:
            is_first_of_parts = len(states) == 3 and len(self.measured[-1]) == 2
            now_s[0] += 90 if is_first_of_parts else 10 * len(states)
            return super().measure(states, repetitions)

    # Seven times as found and trimmed, eight times without a group each: 440 s; 320 are left.
    bench = Timed((HOG, TIMER), {("R24-now",): 0.1})
    made = Trimmed(candidates=[HOG, TIMER])
    found = trim(bench, Request(budget_s=760), made, 0.0, lambda _: None)

    assert found.confirmed is not None
    assert found.kept == ["R24-now"]


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
