"""A search over a run directory: made-up devices in real trials' folders; no program is started."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from made_bench import EAGER_PPS, LOOPBACK_PPS, SEARCH, Bench, counters, histogram, sessions
from taut.experiment.bisection import Counted
from taut.experiment.capacity import count, search_capacity
from taut.experiment.kept import Kept
from taut.experiment.model import Spec
from taut.experiment.plan import Trial
from taut.experiment.spec import parse_spec
from taut.records.documents.generator import GeneratorResult
from taut.records.documents.search import SearchDocument, SearchOfDevice
from taut.records.documents.trial import TrialDocument
from taut.records.rundir import RunDirectory


@pytest.fixture
def go(tmp_path: Path) -> Iterator[Callable[..., tuple[SearchDocument, RunDirectory]]]:
    with sessions(tmp_path) as opened:

        def run(bench: Bench, spec: Spec | None = None) -> tuple[SearchDocument, RunDirectory]:
            spec = spec or parse_spec(SEARCH)
            session = opened(bench, spec)
            return search_capacity(session, spec), session.run_directory

        yield run


def of(document: SearchDocument, device: str) -> SearchOfDevice:
    return next(one for one in document.searches if one.device == device)


def test_a_device_is_found_below_what_the_loopback_carries(go):
    document, _ = go(Bench())

    floor, eager = of(document, "loopback_memif"), of(document, "eager")
    assert floor.found[0].lower.load_pps <= LOOPBACK_PPS <= floor.found[0].upper.load_pps
    assert eager.max_pps == floor.found[0].lower.load_pps
    assert eager.is_max_the_instruments
    ndr, pdr = eager.found
    assert ndr.lower.load_pps < 1.000001 * EAGER_PPS <= 1.000001 * ndr.upper.load_pps
    assert 1 - ndr.lower.load_pps / ndr.upper.load_pps <= 0.2
    assert pdr.lower.load_pps >= ndr.lower.load_pps
    assert [one.irregular for one in eager.found] == [None, None]


def test_every_trial_is_in_the_run_and_every_step_names_its_own(go):
    document, run = go(Bench())

    named = [name for one in document.searches for step in one.steps for name in step.trials]
    after = [name for one in document.searches for at in one.latency for name in at.trials]
    there = {trial.name for trial in run.trials()}
    assert len(named) == len(set(named))
    assert {*named, *after} <= there
    floors = there - {*named, *after}
    assert all("loopback" in name for name in floors)
    assert run.manifest().order == tuple(sorted(there))


def test_latency_is_measured_at_shares_of_pdr_after_the_search(go):
    document, run = go(Bench(), parse_spec(SEARCH, ["repetitions=2", "floor=false"]))

    eager = of(document, "eager")
    lower = eager.found[1].lower.load_pps
    assert [at.load_pps / lower for at in eager.latency] == pytest.approx([0.1, 0.5, 0.9])
    assert [len(at.trials) for at in eager.latency] == [2, 2, 2]
    last = sorted(trial.name for trial in run.trials())[-6:]
    assert {name for at in eager.latency for name in at.trials} == set(last)


@pytest.mark.parametrize("dies_after", [1, 6, 9])
def test_a_killed_search_goes_on_with_what_it_has(go, dies_after):
    with pytest.raises(KeyboardInterrupt):
        go(Bench(dies_after=dies_after))
    again = Bench()

    document, run = go(again)

    assert len(run.trials()) == dies_after + len(again.called)
    assert len({trial.name for trial in run.trials()}) == len(run.trials())
    assert of(document, "eager").found[0].irregular is None


def test_a_finished_search_measures_nothing_again(go):
    first, _ = go(Bench())
    again = Bench()

    document, _ = go(again)

    assert again.called == []
    assert document.searches == first.searches


def test_a_trial_in_which_the_generator_was_held_up_is_repeated_and_does_not_count(go):
    document, _ = go(Bench(limited_once=True))

    eager = of(document, "eager")
    assert [one.irregular for one in eager.found] == [None, None]
    assert eager.found[0].upper.load_pps >= EAGER_PPS
    assert max(len(step.trials) for step in eager.steps) == 2
    assert not any(step.instrument_limited for step in eager.steps)


def test_where_the_generator_is_always_held_up_the_device_is_not_to_blame(go):
    document, _ = go(Bench(limited_above=5e5))

    eager = of(document, "eager")
    assert [one.irregular for one in eager.found] == [
        "instrument limited",
        "lower bound instrument limited",
    ]
    assert [one.upper for one in eager.found] == [None, None]
    assert eager.found[0].lower.load_pps <= 5e5
    repeats = [len(step.trials) for step in eager.steps if step.instrument_limited]
    assert max(repeats) == 4


def test_what_a_device_keeps_under_a_late_generator_alone_is_in_doubt(go):
    document, _ = go(Bench(late_above=5e5))

    eager = of(document, "eager")
    ndr = eager.found[0]
    assert (ndr.irregular, ndr.upper) == ("lower bound instrument limited", None)
    assert 5e5 < ndr.lower.load_pps <= 1.000001 * EAGER_PPS
    kept = [step for step in eager.steps if step.instrument_limited and not step.loss_ratio]
    assert max(len(step.trials) for step in kept) == 4


def test_of_trials_that_the_generator_held_up_none_is_chosen_by_what_it_lost(go):
    document, _ = go(Bench(late_above=1.0, lost_by=(5, 5, 5, 0)))

    eager = of(document, "eager")
    ndr = eager.found[0]
    assert (ndr.irregular, ndr.lower, ndr.upper) == ("instrument limited", None, None)
    assert all(step.lost >= 5 for step in eager.steps if len(step.trials) == 4)


@pytest.mark.parametrize("refuses", [False, True])
def test_what_only_a_late_generator_lost_is_no_bound_of_the_device(go, refuses):
    document, _ = go(Bench(stalls_above=5e5, refuses=refuses))

    eager = of(document, "eager")
    ndr, pdr = eager.found
    assert (ndr.irregular, ndr.upper) == ("instrument limited", None)
    assert ndr.lower.load_pps <= 5e5
    assert max(len(step.trials) for step in eager.steps) == 4
    # It loses a twentieth of a per cent, which keeps this goal.
    assert pdr.irregular is None
    assert pdr.lower.load_pps < 1.01 * EAGER_PPS < 1.01 * pdr.upper.load_pps


def test_a_rate_that_was_not_sent_is_kept_by_nobody(go):
    document, _ = go(Bench(sends_most=5e5))

    eager = of(document, "eager")
    assert [one.irregular for one in eager.found] == ["path limited"] * 2
    for found in eager.found:
        assert found.lower.load_pps <= 5e5 < found.upper.load_pps
        assert 1 - found.lower.load_pps / found.upper.load_pps <= 0.2


def test_without_a_loopback_nobody_knows_whether_the_device_slowed_the_generator(go):
    document, _ = go(Bench(sends_most=5e5), parse_spec(SEARCH, ["floor=false"]))

    found = of(document, "eager").found
    assert [(one.irregular, one.upper) for one in found] == [("instrument limited", None)] * 2


TWO = SEARCH.replace(
    "[[traffic]]", '[[device]]\ndriver = "taut_forward"\nname = "other"\n[[traffic]]'
)


def bench_of_two(**more: Any) -> Bench:
    bench = Bench(**more)
    bench.capacity["other"] = 2e6
    return bench


def test_devices_take_turns_so_that_a_machine_that_drifts_favours_none(go):
    document, _ = go(bench_of_two(), parse_spec(TWO))

    steps = {name: of(document, name).steps for name in ("eager", "other")}
    n_both = min(map(len, steps.values()))
    names = [[step.trials[0] for step in of_one[:n_both]] for of_one in steps.values()]
    taken = [name for both in zip(*names, strict=True) for name in both]
    assert taken == sorted(taken)
    assert n_both >= 4
    assert (
        of(document, "eager").found[0].upper.load_pps
        < of(document, "other").found[0].lower.load_pps
    )


def test_a_trial_that_is_repeated_waits_for_its_turn(go):
    document, _ = go(bench_of_two(limited_once=True), parse_spec(TWO))

    eager, other = (of(document, name).steps[0].trials for name in ("eager", "other"))
    assert len(eager) == len(other) == 2
    assert eager[0] < other[0] < eager[1] < other[1]


@pytest.mark.parametrize("dies_after", [5, 12, 21])
def test_searches_in_turn_go_on_where_they_were_killed(go, dies_after):
    with pytest.raises(KeyboardInterrupt):
        go(bench_of_two(dies_after=dies_after), parse_spec(TWO))
    again = bench_of_two()

    document, run = go(again, parse_spec(TWO))

    whole = [name for one in document.searches for step in one.steps for name in step.trials]
    assert len(run.trials()) == dies_after + len(again.called)
    assert len(set(whole)) == len(whole)
    assert [one.stopped for one in document.searches] == [None] * 3


def test_a_device_that_fails_again_and_again_ends_its_search_alone(go):
    bench = bench_of_two(fails=lambda trial: trial.device.name == "eager")

    document, _ = go(bench, parse_spec(TWO))

    assert "the device died" in of(document, "eager").stopped
    assert of(document, "eager").latency == ()
    assert of(document, "other").stopped is None
    assert len([name for name in bench.called if "-eager-" in name]) == 4


def test_a_trial_that_fails_once_is_measured_again(go):
    failed = []

    def once(trial: Trial) -> bool:
        failed.append(trial)
        return len(failed) == 6

    document, run = go(Bench(fails=once))

    assert of(document, "eager").stopped is None
    assert [trial.is_whole for trial in run.trials()].count(False) == 1


def test_where_the_loopback_has_no_bound_devices_are_searched_without_an_upper_one(go):
    document, _ = go(Bench(capacity={"loopback_memif": 10.0, "eager": 1e6}))

    floor, eager = of(document, "loopback_memif"), of(document, "eager")
    assert floor.found[0].lower is None
    assert (eager.max_pps, eager.is_max_the_instruments, eager.stopped) == (10e6, False, None)
    for found in eager.found:
        assert (found.irregular, found.upper) == ("loopback without a bound", None)
        assert 0.8 * EAGER_PPS < found.lower.load_pps <= 1.01 * EAGER_PPS


@pytest.mark.parametrize(
    ("loopback_pps", "lower", "why"),
    [(10.0, None, "loopback without a bound"), (1_001.0, 1_000, "lowest load fails")],
)
def test_who_is_to_blame_at_the_lowest_load_the_loopback_tells(go, loopback_pps, lower, why):
    document, _ = go(Bench(capacity={"loopback_memif": loopback_pps, "eager": 10.0}))

    bound = of(document, "loopback_memif").found[0].lower
    assert (bound and bound.load_pps) == lower
    for found in of(document, "eager").found:
        assert (found.irregular, found.lower, found.upper) == (why, None, None)


def test_a_loopback_that_fails_leaves_the_devices_to_be_searched(go):
    document, _ = go(Bench(fails=lambda trial: trial.device.is_floor))

    assert "the device died" in of(document, "loopback_memif").stopped
    assert of(document, "eager").found[0].lower.load_pps > 0.8 * EAGER_PPS


def test_what_a_loopback_carried_that_ended_early_is_not_all_it_carries(go):
    sent: list[Trial] = []

    def once_it_has_carried_8_mpps(trial: Trial) -> bool:
        sent.extend([trial] * trial.device.is_floor)
        return trial.device.is_floor and len(sent) > 5

    capacity = {"loopback_memif": 9.5e6, "eager": EAGER_PPS}
    document, _ = go(Bench(capacity=capacity, fails=once_it_has_carried_8_mpps))
    floor, eager = of(document, "loopback_memif"), of(document, "eager")
    assert (floor.stopped is None, floor.found[0].lower is None) == (False, False)
    assert eager.max_pps == floor.found[0].lower.load_pps
    assert (eager.is_max_the_instruments, eager.is_floor_stopped) == (True, True)


def test_goals_of_time_are_searched_apart_and_share_trials(go):
    goal = '[[goal]]\nname = "fast"\nwithin = "1us"\nshare = "99%"\nsum = "1s"\nwidth = "20%"\n'

    document, _ = go(Bench(), parse_spec(SEARCH + goal))

    eager = of(document, "eager")
    assert [one.goal for one in eager.found] == ["ndr", "pdr", "fast"]
    assert [one.irregular for one in eager.found] == [None] * 3
    names = [name for step in eager.steps for name in step.trials]
    assert len(set(names)) < len(names)


def trial_of(folder: Path, **counts: int) -> Kept:
    return Kept(folder, TrialDocument(generator=GeneratorResult(counters(**counts))))


def test_late_packets_count_as_lost_but_for_the_generator_s_own(tmp_path):
    histogram(tmp_path / "histogram.parquet", {900: 90, 1_001: 5, 20_000: 5})

    for within_ns, lost in ((1_000, 12 + 4), (1_001, 6 + 4), (20_009, 4), (20_008, 6 + 4)):
        kept = trial_of(tmp_path, due=130, unsent=10, lost=4, void=16)
        # 116 came back; of the 100 the generator was on time with as many in a hundred were late.
        assert count(kept, within_ns) == Counted(130, 120, lost, (tmp_path.name,), True)


def test_void_packets_that_did_not_come_back_are_the_generator_s_own(tmp_path):
    histogram(tmp_path / "histogram.parquet", {900: 9_900}, n_void=50)
    kept = trial_of(tmp_path, due=10_000, unsent=20, lost=30, void=60, lost_void=6)

    found = count(kept, None)

    assert found == Counted(10_000, 9_980, 30, (tmp_path.name,), own=10)
    assert [found.is_limited_at(share) for share in (0.0, 0.003, 0.0045, 0.005)] == [
        False,
        False,
        True,
        False,
    ]


def test_the_warm_up_does_not_count(tmp_path):
    kept = trial_of(tmp_path, due=100, cold=40, unsent=9, unsent_cold=4, lost=3, lost_cold=1)

    assert count(kept, None) == Counted(60, 55, 2, (tmp_path.name,), False)


def test_what_left_more_slowly_than_it_should_counts_as_unsent(tmp_path):
    counts = counters(due=1_000, lost=1, void=1_000)
    rates = ((1e6, False, 1_000), (999_500.0, False, 1_000), (4e5, True, 400))

    for achieved, is_behind, sent in rates:
        generator = GeneratorResult(counts, offered_pps=1e6, achieved_pps=achieved)
        found = count(Kept(tmp_path, TrialDocument(generator=generator)), None)
        assert (found.sent, found.is_behind) == (sent, is_behind)


def test_of_a_slower_trial_the_share_counts_that_the_rate_would_have_sent(tmp_path):
    # 48 % of all were lost, and it took 1 / 0.45 of the time: so of 450 that would have been sent.
    counts = counters(due=1_000, lost=480)
    generator = GeneratorResult(counts, offered_pps=1e6, achieved_pps=4.5e5)

    found = count(Kept(tmp_path, TrialDocument(generator=generator)), None)

    assert (found.sent, found.lost) == (450, 216)
    assert found.loss_ratio == pytest.approx(0.766)


@pytest.mark.parametrize(
    ("counts", "achieved", "sent", "is_behind"),
    [
        # A ring that was full for 27 ms of the warm-up; of what was measured nothing is missing.
        ({"due": 9000, "cold": 4500, "unsent": 120, "unsent_cold": 120}, 0.98667e6, 4500, False),
        # It stood still near the end, and worked that off; a little more is not explained by it.
        ({"due": 10_000, "void": 60}, 0.9935e6, 10_000, False),
        ({"due": 10_000, "void": 60}, 0.9925e6, 9_925, True),
        # All was due and offered to the link in time, and a tenth refused.
        ({"due": 1_000, "unsent": 100}, 0.9e6, 900, False),
        # The same, in twice the time.
        ({"due": 1_000, "unsent": 100}, 0.45e6, 450, True),
        # A tenth was never offered to the link, for the generator was that far behind.
        ({"due": 1_000, "unsent": 100, "abandoned": 100}, 0.8e6, 800, True),
    ],
)
def test_what_the_link_refused_was_not_sent_more_slowly(
    tmp_path, counts, achieved, sent, is_behind
):
    generator = GeneratorResult(counters(**counts), offered_pps=1e6, achieved_pps=achieved)
    histogram(tmp_path / "histogram.parquet", {900: 9_940}, n_void=60)

    found = count(Kept(tmp_path, TrialDocument(generator=generator)), None)

    assert (found.sent, found.lost, found.is_behind) == (sent, 0, is_behind)


def test_nobody_is_in_time_where_the_generator_never_was(tmp_path):
    histogram(tmp_path / "histogram.parquet", {900: 90}, is_void=True)

    found = count(trial_of(tmp_path, due=90, void=90), 1_000)

    assert (found.loss_ratio, found.is_limited) == (1.0, True)
