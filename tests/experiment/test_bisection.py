"""The search over simulated devices whose capacity is known; no program runs."""

import random
from dataclasses import replace

import pytest

from taut.experiment.bisection import Counted, Found, Limits, StopSearch, describe_goal, search
from taut.experiment.goals import GoalSpec
from taut.records.documents.search import Goal

WIDE = Limits(1e3, 1e9, 60.0)
CAPACITY = 1e6
N_SEEDS = 100


def goals(**more: object) -> list[Goal]:
    return [describe_goal(GoalSpec(name=name, **more)) for name in ("ndr", "pdr")]


def hard(capacity: float = CAPACITY):
    """A device that forwards so many packets a second and not one more."""

    def measure(duration_ns: int, load_pps: float) -> Counted:
        sent = int(duration_ns / 1e9 * load_pps)
        return Counted(sent, sent, sent - min(sent, int(duration_ns / 1e9 * capacity)))

    return measure


def test_a_hard_device_gives_the_figures_of_the_library_s_own_example() -> None:
    found = search(goals(exceed=0.005), WIDE, hard())

    ndr, pdr = found.goals
    assert ndr.conditional_throughput_pps == 997497.6029392382
    assert pdr.conditional_throughput_pps == 1000000.6730730429
    assert len(found.steps) == 45
    assert (ndr.irregular, pdr.irregular, found.stopped) == (None, None, None)


def test_every_step_has_the_bounds_it_led_to() -> None:
    found = search(goals(exceed=0.005), WIDE, hard())

    last = found.steps[-1].bounds
    for goal, closing in zip(found.goals, last, strict=True):
        assert goal.lower is not None
        assert goal.upper is not None
        assert (closing.lower_pps, closing.upper_pps) == (
            goal.lower.load_pps,
            goal.upper.load_pps,
        )
    assert found.steps[0].bounds[0].lower_pps is None


@pytest.mark.parametrize("within_of", [0.0, 0.3], ids=["still", "stalled"])
def test_noisy_devices_are_found_within_the_width(within_of: float) -> None:
    """Capacities vary by 0.1 %; of the stalled ones three trials in ten lose packets for nothing.

    Half of the time at a load may be bad, so that neither moves the bounds by more than a width
    beside the noise itself.
    """
    outside = []
    for seed in range(N_SEEDS):
        rng = random.Random(seed)

        def measure(duration_ns: int, load_pps: float, rng: random.Random = rng) -> Counted:
            counted = hard(CAPACITY * rng.gauss(1, 0.001))(duration_ns, load_pps)
            is_stalled = rng.random() < within_of
            return Counted(counted.due, counted.sent, counted.lost + 100 * is_stalled)

        ndr, pdr = search(goals(), WIDE, measure).goals
        assert ndr.lower is not None
        assert ndr.upper is not None
        assert 1 - ndr.lower.load_pps / ndr.upper.load_pps <= 0.005
        near = 0.005 + 0.001
        is_near = ndr.lower.load_pps <= CAPACITY * (1 + near)
        is_near &= ndr.upper.load_pps >= CAPACITY * (1 - near)
        if not is_near or pdr.irregular is not None:
            outside.append(seed)

    assert len(outside) <= N_SEEDS * (0 if not within_of else 0.05)


def test_the_same_answers_lead_the_same_way() -> None:
    steps = search(goals(), WIDE, hard(123_456)).steps
    answers = iter(steps)

    def again(duration_ns: int, load_pps: float) -> Counted:
        step = next(answers)
        assert (step.duration_ns, step.load_pps) == (duration_ns, load_pps)
        return Counted(step.due, step.sent, step.lost)

    assert search(goals(), WIDE, again).steps == steps


def irregular(found: Found) -> list[str | None]:
    return [one.irregular for one in found.goals]


def test_a_device_that_fails_at_the_lowest_load_has_no_lower_bound() -> None:
    found = search(goals(), Limits(1e3, 1e5, 60.0), hard(500))

    assert irregular(found) == ["lowest load fails"] * 2
    assert [one.lower for one in found.goals] == [None, None]
    assert found.stopped is None


def test_a_device_that_carries_everything_has_no_upper_bound() -> None:
    found = search(goals(), Limits(1e3, 1e5, 60.0), hard())

    assert irregular(found) == ["highest load passes"] * 2
    assert [one.conditional_throughput_pps for one in found.goals] == [1e5, 1e5]


