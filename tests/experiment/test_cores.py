"""Who gets which core, by the size of the machine."""

import os
from contextlib import nullcontext
from dataclasses import replace

import pytest

from taut.core.cpus import cpuset_cores
from taut.core.errors import InputError
from taut.experiment.cores import Topology, assign_cores, read_topology
from taut.experiment.model import CoreSpec
from taut.host.apart import BY_APPLY, BY_BOOT, refuse_partition
from taut.host.host import Host
from taut.host.journal import Journal
from taut.host.journal_lines import Kept
from taut.host.settings.cpuset_partition import CpusetPartition
from taut.host.settings.thread_affinity import ThreadAffinity

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


def test_each_hop_of_a_chain_has_its_own_core_before_taut_has_one():
    three = assign_cores(AUTO, Topology((0, 1, 2)), 2)
    four = assign_cores(AUTO, Topology((0, 1, 2, 3)), 2)

    assert (three.generator, three.of_device(2), three.runner) == (0, (1, 2), 0)
    assert three.why == (
        "generator on core 0, device on core 1, 2 hops of a chain on cores 1-2, taut itself on "
        "core 0 (there is no other)"
    )
    assert (four.generator, four.of_device(2), four.runner) == (1, (2, 3), 0)
    assert four.measured == (1, 2, 3)
    assert four.of_device(1) == (2,)
    assert four.notes == ()


def test_hops_that_take_turns_on_a_core_are_said():
    cores = assign_cores(AUTO, Topology((0, 1)), 3)

    assert cores.of_device(3) == (1,)
    assert cores.notes[-1].startswith("too few cores: the 3 hops of a chain take turns on 1 (1);")
    assert cores.notes[-1].endswith("4 cores give each its own")


def test_isolated_cores_come_first():
    cores = assign_cores(AUTO, Topology((0, 1, 2, 3), apart={2: "at boot", 3: "at boot"}))

    assert (cores.device, cores.generator, cores.runner) == (2, 3, 0)
    assert cores.to_quiet == (2, 3)


def test_one_isolated_core_is_the_devices():
    cores = assign_cores(AUTO, Topology((0, 1), apart={0: "at boot"}))

    assert (cores.device, cores.generator) == (0, 1)
    assert cores.to_quiet == (0,)


def test_cores_of_another_measurement_come_last():
    cores = assign_cores(AUTO, Topology((0, 1, 2, 3, 4), busy=frozenset({1, 2})))

    assert (cores.generator, cores.device, cores.runner) == (3, 4, 0)


def test_one_line_says_which_core_does_what_and_why():
    topology = Topology((0, 1), apart={1: "set apart by `taut host apply`"})

    assert assign_cores(AUTO, topology).why == (
        "generator on core 0, device on core 1 (set apart by `taut host apply`), taut itself on "
        "core 0 (there is no third)"
    )


def test_threads_of_one_physical_core_are_kept_apart():
    siblings = {0: (0, 1), 1: (0, 1), 2: (2, 3), 3: (2, 3), 4: (4, 5), 5: (4, 5)}

    cores = assign_cores(AUTO, Topology((0, 1, 2, 3, 4, 5), siblings=siblings))

    assert not Topology((), siblings=siblings).are_siblings(cores.generator, cores.device)


IN_TURN = {core: core % 2 for core in range(8)}
"""Nodes on a server whose firmware numbers cores in turn over two sockets."""


def test_generator_and_device_are_on_one_node():
    in_turn = assign_cores(AUTO, Topology(tuple(range(8)), nodes=IN_TURN))
    in_halves = assign_cores(AUTO, Topology((0, 1, 2, 3), nodes={0: 0, 1: 0, 2: 1, 3: 1}))

    assert (in_turn.generator, in_turn.device, in_turn.notes) == (1, 3, ())
    # Of node 0, taut's own core leaves one.
    assert (in_halves.generator, in_halves.device, in_halves.notes) == (2, 3, ())


def test_what_is_left_to_choose_is_on_the_node_of_what_was_asked_for():
    topology = Topology(tuple(range(8)), nodes=IN_TURN)

    by_generator = assign_cores(CoreSpec(generator=4), topology)
    by_device = assign_cores(CoreSpec(device=6), topology)

    assert (by_generator.generator, by_generator.device) == (4, 2)
    assert (by_device.generator, by_device.device) == (2, 6)


