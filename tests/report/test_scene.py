from dataclasses import replace

from made_run import VARIANTS, make_run
from taut.analysis.load import loads_in_order
from taut.analysis.results import analyse_run
from taut.records.rundir import RunDirectory
from taut.report.scene import list_devices, make_scenes


def test_main_load_comes_first_and_floors_lead(analysed):
    scenes = make_scenes([analysed], loads_in_order(analysed[1]["variants"]))

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


def test_devices_of_two_runs_carry_the_run(analysed):
    labels = [d.label for d in list_devices([analysed, analysed])]

    assert all(label.endswith("(run)") for label in labels)


def test_distribution_of_repetitions_adds_up(analysed):
    device = next(d for d in list_devices([analysed]) if d.label == "eager")

    _, n = device.counts("latency")

    assert n.sum() == device.row["latency_ns"]["n"]
    assert len(device.worst(100)) == 100
