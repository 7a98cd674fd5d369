"""Recipes over a run directory: made-up devices in real trials' folders; nothing is started."""

import pytest

from made_bench import EAGER_PPS, LOOPBACK_PPS, Bench, sessions
from taut.core.errors import InputError
from taut.experiment.held_up import InTurn, loses_soundly
from taut.experiment.kept import Trials
from taut.experiment.plan import Trial
from taut.experiment.recipes import recipe_of
from taut.experiment.rfc import carry_out, spec_of
from taut.experiment.spec import parse_spec
from taut.records.documents.rfc import RfcDocument, RfcOfDevice
from taut.records.rundir import RunDirectory

TEXT = """
name = "made"
duration = "1s"
[search]
min = "1kpps"
max = "10Mpps"
[rfc]
quick = true
frames = [64, 1518]
width = "20%"
[[device]]
driver = "taut_forward"
name = "eager"
[[traffic]]
schedule = "jittered"
rates = ["10kpps"]
"""


@pytest.fixture
def go(tmp_path):
    with sessions(tmp_path) as opened:

        def run(rfc, bench, *changes) -> tuple[RfcDocument, RunDirectory, list[float]]:
            parsed = parse_spec(TEXT, changes)
            recipe = recipe_of(rfc, parsed.rfc)
            spec = spec_of(parsed, recipe)
            session = opened(bench, spec)
            slept: list[float] = []
            return carry_out(session, spec, recipe, slept.append), session.run_directory, slept

        yield run


def rows(document: RfcDocument) -> list[RfcOfDevice]:
    assert document.results
    return list(document.results)


def test_every_size_has_a_throughput_below_what_the_loopback_carries(go):
    document, _, _ = go("2544", Bench())

    assert [row.frame for row in rows(document)] == ["64", "1518"]
    for row, floor in zip(rows(document), document.instruments, strict=True):
        assert floor.found[0].lower.load_pps == row.max_pps <= LOOPBACK_PPS
        assert row.is_max_the_instruments
        assert 0.8 * EAGER_PPS < row.throughput_pps <= 1.000001 * EAGER_PPS
        assert row.throughput.both


def test_the_load_is_constant_and_goes_both_ways_whatever_the_file_says(go):
    _, run, _ = go("2544", Bench())

    sent = [trial.meta.traffic for trial in run.trials()]
    assert {one.schedule for one in sent} == {"constant", "step"}
    assert all(one.both for one in sent)
    assert {one.name for one in sent} == {"throughput", "latency", "loss", "recovery"}
    assert {one.record for one in sent if one.name in {"throughput", "loss"}} == {"none"}


def test_latency_is_repeated_at_the_throughput(go):
    document, run, _ = go("2544", Bench())

    for row in rows(document):
        assert row.latency.load_pps == row.throughput_pps
        assert len(row.latency.trials) == 3
        loads = {t.name: t.meta.traffic for t in run.trials()}
        of = [loads[one.trial] for one in row.latency.trials]
        assert {one.duration_ns for one in of} == {2_000_000_000}
        assert [one.offered_pps / row.throughput_pps for one in of] == pytest.approx([1.0] * 3)


def test_loss_goes_down_from_the_most_until_two_loads_in_a_row_lose_nothing(go):
    document, _, _ = go("2544", Bench())

    for row in rows(document):
        shares = [at.share for at in row.loss]
        assert shares == [round(1 - 0.1 * n, 9) for n in range(len(shares))]
        assert [at.loss_ratio == 0 for at in row.loss][-3:] == [False, True, True]
        assert row.loss[0].load_pps == row.max_pps
        assert row.loss[0].loss_ratio == pytest.approx(1 - EAGER_PPS / row.max_pps, abs=0.01)


def test_recovery_is_from_110_percent_and_falls_to_half_of_that(go):
    document, run, _ = go("2544", Bench())

    row = rows(document)[0]
    assert row.recovery.overload_pps == pytest.approx(1.1 * row.throughput_pps)
    assert row.recovery.after_pps == pytest.approx(0.55 * row.throughput_pps)
    assert len(row.recovery.trials) == 2
    load = next(t.meta for t in run.trials() if t.name == row.recovery.trials[0].trial)
    # The warm-up of 200 ms belongs to the overload.
    assert load.traffic.options == {"after": "1200000000ns", "percent": 50}