def test_hops_of_a_chain_are_on_the_node_of_the_generator():
    cores = assign_cores(AUTO, Topology(tuple(range(8)), nodes=IN_TURN), 2)

    assert (cores.generator, cores.of_device(2)) == (1, (3, 5))


def test_two_nodes_that_were_asked_for_are_said():
    asked = CoreSpec(generator=2, device=5)

    cores = assign_cores(asked, Topology(tuple(range(8)), nodes=IN_TURN))

    assert cores.notes == (
        "generator and device are on NUMA nodes 0 and 1: each packet crosses between them",
    )


def test_isolated_cores_come_before_those_of_the_same_node_and_that_is_said():
    apart = {4: "at boot", 7: "at boot"}

    cores = assign_cores(AUTO, Topology(tuple(range(8)), apart=apart, nodes=IN_TURN))

    assert (cores.device, cores.generator) == (4, 7)
    assert "NUMA nodes 0 and 1" in cores.notes[0]


def test_threads_of_one_physical_core_are_kept_apart_though_that_takes_two_nodes():
    siblings = {0: (0,), 1: (1, 2), 2: (1, 2), 3: (3,)}

    cores = assign_cores(AUTO, Topology((0, 1, 2, 3), siblings=siblings, nodes={1: 0, 2: 0, 3: 1}))

    assert (cores.generator, cores.device) == (1, 3)
    assert "NUMA nodes 0 and 1" in cores.notes[0]


def test_over_cards_each_is_on_the_node_of_its_own():
    nodes = Topology(tuple(range(8)), nodes=IN_TURN)

    apart = assign_cores(AUTO, replace(nodes, cards={"generator": 1, "device": 0}))
    far = assign_cores(CoreSpec(device=3), replace(nodes, cards={"generator": 0, "device": 0}))

    assert (apart.generator, apart.device, apart.notes) == (1, 2, ())
    assert (far.generator, far.device) == (2, 3)
    assert far.notes == (
        "the device's core 3 is on NUMA node 1, its network card on node 0: each packet crosses "
        "between them",
    )


def test_two_threads_of_one_core_are_used_and_said():
    cores = assign_cores(AUTO, Topology((0, 1), siblings={0: (0, 1), 1: (0, 1)}))

    assert any("two threads of one physical core" in note for note in cores.notes)


def test_what_was_asked_for_is_taken():
    cores = assign_cores(CoreSpec(generator=3, device=1, writer=2), Topology((0, 1, 2, 3)))

    assert (cores.generator, cores.device, cores.writer, cores.runner) == (3, 1, 2, 0)


def test_the_writers_core_is_nobody_elses_while_there_are_others():
    four = assign_cores(CoreSpec(writer=1), Topology((0, 1, 2, 3)))
    hops = assign_cores(CoreSpec(writer=1), Topology((0, 1, 2, 3, 4)), 2)

    assert (four.runner, four.writer, four.generator, four.device) == (0, 1, 2, 3)
    assert four.to_quiet == (2, 3)
    assert (hops.runner, hops.generator, hops.of_device(2)) == (0, 2, (3, 4))


def test_with_three_the_writers_core_is_tauts_too():
    three = assign_cores(CoreSpec(writer=1), Topology((0, 1, 2)))
    two = assign_cores(CoreSpec(writer=1), Topology((0, 1)))

    assert (three.runner, three.writer, three.generator, three.device) == (1, 1, 0, 2)
    assert three.to_quiet == (0, 2)
    assert (two.runner, two.writer, two.generator, two.device) == (0, 1, 0, 1)


@pytest.mark.parametrize("n_hops", [1, 2])
def test_the_writer_gets_no_core_of_the_device_while_there_are_others(n_hops):
    asked = CoreSpec(device=1, writer=1)

    with pytest.raises(InputError, match=r"cores\.writer: core 1 is under test, .*core 0 then"):
        assign_cores(asked, Topology((0, 1, 2, 3)), n_hops)


def test_with_two_a_writer_on_the_device_s_core_is_said():
    cores = assign_cores(CoreSpec(device=1, writer=1), Topology((0, 1)))

    assert (cores.device, cores.writer) == (1, 1)
    assert cores.notes[0].startswith("only 2 cores: taut runs on the generator's core 0")
    assert cores.notes[1].startswith("the writer of records runs on the device's core 1: they")


