from dataclasses import replace

import pytest

from made_run import VARIANTS, MadeTrial, MadeVariant, make_run
from taut.analysis.load import loads_in_order
from taut.analysis.results import analyse_run
from taut.records.rundir import RunDirectory
from taut.report.palette import LIGHT
from taut.report.scene import list_devices, make_scenes


def test_main_load_comes_first_and_floors_lead(analysed):
    scenes = make_scenes([analysed], loads_in_order(analysed[1].variants))

    assert [scene.title for scene in scenes] == ["100 kpkt/s, 64 B", "200 kpkt/s, 64 B"]
    assert [d.label for d in scenes[0].devices] == ["floor", "eager", "buffered", "linux_bridge"]
    assert scenes[0].colours == scenes[1].colours


def test_floors_over_two_links_are_told_apart(tmp_path):
    floor = VARIANTS[0]
    run = RunDirectory(
        make_run(tmp_path / "run", (floor, replace(floor, link="veth")), repetitions=1)
    )

    labels = [d.label for d in list_devices([(run, analyse_run(run))])]

    assert labels == ["floor (memif)", "floor (veth)"]


def test_states_of_a_device_stand_together_in_shades_of_its_colour(tmp_path):
    trial = MadeTrial(n_packets=500, n_cold=10, device_stall=None, generator_gap=None)
    variants = [
        MadeVariant(name, "taut_forward", trial, host=state)
        for state in ("as found", "trimmed")
        for name in ("eager", "buffered")
    ]
    run = RunDirectory(make_run(tmp_path / "run", tuple(variants), repetitions=1))
    document = analyse_run(run)

    [scene] = make_scenes([(run, document)], loads_in_order(document.variants))

    assert scene.colours == {
        "eager, as found": "@device1",
        "eager, trimmed": "@device1-1",
        "buffered, as found": "@device2",
        "buffered, trimmed": "@device2-1",
    }
    assert [d.label for d in scene.devices] == list(scene.colours)


def test_in_more_states_than_there_are_shades_each_label_has_its_own_colour(tmp_path):
    trial = MadeTrial(n_packets=500, n_cold=10, device_stall=None, generator_gap=None)
    states = ("as found", "one", "two", "three", "four")
    variants = tuple(MadeVariant("eager", "taut_forward", trial, host=state) for state in states)
    run = RunDirectory(make_run(tmp_path / "run", variants, repetitions=1))
    document = analyse_run(run)

    [scene] = make_scenes([(run, document)], loads_in_order(document.variants))

    assert len(set(scene.colours.values())) == len(states)


@pytest.mark.parametrize(("n_devices", "n_states"), [(1, 6), (3, 6), (9, 2), (11, 1)])
def test_no_two_series_have_one_colour_as_long_as_there_are_shades(n_devices, n_states, analysed):
    _, document = analysed
    floor = next(row for row in document.variants if row.is_floor)
    other = next(row for row in document.variants if not row.is_floor and row.load == floor.load)
    variants = [
        replace(row, device=replace(row.device, dut=name, host=f"state {state}"))
        for state in range(n_states)
        for name, row in [("floor", floor), *((f"device {n}", other) for n in range(n_devices))]
    ]
    run = (analysed[0], replace(document, variants=tuple(variants)))

    [scene] = make_scenes([run], loads_in_order(variants))

    assert len(scene.colours) == (n_devices + 1) * n_states
    assert len(set(scene.colours.values())) == len(scene.colours)
    assert set(scene.colours.values()) <= set(LIGHT)


def test_devices_of_two_runs_carry_the_run(analysed, tmp_path):
    run, document = analysed
    other = (RunDirectory(tmp_path / "other"), document)
    alike = (RunDirectory(tmp_path / run.path.name), document)

    of_two = [d.label for d in list_devices([analysed, other])]
    of_alike = [d.label for d in list_devices([analysed, alike])]
    as_asked = [d.label for d in list_devices([analysed, other], ["A", "B"])]

    n = len(of_two) // 2
    assert all(label.endswith("(run)") for label in of_two[:n])
    assert all(label.endswith("(other)") for label in of_two[n:])
    assert len(set(of_alike)) == len(set(of_two))
    assert {label.rpartition(" ")[2] for label in as_asked} == {"(A)", "(B)"}


def test_distribution_of_repetitions_adds_up(analysed):
    device = next(d for d in list_devices([analysed]) if d.label == "eager")

    _, n = device.counts("latency")

    assert n.sum() == device.row.latency.n
    assert len(device.worst(100)) == 100