def test_a_device_that_carries_all_cannot_be_overloaded_and_has_no_longest_burst(go):
    bench = Bench(capacity={"loopback_memif": 1e6, "eager": 5e6})

    document, _, _ = go("2544", bench)

    assert any(
        why.startswith("recovery: the device carries all") for why in document.results[0].not_run
    )
    document, _, _ = go("9004", bench, "name=made")
    assert document.results[0].bursts is None


def test_without_a_bound_of_the_loopback_nothing_starts_from_the_most(go):
    unbound = {"loopback_memif": 10.0, "eager": EAGER_PPS}
    default = "search={min='1kpps'}"

    document, _, _ = go("2544", Bench(capacity=unbound), default)

    for row in rows(document):
        assert not row.is_max_known
        assert row.latency is not None
        assert (row.loss, row.recovery) == (None, None)
        assert [why for why in row.not_run if why.endswith("no bound; give --max")] == [
            why for why in row.not_run if not why.startswith("reset")
        ]
    document, _, _ = go("9004", Bench(capacity=unbound), default, "name=made")
    assert [row.bursts for row in rows(document)] == [None, None]


def test_a_most_that_was_given_needs_no_bound_of_the_loopback(go):
    document, _, _ = go("2544", Bench(capacity={"loopback_memif": 10.0, "eager": EAGER_PPS}))

    assert all(row.is_max_known and row.loss for row in rows(document))


def test_over_memif_there_is_no_reset_and_it_is_said_why(go):
    document, _, _ = go("2544", Bench())

    small, large = rows(document)
    assert small.reset is None
    assert "over memif the generator's end does not survive the device's" in small.not_run[0]
    assert large.not_run == ()  # not a test of this size


@pytest.mark.parametrize("refuses", [False, True])
def test_bursts_are_searched_anew_each_time_at_the_highest_rate(go, refuses):
    document, run, _ = go("9004", Bench(holds=5_000, refuses=refuses))

    for row in rows(document):
        share = 1 - EAGER_PPS / row.max_pps
        for one in row.bursts.longest:
            assert one.length * share <= 5_000 < 1.2 * one.length * share
            assert not one.instrument_limited
        assert len(row.bursts.longest) == 3
        named = [burst.trials for one in row.bursts.longest for burst in one.bursts]
        assert len(set(named)) == len(named)
    bursts = [t.meta.traffic for t in run.trials() if t.meta.traffic.name == "bursts"]
    assert {one.warm_up_ns for one in bursts} == {0}


def test_a_trial_in_which_the_generator_was_held_up_is_repeated_and_not_counted(go):
    document, _, _ = go("2544", Bench(limited_once=True))

    for row in rows(document):
        assert [one.instrument_limited for one in row.latency.trials] == [True, False, False, False]
        assert not any(at.instrument_limited for at in row.loss)
        assert row.throughput.found[0].irregular is None


def test_where_the_generator_is_always_held_up_no_trial_counts(go):
    document, _, _ = go("2544", Bench(limited_above=1.0))

    for row in rows(document):
        trials = row.latency.trials if row.latency else ()
        assert all(one.instrument_limited for one in trials)
        assert row.throughput.found[0].upper is None


def test_a_loss_rate_that_is_the_generator_s_own_alone_is_marked(go):
    document, _, _ = go("2544", Bench(stalls_above=1.0))

    for row in rows(document):
        below = [at.load_pps <= EAGER_PPS for at in row.loss]
        assert [at.instrument_limited for at in row.loss] == below
        assert {True, False} == set(below)


def test_a_device_that_fails_in_one_test_has_the_others(go):
    def dies(trial: Trial) -> bool:
        return trial.traffic.name == "latency"

    document, _, _ = go("2544", Bench(fails=dies))

    for row in rows(document):
        assert row.latency is None
        assert row.failed[0].startswith("latency: ")
        assert "the device died" in row.failed[0]
        assert row.loss


@pytest.mark.parametrize("test", ["latency", "loss"])
def test_what_was_measured_before_a_device_failed_for_good_stays(go, test):
    whole: list[Trial] = []

    def dies_in_the_middle(trial: Trial) -> bool:
        if trial.traffic.name != test or trial.frame != 64:
            return False
        whole.append(trial)
        return len(whole) > 2

    document, _, _ = go("2544", Bench(fails=dies_in_the_middle))

    small, large = rows(document)
    found = small.latency.trials if test == "latency" else small.loss
    assert len(found) == 2
    assert [why.partition(": ")[0] for why in small.failed] == [test]
    assert large.failed == ()