def test_what_the_instrument_lost_is_no_bound_of_the_device() -> None:
    def measure(duration_ns: int, load_pps: float) -> Counted:
        counted = hard()(duration_ns, load_pps)
        return Counted(counted.due, counted.sent, counted.lost, is_limited=load_pps > CAPACITY)

    found = search(goals()[:1], WIDE, measure)

    assert irregular(found) == ["instrument limited"]
    [ndr] = found.goals
    assert ndr.upper is None
    assert ndr.lower is not None
    assert ndr.lower.load_pps > 9e5


@pytest.mark.parametrize("max_pps", [1e6, 1e7])
def test_a_goal_that_only_limited_trials_keep_is_in_doubt(max_pps: float) -> None:
    def measure(duration_ns: int, load_pps: float) -> Counted:
        counted = hard()(duration_ns, load_pps)
        is_lost = load_pps > 9e5
        return Counted(counted.due, counted.sent, counted.lost + is_lost, is_limited=is_lost)

    ndr, pdr = search(goals(), Limits(1e3, max_pps, 60.0), measure).goals

    assert (ndr.irregular, pdr.irregular) == (
        "instrument limited",
        "lower bound instrument limited",
    )
    assert (ndr.upper, pdr.upper) == (None, None)
    assert pdr.lower is not None


def test_packets_that_the_generator_lost_spoil_the_goals_alone_that_they_break() -> None:
    def measure(duration_ns: int, load_pps: float) -> Counted:
        counted = hard()(duration_ns, load_pps)
        own = counted.due // 1000 if load_pps > 5e5 else 0
        return Counted(counted.due, counted.sent, counted.lost + own, own=own)

    ndr, pdr = search(goals(), WIDE, measure).goals

    assert (ndr.irregular, ndr.upper) == ("instrument limited", None)
    assert ndr.lower is not None
    assert ndr.lower.load_pps <= 5e5
    assert pdr.lower is not None
    assert pdr.lower.load_pps > 9e5


@pytest.mark.parametrize(
    ("is_kept", "strict", "irregular"),
    [(False, 0.9, "instrument limited"), (True, 0.1, "lower bound instrument limited")],
)
def test_a_bound_stands_that_does_not_rest_on_the_trial_that_was_limited(
    is_kept: bool, strict: float, irregular: str
) -> None:
    # Nineteen trials of 21 judge a load for one goal, and eleven would do for the other.
    specs = {"half": 0.5, "strict": strict}
    both = [
        describe_goal(GoalSpec(name=name, loss=0, exceed=exceed)) for name, exceed in specs.items()
    ]
    tried: set[float] = set()

    def measure(duration_ns: int, load_pps: float) -> Counted:
        counted = hard()(duration_ns, load_pps)
        is_limited = load_pps not in tried and (load_pps <= CAPACITY) is is_kept
        tried.add(load_pps)
        return replace(counted, is_limited=is_limited)

    half, other = search(both, WIDE, measure).goals

    assert (half.irregular, other.irregular) == (None, irregular)
    assert half.lower is not None
    assert half.upper is not None


@pytest.mark.parametrize("n_answers", [0, 7])
def test_a_search_that_is_stopped_gives_the_bounds_so_far(n_answers: int) -> None:
    left = iter(range(n_answers))

    def measure(duration_ns: int, load_pps: float) -> Counted:
        if next(left, None) is None:
            raise StopSearch("the device died")
        return hard()(duration_ns, load_pps)

    found = search(goals(), WIDE, measure)

    assert found.stopped == "the device died"
    assert irregular(found) == ["stopped", "stopped"]
    assert len(found.steps) == n_answers


def test_a_search_that_takes_too_long_says_so() -> None:
    found = search(goals(), Limits(1e3, 1e9, 1e-9), hard())

    assert found.stopped == "not done after 1e-09 s"


def test_goals_that_differ_in_their_names_alone_are_found_alike() -> None:
    both = [describe_goal(GoalSpec(name=name, loss=0.0)) for name in ("a", "b")]

    a, b = search(both, WIDE, hard()).goals

    assert (a.goal, b.goal) == ("a", "b")
    assert a.lower == b.lower
