"""A watch's figures, order and words; acceptance/test_trim_pid.py traces for real."""

from types import SimpleNamespace
from typing import cast

import pytest

from taut.explain.tell.result import Explanation, GapTotal
from taut.host.state import HostState
from taut.records.documents.trial import InForce
from taut.trim import stalls
from taut.trim.stalls import (
    LEAST_NS,
    StallsBench,
    Window,
    causes_of,
    compared_causes,
    figures_of,
    in_order,
    seconds_of,
)
from taut.trim.watched import Watch

A, B, C = HostState("as found"), HostState("trimmed"), HostState("kept")
GONE = InForce(n_changes=2, n_in_force=1, lost=("vm.stat_interval",))


def explained(**ns: int) -> Explanation:
    totals = [GapTotal("kernel", name.replace("_", "-"), 1, n, n, {}) for name, n in ns.items()]
    return cast(Explanation, SimpleNamespace(gap_totals=totals))


def window(state: str, repetition: int = 2, **causes: float) -> Window:
    figures = {"core 1": sum(causes.values()) or LEAST_NS}
    return Window(state, repetition, "", 10**9, figures, causes, [], {}, {})


def test_a_figure_is_per_second_of_watching() -> None:
    found = figures_of({1: explained(preemption=40_000, timer=10_000)}, 500_000_000)

    assert found == {"core 1": 100_000.0}


def test_a_core_that_was_never_taken_has_the_least_figure() -> None:
    assert figures_of({1: explained()}, 10**9) == {"core 1": LEAST_NS}


def test_a_core_whose_events_were_lost_has_none() -> None:
    lost = explained(preemption=40_000, trace_lost=10)

    assert figures_of({1: lost, 2: explained(timer=5_000)}, 10**9) == {"core 2": 5_000.0}


def test_causes_are_of_all_threads_together() -> None:
    found = causes_of({1: explained(timer=10), 2: explained(timer=20, softirq=5)}, 500_000_000)

    assert found == {"timer": 60.0, "softirq": 10.0}


@pytest.mark.parametrize("seed", range(5))
def test_every_second_repetition_goes_backwards(seed: int) -> None:
    states = [A, B, C]
    for first in (1, 3, 5):
        forwards, backwards = (in_order(states, number, seed) for number in (first, first + 1))
        assert backwards == forwards[::-1]
        assert sorted(forwards, key=lambda s: s.name) == sorted(states, key=lambda s: s.name)


def test_the_same_seed_gives_the_same_order_and_another_another() -> None:
    def orders(seed: int) -> list[list[HostState]]:
        return [in_order([A, B], number, seed) for number in range(1, 40, 2)]

    assert orders(1) == orders(1)
    assert orders(1) != orders(2)
    assert {tuple(state.name for state in order) for order in orders(1)} == {
        ("as found", "trimmed"),
        ("trimmed", "as found"),
    }


def test_causes_stand_side_by_side_without_the_scouting() -> None:
    windows = [
        window("as found", 1, softirq=9e9),
        window("as found", preemption=900.0, timer=100.0),
        window("as found", 3, preemption=700.0, timer=300.0),
        window("trimmed", timer=50.0),
    ]

    rows = compared_causes(windows, "as found", "trimmed")

    assert [row.cause for row in rows] == ["preemption", "timer"]
    assert (rows[0].before, rows[0].after) == (0.8, 0.0)
    assert (rows[1].stolen_ns_before, rows[1].stolen_ns_after) == (200.0, 50.0)


def test_causes_of_one_state_alone_are_not_compared() -> None:
    assert compared_causes([window("as found", timer=1.0)], "as found", "trimmed") == []


def test_the_guess_grows_with_states_and_windows() -> None:
    assert seconds_of(10**9, 1) < seconds_of(10**9, 2) < seconds_of(2 * 10**9, 2)


def test_a_window_is_told_whole() -> None:
    told = window("trimmed", timer=1.0).document()

    assert told.host == "trimmed"
    assert told.failure is None
    assert told.stalled_ns_per_s == {"core 1": 1.0}


def test_a_pair_of_windows_without_a_figure_is_not_told_of_packets() -> None:
    bench = StallsBench(cast(Watch, SimpleNamespace()), 10**9, seed=1)

    assert bench.unusable.startswith("in one state a core has no figure, for events were lost")


@pytest.mark.parametrize(
    ("before", "after"), [(GONE, InForce()), (InForce(), GONE)], ids=["before", "meanwhile"]
)
def test_a_window_in_which_its_state_was_gone_has_no_figure(
    monkeypatch: pytest.MonkeyPatch, before: InForce, after: InForce
) -> None:
    in_force = iter([before, after, *[InForce()] * 4])
    states = SimpleNamespace(
        enter=lambda state: SimpleNamespace(of=lambda *_: []),
        read_in_force=lambda: next(in_force),
    )
    process = SimpleNamespace(threads={1: 100}, check=lambda host: None)
    watch = SimpleNamespace(process=process, states=states, host=None, environment={}, scratch=None)
    given: list[object] = []

    def explain(*arguments: object) -> list[Explanation]:
        given.append(arguments[-1])
        return [explained(timer=5_000)]

    monkeypatch.setattr(stalls, "explain_window", explain)
    bench = StallsBench(cast(Watch, watch), 10**9, seed=1)

    spoilt, whole = bench.measure([B], range(2, 4))
    bench.measure([B], range(4, 5))

    assert (spoilt.figures, whole.figures) == ({}, {"trimmed": {"core 1": 5_000.0}})
    # How its threads work is decided once.
    assert given[-1] is given[-2]
    assert given[-1] == {}
    first, second, _ = bench.windows
    assert (first.figures, first.causes) == ({}, {})
    assert first.failure == "not in force any more: vm.stat_interval"
    assert (second.causes, second.failure) == ({"timer": 5_000.0}, "")