def test_a_burst_that_was_sent_more_slowly_is_nobodys(go):
    document, _, _ = go("9004", Bench(slows_to=5e5))

    for row in rows(document):
        assert row.throughput_pps <= 5e5 < row.bursts.load_pps
        assert [one.instrument_limited for one in row.bursts.longest] == [True] * 3


def test_the_lowest_load_that_fails_leaves_nothing_to_start_from(go):
    document, _, _ = go("2544", Bench(capacity={"loopback_memif": 4e6, "eager": 10.0}))

    row = rows(document)[0]
    assert row.throughput.found[0].irregular == "lowest load fails"
    assert "latency: there is no throughput to start from" in row.not_run
    assert len(row.loss) == 10


@pytest.mark.parametrize("dies_after", [2, 15, 40])
def test_a_killed_recipe_goes_on_and_a_finished_one_measures_nothing(go, dies_after):
    with pytest.raises(KeyboardInterrupt):
        go("2544", Bench(dies_after=dies_after))

    again = Bench()
    first, run, _ = go("2544", again)

    assert len(run.trials()) == dies_after + len(again.called)
    nothing = Bench()
    second, _, slept = go("2544", nothing)
    assert nothing.called == []
    assert slept == []
    assert second.results == first.results


def test_before_each_trial_nothing_is_sent_for_as_long_as_the_recipe_says(go):
    _, run, slept = go("2544", Bench(), "rfc.settle=5s", "rfc.tests=throughput")

    assert slept == [5.0] * len(run.trials())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ('traffic=[{rates=["1kpps"]},{name="b",rates=["1kpps"]}]', "has one load, here are"),
        ('host=[{name="as found"}]', "measures the host as it is"),
        ("search.min=20Mpps", "min 20Mpps is not below max 10Mpps"),
        ('device=[{driver="loopback"}]', "no device but the loopback"),
        ("search.min=9Gbps", "is not below max 10Mpps with frames of 64"),
    ],
)
def test_what_cannot_be_a_recipe_is_refused(change, said):
    with pytest.raises(InputError, match=said):
        parsed = parse_spec(TEXT, [change])
        spec_of(parsed, recipe_of("2544", parsed.rfc))


CARDS = (
    'links={pci={generator=["0000:01:00.0","0000:01:00.1"],device=["0000:02:00.0","0000:02:00.1"]}}'
)
OVER_CARDS = ("device.eager.link=pci", CARDS)


@pytest.mark.parametrize("changes", [OVER_CARDS, ("floor=false",)])
def test_without_a_loopback_the_most_must_be_given(changes):
    parsed = parse_spec(TEXT, [*changes, "search={min='1kpps'}"])
    with pytest.raises(InputError, match="give the medium's rate, as --max 10Gbps"):
        spec_of(parsed, recipe_of("2544", parsed.rfc))

    given = parse_spec(TEXT, [*changes, "search.max=10Gbps", "traffic.jittered.rate_layer=l1"])
    assert spec_of(given, recipe_of("2544", given.rfc)).search.most == "10Gbps"


def test_trials_of_a_load_that_never_will_do_are_repeated_once_only(tmp_path):
    spec = parse_spec(TEXT)
    with sessions(tmp_path) as opened:
        turn = InTurn(Trials(opened(Bench(limited_above=1.0), spec), spec), repeats=3)
        load = spec.traffic[0].model_copy(update={"duration_ns": 10**8})

        taken = [turn.take(spec.device[0], load) for _ in range(3)]

    assert [len(one.attempts) for one in taken] == [4, 1, 1]
    assert all(one.counted.is_limited for one in taken)


def test_of_attempts_none_of_which_will_do_the_median_is_told(tmp_path):
    spec = parse_spec(TEXT)
    bench = Bench(late_above=1.0, lost_by=(9, 0, 5, 7))
    with sessions(tmp_path) as opened:
        turn = InTurn(Trials(opened(bench, spec), spec), repeats=3)
        load = spec.traffic[0].model_copy(update={"duration_ns": 10**9})

        taken = turn.take(spec.device[0], load, loses_soundly)

    assert [one.lost for _, one in taken.attempts] == [9, 0, 5, 7]
    assert (taken.is_sound, taken.counted.lost) == (False, 7)
