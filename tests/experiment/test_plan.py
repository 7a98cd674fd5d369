"""The order is fair, stored, and the same every time."""

from collections import Counter

import pytest

from taut.core.errors import InputError
from taut.experiment.model import Spec, mean_frame_len
from taut.experiment.plan import derive_seed, make_plan, unloaded, untraced
from taut.experiment.spec import parse_spec


def spec_of(**changes: str) -> Spec:
    text = """
name = "planned"
duration = "1s"
repetitions = 4
[[device]]
driver = "taut_forward"
name = "a"
[[device]]
driver = "taut_forward"
name = "b"
[[traffic]]
rates = ["10kpps", "3Mpps"]
"""
    return parse_spec(text, [f"{key}={value}" for key, value in changes.items()])


def test_the_matrix_is_complete_and_has_a_floor_for_each_load():
    plan = make_plan(spec_of())

    count = Counter((t.device.name, t.rate) for t in plan.trials)
    assert set(count.values()) == {4}
    assert {name for name, _ in count} == {"a", "b", "loopback_memif"}
    assert [t.index for t in plan.trials] == list(range(len(plan.trials)))


def test_floor_can_be_left_out():
    assert {t.device.name for t in make_plan(spec_of(floor="false")).trials} == {"a", "b"}


def test_a_device_that_no_load_is_for_is_told():
    one = spec_of(**{"traffic.0.devices": '["b"]'})

    assert unloaded(spec_of()) == []
    assert unloaded(one) == ["device a: no [[traffic]] takes it, so it is not measured"]


def test_two_devices_run_a_b_b_a():
    plan = make_plan(spec_of(floor="false", **{"traffic.0.rates": '["10kpps"]'}))

    names = [t.device.name for t in plan.trials]
    assert names[:4] in (["a", "b", "b", "a"], ["b", "a", "a", "b"])
    assert sorted(t.repetition for t in plan.trials) == [t.repetition for t in plan.trials]


def test_devices_of_one_load_stay_together():
    plan = make_plan(spec_of())

    for at in range(0, len(plan.trials), 3):
        assert len({(t.rate, t.repetition) for t in plan.trials[at : at + 3]}) == 1


def test_the_same_seed_gives_the_same_plan_and_another_another():
    names = [t.name for t in make_plan(spec_of()).trials]

    assert names == [t.name for t in make_plan(spec_of()).trials]
    assert names != [t.name for t in make_plan(spec_of(seed="2")).trials]


def test_all_devices_see_the_same_schedule_and_repetitions_do_not():
    plan = make_plan(spec_of())

    by_load: dict[tuple[str, int], set[int]] = {}
    for trial in plan.trials:
        by_load.setdefault((trial.rate, trial.repetition), set()).add(trial.seed)
    assert all(len(seeds) == 1 for seeds in by_load.values())
    assert len({seed for seeds in by_load.values() for seed in seeds}) == len(by_load)
    assert derive_seed(1, "a") != derive_seed(2, "a")


def test_names_sort_as_trials_run():
    names = [t.name for t in make_plan(spec_of(repetitions="400")).trials]

    assert len(names) == 2400
    assert names == sorted(names)


def test_a_name_says_what_ran():
    assert make_plan(spec_of(order="listed", floor="false")).trials[0].name == (
        "000-a-bare-constant_64-10kpps-r1"
    )


def test_records_are_left_out_where_the_writer_cannot_keep_up():
    plan = make_plan(spec_of())

    assert {(t.rate, t.record) for t in plan.trials} == {("10kpps", "all"), ("3Mpps", "none")}


def test_a_count_takes_the_time_its_rate_needs():
    spec = spec_of(**{"traffic.0.count": "5000", "traffic.0.rates": '["10kpps"]'})

    trial = make_plan(spec).trials[0]
    assert (trial.count, trial.duration_ns) == (5000, 500_000_000)


def test_only_keeps_names_and_seeds():
    plan = make_plan(spec_of())

    kept = plan.only("b-*r2")
    assert {t.device.name for t in kept.trials} == {"b"}
    assert all(trial in plan.trials for trial in kept.trials)
    with pytest.raises(InputError, match="matches none of 24 trials"):
        plan.only("nothing")