def test_no_helper_works_where_another_measurement_runs():
    cores = assign_cores(AUTO, Topology((0, 1, 2, 3, 4), busy=frozenset({0, 1})))

    assert (cores.runner, cores.writer, cores.generator, cores.device) == (2, 2, 3, 4)


def test_where_others_measure_on_all_that_is_left_taut_shares_its_generators_core():
    topology = Topology((0, 1, 2, 3), busy=frozenset({0, 1}))

    cores = assign_cores(CoreSpec(generator=2, device=3), topology)

    assert (cores.runner, cores.writer) == (2, 2)
    assert cores.notes[0].startswith("others measure on the rest: taut and the writer")
    assert cores.why.endswith("taut itself on core 2 (no other is free)")


def test_a_core_that_is_not_there_is_one_line():
    with pytest.raises(InputError, match=r"cores\.device: core 9 cannot be used here.*0-1"):
        assign_cores(CoreSpec(device=9), Topology((0, 1)))


def test_isolated_cores_count_though_the_scheduler_gives_none_to_anybody(tmp_path):
    cpu = tmp_path / "sys/devices/system/cpu"
    for core in range(4):
        (cpu / f"cpu{core}/topology").mkdir(parents=True)
        (cpu / f"cpu{core}/topology/thread_siblings_list").write_text(f"{core}\n")
    (cpu / "isolated").write_text("2-3\n")
    for node, cores in enumerate(("0,2", "1,3")):
        (tmp_path / f"sys/devices/system/node/node{node}").mkdir(parents=True)
        (tmp_path / f"sys/devices/system/node/node{node}/cpulist").write_text(f"{cores}\n")

    topology = read_topology(Host(tmp_path), usable=(0, 1))

    assert topology.usable == (0, 1, 2, 3)
    assert topology.apart == {2: BY_BOOT, 3: BY_BOOT}
    assert topology.siblings[3] == (3,)
    assert topology.nodes == {0: 0, 2: 0, 1: 1, 3: 1}


@pytest.mark.skipif(len(cpuset_cores()) < 2, reason="one core: nothing to lose")
def test_a_callers_affinity_takes_no_core_away():
    """What `taut host apply` leaves a shell with: it was moved off the cores it set apart."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        topology = read_topology(Host())
        after = os.sched_getaffinity(0)
    finally:
        os.sched_setaffinity(0, before)

    assert topology.usable == cpuset_cores()
    assert len(topology.usable) > 1
    assert after == {min(before)}


def test_cores_an_apply_set_apart_are_known_by_its_journal(tmp_path):
    host = Host(tmp_path)
    (tmp_path / "sys/devices/system/cpu").mkdir(parents=True)
    (tmp_path / "sys/devices/system/cpu/online").write_text("0-3\n")
    journal = Journal(host)
    journal.folder.mkdir(parents=True)
    partition = CpusetPartition("taut")
    journal.begin([("K04-now", Kept(partition, ""), "2-3", ())])

    assert read_topology(host, usable=(0, 1, 2, 3)).apart == {2: BY_APPLY, 3: BY_APPLY}


@pytest.mark.parametrize("version", [1, 2])
def test_a_partition_of_version_2_lets_no_run_begin(tmp_path, version):
    host = Host(tmp_path)
    root = tmp_path / "sys/fs/cgroup"
    root.mkdir(parents=True)
    if version == 2:
        (root / "cgroup.controllers").write_text("cpuset cpu\n")
    journal = Journal(host)
    journal.folder.mkdir(parents=True)
    journal.begin([("K04-now", Kept(CpusetPartition("taut"), ""), "2-3", ())])

    refused = pytest.raises(InputError, match=r"^cores 2-3 are set apart: .*; `taut host undo`")
    with refused if version == 2 else nullcontext():
        refuse_partition(host)


def test_without_cpusets_cores_that_threads_were_moved_off_are_apart(tmp_path):
    host = Host(tmp_path)
    (tmp_path / "sys/devices/system/cpu").mkdir(parents=True)
    (tmp_path / "sys/devices/system/cpu/online").write_text("0-3\n")
    journal = Journal(host)
    journal.folder.mkdir(parents=True)
    moved = [ThreadAffinity(number, "kworker", 1) for number in (7, 8)]
    journal.begin([("R24-now", Kept(thread, "0-3"), "0-2", ()) for thread in moved])

    assert dict(read_topology(host, usable=(0, 1)).apart) == {3: BY_APPLY}
