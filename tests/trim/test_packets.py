"""Trim by packets: what a device under a load is called, and which trials count."""

from math import inf

import pytest

from made_bench import Bench, counters, histogram, sessions
from made_packets import UNSENT, VOID, packet, write_packets
from taut.experiment.plan import make_plan
from taut.experiment.spec import parse_spec
from taut.host.state import FOUND, HostState
from taut.records.documents.generator import GeneratorResult
from taut.records.documents.trial import InForce
from taut.trim.bench import Losses, losses_of
from taut.trim.packets import Measured, PacketsBench, cell_of, repeated, repetition_seconds

SPEC = """
name = "cells"
duration = "1s"
[[device]]
driver = "taut_forward"
name = "eager"
"""
CELL = "eager, 100 kpkt/s"


def cells(*loads: str) -> list[str]:
    tables = "".join(f'[[traffic]]\nrates = ["100kpps"]\n{load}\n' for load in loads)
    trials = make_plan(parse_spec(SPEC + tables)).trials
    return sorted({cell_of(trial) for trial in trials if trial.device.name == "eager"})


def test_a_plain_load_is_its_rate():
    assert cells("") == ["eager, 100 kpkt/s"]


def test_loads_of_one_rate_are_told_apart():
    assert cells("", 'name = "many"\nflows = 1000', 'frames = ["imix"]\nname = "both"') == [
        "eager, 100 kpkt/s",
        "eager, 100 kpkt/s, imix, both",
        "eager, 100 kpkt/s, many",
    ]


@pytest.mark.parametrize("refuses", [False, True])
def test_what_was_lost_or_refused_is_told_of_each_trial(tmp_path, refuses):
    spec = parse_spec(SPEC + '[[traffic]]\nrates = ["100kpps"]\n', ["floor=false"])
    with sessions(tmp_path) as opened:
        session = opened(Bench({"eager": 95_000}, refuses=refuses), spec)
        [measured] = PacketsBench(session, spec, "p99").run([FOUND], range(1, 2))

    assert measured.gone() == 0.05


def test_losses_in_the_warm_up_and_in_gaps_of_the_generator_are_not_the_devices(tmp_path):
    counts = {"due": 320, "cold": 100, "unsent": 20, "unsent_cold": 10, "lost": 50}
    counters = counts | {"lost_cold": 25, "lost_void": 15, "void": 30, "void_cold": 10}
    trial = make_plan(parse_spec(SPEC + '[[traffic]]\nrates = ["100kpps"]\n')).trials[0]
    # Of the 20 void ones after the warm-up five came back.
    histogram(tmp_path / "histogram.parquet", {900: 180}, n_void=5)

    measured = Measured(trial, tmp_path, GeneratorResult(counters))

    assert (measured.gone(), measured.gone(with_void=True)) == (20 / 200, 35 / 220)


def test_a_trial_at_whose_end_its_state_was_gone_does_not_count(tmp_path, monkeypatch):
    spec = parse_spec(SPEC + '[[traffic]]\nrates = ["100kpps"]\n', ["floor=false"])
    lost = InForce(lost=("vm.stat_interval",))
    before_and_after = iter([InForce(), lost, InForce(), InForce()])
    with sessions(tmp_path) as opened:
        session = opened(Bench(), spec)
        monkeypatch.setattr(session.states, "read_in_force", lambda: next(before_and_after))
        found = list(PacketsBench(session, spec, "p99").run([FOUND], range(1, 3)))

    assert [measured.trial.repetition for measured in found] == [2]


def test_states_are_measured_in_turn_whatever_the_order_of_the_file():
    listed = parse_spec(SPEC + '[[traffic]]\nrates = ["100kpps"]\n', ["order=listed"])

    plan = make_plan(repeated(listed, 2), states=[FOUND, HostState("trimmed", only=())])

    states = [trial.host.name for trial in plan.trials if not trial.device.is_floor]
    assert states in (
        ["as found", "trimmed", "trimmed", "as found"],
        ["trimmed", "as found", "as found", "trimmed"],
    )


@pytest.mark.parametrize(("n_lost", "figure"), [(18, 200_000), (21, inf)])
def test_what_was_lost_is_slower_than_all_that_came_back(tmp_path, monkeypatch, n_lost, figure):
    """Of 20,000 packets 21 take long; as found some of them are lost instead."""
    spec = parse_spec(SPEC + '[[traffic]]\nrates = ["100kpps"]\n', ["floor=false"])
    states = [FOUND, HostState("trimmed", only=())]
    measured = []
    for trial in make_plan(repeated(spec, 1), states=states).trials:
        lost = n_lost if trial.host == FOUND else 0
        latencies = [10_000] * 19_979 + [200_000] * (21 - lost) + [None] * lost
        folder = tmp_path / trial.name
        folder.mkdir()
        write_packets(folder / "packets.parquet", map(packet, range(20_000), latencies))
        histogram(folder / "histogram.parquet", {n: latencies.count(n) for n in (10_000, 200_000)})
        measured.append(Measured(trial, folder, GeneratorResult(counters(due=20_000, lost=lost))))
    monkeypatch.setattr(PacketsBench, "run", lambda *_: measured)

    [one] = PacketsBench(None, spec, "p99.9").measure(states, range(1, 2))

    assert one.figures == {"as found": {CELL: figure}, "trimmed": {CELL: 200_000}}
    if figure == 200_000:
        assert one.log_ratio("as found", "trimmed") == 0
        assert losses_of([one], "as found", "trimmed") is None
    else:
        said = f"{CELL}: lost or not sent 0.105 % as found, 0 % trimmed (medians)"
        assert losses_of([one], "as found", "trimmed") == Losses(said, ("as found",))


def test_what_a_held_up_generator_did_not_send_is_no_loss_of_the_device(tmp_path, monkeypatch):
    spec = parse_spec(SPEC + '[[traffic]]\nrates = ["100kpps"]\n', ["floor=false"])
    [trial] = make_plan(repeated(spec, 1), states=[FOUND]).trials
    rows = [packet(n, 10_000) for n in range(19_900)]
    rows += [packet(n, None, flags=UNSENT | VOID) for n in range(19_900, 20_000)]
    write_packets(tmp_path / "packets.parquet", rows)
    histogram(tmp_path / "histogram.parquet", {10_000: 19_900})
    counted = counters(due=20_000, unsent=100, void=100)
    measured = Measured(trial, tmp_path, GeneratorResult(counted))
    monkeypatch.setattr(PacketsBench, "run", lambda *_: [measured])

    [one] = PacketsBench(None, spec, "p99.9").measure([FOUND], range(1, 2))

    assert one.figures == {"as found": {CELL: 10_000}}
    assert one.with_void == {"as found": {CELL: inf}}
    assert one.gone == {"as found": {CELL: 0}}
    assert one.gone_with_void == {"as found": {CELL: 0.005}}


def test_the_floor_is_measured_by_the_scouting_run_alone():
    both, bare = (
        parse_spec(SPEC + f'[[traffic]]\nrates = ["100kpps"]\nfloor = {floor}\n')
        for floor in ("true", "false")
    )

    assert repetition_seconds(both, 1) > repetition_seconds(bare, 1)
    assert repetition_seconds(both, 2) == repetition_seconds(bare, 2)