def test_bit_rates_count_the_mean_of_a_mix():
    spec = spec_of(**{"traffic.0.rates": '["10Mbps"]', "traffic.0.frames": '["imix"]'})

    mean = (7 * 64 + 4 * 570 + 1518) / 12
    assert mean_frame_len("imix") == mean
    assert make_plan(spec).trials[0].offered_pps == pytest.approx(10e6 / 8 / mean)


@pytest.mark.parametrize(
    ("trace", "duration", "rate", "expected"),
    [
        ("auto", "300s", "10kpps", "continuous"),
        ("auto", "301s", "10kpps", "tail"),
        ("auto", "1s", "3Mpps", "off"),
        ("continuous", "1h", "10kpps", "continuous"),
        ("continuous", "1s", "3Mpps", "continuous"),
        ("tail", "1s", "10kpps", "tail"),
        ("tail", "1s", "3Mpps", "off"),
        ("off", "1s", "10kpps", "off"),
        ("true", "1h", "10kpps", "continuous"),
        ("false", "1s", "10kpps", "off"),
    ],
)
def test_a_trial_is_traced_as_its_length_and_its_records_allow(
    trace: str, duration: str, rate: str, expected: str
):
    plan = make_plan(spec_of(trace=trace, duration=duration))

    [trial] = {(t.trace, bool(t.why_not_traced)) for t in plan.trials if t.rate == rate}

    assert trial == (expected, expected == "off")


def test_a_tail_trace_of_packets_that_are_not_recorded_is_told():
    rates = {"traffic.0.rates": '["10kpps", "3Mpps"]'}

    (told,) = untraced(make_plan(spec_of(trace="tail", **rates)))

    assert told.startswith("traffic constant at 3Mpps: not traced, late packets will have no cause")
    for trace in ("auto", "continuous", "off"):
        assert untraced(make_plan(spec_of(trace=trace, **rates))) == []


def test_a_load_can_go_untraced():
    plan = make_plan(spec_of(trace="continuous", **{"traffic.0.trace": "off"}))

    assert {t.trace for t in plan.trials} == {"off"}


def test_experiments_trace_unless_they_say_otherwise():
    assert {t.trace for t in make_plan(spec_of()).trials if t.rate == "10kpps"} == {"continuous"}


def in_two_states(**changes: str) -> Spec:
    hosts = '[{name = "as found"}, {name = "trimmed", profile = "recommended"}]'
    return spec_of(host=hosts, **changes)


def test_states_of_the_host_run_a_b_b_a_with_everything_inside():
    plan = make_plan(in_two_states())

    states = [(t.repetition, t.host.name) for t in plan.trials]
    order = list(dict.fromkeys(states))
    names = [name for _, name in order]
    assert names[:4] in (
        ["as found", "trimmed", "trimmed", "as found"],
        ["trimmed", "as found", "as found", "trimmed"],
    )
    # Each state is entered once a repetition, and has every load and device.
    assert len(order) == 2 * 4
    assert set(Counter(states).values()) == {2 * 3}


def test_both_states_get_the_same_departures_in_the_same_order():
    plan = make_plan(in_two_states())

    def seen(state: str) -> list[tuple[str, str, int]]:
        first = [t for t in plan.trials if t.host.name == state and t.repetition == 1]
        return [(t.device.name, t.rate, t.seed) for t in first]

    assert seen("as found") == seen("trimmed")


def test_without_states_names_and_order_are_as_they_were():
    assert "as_found" not in make_plan(spec_of()).trials[0].name
    assert "-trimmed-r1" in "".join(t.name for t in make_plan(in_two_states()).trials)


def test_a_plan_made_a_part_at_a_time_is_the_plan():
    whole = make_plan(in_two_states())
    first = make_plan(in_two_states(), repetitions=range(1, 3))
    rest = make_plan(in_two_states(), repetitions=range(3, 5), first_index=len(first.trials))

    assert [*first.trials, *rest.trials] == list(whole.trials)
