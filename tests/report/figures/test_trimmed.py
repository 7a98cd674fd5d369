from dataclasses import replace

import numpy as np
import pytest

from made_documents import made_result, made_variant
from taut.report.figures import trimmed
from taut.report.figures.trimmed import (
    TrimmedPercentiles,
    _in_both_states,
    _percentiles,
    _rows,
    outermost,
)
from taut.report.scene import Device, Scene

N_PACKETS = 2_000


def device(name, state, *, times=1, n_repetitions=6, place="bare"):
    """A device whose repetition r took r to 2000 r µs, times as much in this state."""
    trials = [
        made_result(name=f"{name}-{state}-{r}", repetition=r, index=r * times)
        for r in range(1, n_repetitions + 1)
    ]
    row = made_variant(host=state, is_floor=name == "floor", placement=place)
    label = f"{name}, {state}" if place == "bare" else f"{name}, {state}, {place}"
    return Device(label, name, row, trials, {})


@pytest.fixture(autouse=True)
def _made_counts(monkeypatch):
    ranks = np.arange(1, N_PACKETS + 1)
    monkeypatch.setattr(
        trimmed, "_on_time", lambda _, trial: (1000 * ranks * trial.index, ranks, N_PACKETS)
    )


@pytest.fixture
def devices():
    return [
        device("floor", "as found"),
        device("floor", "trimmed"),
        device("eager", "as found", times=10),
        device("eager", "trimmed"),
        device("eager", "kept"),
        device("buffered", "as found"),
    ]


def drawn(devices):
    colours = {device.label: "@device1" for device in devices}
    return TrimmedPercentiles().draw(Scene((), "a load", devices, colours, devices))


@pytest.mark.parametrize(
    ("n", "out"), [(1, None), (5, None), (6, 0), (8, 0), (9, 1), (12, 2), (16, 3)]
)
def test_interval_of_the_median_is_that_of_the_sign_test(n, out):
    assert outermost(n) == out


def test_only_devices_in_both_states_are_drawn(devices):
    assert [(a.label, b.label) for a, b in _in_both_states(devices)] == [
        ("eager, as found", "eager, trimmed")
    ]
    assert drawn(devices) is not None
    assert drawn([d for d in devices if d.state != "trimmed"]) is None


def test_a_device_is_paired_with_itself_in_the_same_place():
    places = [
        device("eager", state, place=place)
        for place in ("bare", "kvm")
        for state in ("as found", "trimmed")
    ]

    assert [(a.label, b.label) for a, b in _in_both_states(places)] == [
        ("eager, as found", "eager, trimmed"),
        ("eager, as found, kvm", "eager, trimmed, kvm"),
    ]


def test_repetitions_of_one_state_alone_are_left_out(devices):
    found, trimmed_device = next(_in_both_states(devices))
    fewer = replace(trimmed_device, trials=trimmed_device.trials[1:])
    none_left = replace(trimmed_device, trials=[])

    [(a, b)] = _in_both_states([found, fewer])

    assert [t.repetition for t in a.trials] == [2, 3, 4, 5, 6]
    assert [t.repetition for t in b.trials] == [2, 3, 4, 5, 6]
    assert list(_in_both_states([found, none_left])) == []


def test_line_is_the_median_of_repetitions_and_band_its_interval(devices):
    rows = list(_rows(next(_in_both_states(devices))))

    first = rows[0]
    assert (first["median_us"], first["low_us"], first["high_us"]) == (35.0, 10.0, 60.0)
    assert {row["repetitions"] for row in rows} == {6}
    # Ten packets above the last percentile drawn.
    assert max(row["one_in"] for row in rows) == pytest.approx(N_PACKETS / 10)


def test_fewer_than_six_repetitions_have_no_band():
    pair = (device("eager", "as found", n_repetitions=5), device("eager", "trimmed"))

    rows = list(_rows(next(_in_both_states(pair))))

    assert {row["repetitions"] for row in rows} == {5}
    assert all(r["low_us"] == r["median_us"] == r["high_us"] for r in rows)


def test_a_percentile_is_the_smallest_value_with_at_least_that_share():
    values, upto = np.arange(1, 101) * 1000, np.arange(1, 101)

    found = _percentiles(values, upto, 100, np.array([1.0, 2.0, 10.0, 100.0]))

    assert found.tolist() == [1, 50, 90, 99]


def lines(pair, monkeypatch, loses):
    """Give both lines of states alike, but that some trials lose their slowest 0.3 %."""

    def on_time(device, trial):
        n_due = 20_000
        ranks = np.arange(1, n_due + 1)[: -60 if loses(device, trial) else None]
        return 1000 * ranks * trial.repetition, ranks, n_due

    monkeypatch.setattr(trimmed, "_on_time", on_time)
    found = {"as found": {}, "trimmed": {}}
    for row in _rows(pair):
        found[row["state"]][row["one_in"]] = row
    return found["as found"], found["trimmed"]


def test_a_state_that_loses_its_slowest_packets_has_no_shorter_tail(devices, monkeypatch):
    pair = next(_in_both_states(devices))
    found, lossy = lines(pair, monkeypatch, lambda device, _: device.state == "trimmed")

    assert max(found) == pytest.approx(2_000)
    assert 300 < max(lossy) < 20_000 / 60
    assert all(row["median_us"] == found[one_in]["median_us"] for one_in, row in lossy.items())


def test_one_repetition_that_loses_them_ends_the_band_and_not_the_line(devices, monkeypatch):
    pair = next(_in_both_states(devices))
    _, lossy = lines(pair, monkeypatch, lambda _, trial: trial.repetition == 1)

    assert max(lossy) == pytest.approx(2_000)
    for one_in, row in lossy.items():
        assert (row["low_us"] < row["high_us"]) is (one_in < 20_000 / 60)
