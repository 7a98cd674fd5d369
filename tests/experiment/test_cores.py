"""Who gets which core, by the size of the machine."""

import pytest

from taut.core.errors import InputError
from taut.experiment.cores import Topology, assign_cores, read_topology
from taut.experiment.model import CoreSpec
from taut.host.host import Host

AUTO = CoreSpec()


def test_one_core_is_shared_and_said():
    cores = assign_cores(AUTO, Topology((0,)))

    assert (cores.generator, cores.device, cores.runner) == (0, 0, 0)
    assert cores.shared
    assert "too few cores" in cores.notes[0]


def test_with_two_taut_stays_on_the_generators_core_and_says_so():
    cores = assign_cores(AUTO, Topology((0, 1)))

    assert (cores.generator, cores.device, cores.writer, cores.runner) == (0, 1, 0, 0)
    assert not cores.shared
    assert "only 2 cores" in cores.notes[0]


def test_with_four_core_0_keeps_house():
    cores = assign_cores(AUTO, Topology((0, 1, 2, 3)))

    assert (cores.runner, cores.writer, cores.generator, cores.device) == (0, 0, 1, 2)
    assert cores.notes == ()


def test_isolated_cores_come_first():
    cores = assign_cores(AUTO, Topology((0, 1, 2, 3), isolated=(2, 3)))

    assert {cores.generator, cores.device} == {2, 3}


def test_threads_of_one_physical_core_are_kept_apart():
    siblings = {0: (0, 1), 1: (0, 1), 2: (2, 3), 3: (2, 3), 4: (4, 5), 5: (4, 5)}

    cores = assign_cores(AUTO, Topology((0, 1, 2, 3, 4, 5), siblings=siblings))

    assert not Topology((), siblings=siblings).are_siblings(cores.generator, cores.device)


def test_two_threads_of_one_core_are_used_and_said():
    cores = assign_cores(AUTO, Topology((0, 1), siblings={0: (0, 1), 1: (0, 1)}))

    assert any("two threads of one physical core" in note for note in cores.notes)


def test_what_was_asked_for_is_taken():
    cores = assign_cores(CoreSpec(generator=3, device=1, writer=2), Topology((0, 1, 2, 3)))

    assert (cores.generator, cores.device, cores.writer, cores.runner) == (3, 1, 2, 0)


def test_a_core_that_is_not_there_is_one_line():
    with pytest.raises(InputError, match=r"cores\.device: core 9 cannot be used here.*0-1"):
        assign_cores(CoreSpec(device=9), Topology((0, 1)))


def test_isolated_cores_count_though_the_scheduler_gives_none_to_anybody(tmp_path):
    cpu = tmp_path / "sys/devices/system/cpu"
    for core in range(4):
        (cpu / f"cpu{core}/topology").mkdir(parents=True)
        (cpu / f"cpu{core}/topology/thread_siblings_list").write_text(f"{core}\n")
    (cpu / "isolated").write_text("2-3\n")

    topology = read_topology(Host(tmp_path), usable=(0, 1))

    assert topology.usable == (0, 1, 2, 3)
    assert topology.isolated == (2, 3)
    assert topology.siblings[3] == (3,)
