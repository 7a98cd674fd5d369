import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from taut.testbed import cleanup, hugepages
from taut.testbed.guest.kernel import Kernel
from taut.testbed.guest.qemu import EMULATION, KVM, Shape
from taut.testbed.owner import HugepageGrant, owner_of
from taut.testbed.placement import Tenant
from taut.testbed.placements.vm import Guests, VmOptions
from taut.testbed.scope import RunScope


@pytest.fixture
def nr(tmp_path: Path) -> Path:
    path = tmp_path / "nr_hugepages"
    path.write_text("10\n")
    return path


def _count(nr: Path) -> int:
    return int(nr.read_text())


def test_pages_are_added_and_given_back(nr: Path) -> None:
    grant = hugepages.take(hugepages.plan_grant(64, nr))

    assert (_count(nr), grant.added) == (74, 64)

    hugepages.give_back(hugepages.plan_return(grant))

    assert _count(nr) == 10


def test_pages_others_added_stay(nr: Path) -> None:
    ours = hugepages.take(hugepages.plan_grant(64, nr))
    theirs = hugepages.take(hugepages.plan_grant(32, nr, [ours]))

    hugepages.give_back(hugepages.plan_return(ours, [theirs]))

    assert _count(nr) == 42


@pytest.mark.parametrize("count", [5, 40, 512], ids=["below", "between", "above"])
@pytest.mark.parametrize("meanwhile", [0, 32], ids=["alone", "with another run"])
def test_the_count_that_an_administrator_set_stays(nr: Path, count: int, meanwhile: int) -> None:
    ours = hugepages.take(hugepages.plan_grant(64, nr))
    others = [hugepages.take(hugepages.plan_grant(meanwhile, nr, [ours]))]
    nr.write_text(f"{count}\n")

    hugepages.give_back(hugepages.plan_return(ours, others))

    assert _count(nr) == count


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["in turn", "in reverse"])
def test_what_was_taken_after_an_administrator_is_given_back(
    nr: Path, order: tuple[int, int]
) -> None:
    first = hugepages.take(hugepages.plan_grant(64, nr))
    nr.write_text("512\n")
    grants = [first, hugepages.take(hugepages.plan_grant(32, nr, [first]))]
    assert _count(nr) == 512 + 32

    hugepages.give_back(hugepages.plan_return(grants[order[0]], [grants[order[1]]]))
    hugepages.give_back(hugepages.plan_return(grants[order[1]]))

    assert _count(nr) == 512


def test_a_grant_of_an_older_taut_is_given_back(nr: Path) -> None:
    nr.write_text("74\n")

    hugepages.give_back(hugepages.plan_return(HugepageGrant(str(nr), 10, asked=64, added=64)))

    assert _count(nr) == 10


def test_where_all_pages_are_of_runs_they_are_given_back(nr: Path) -> None:
    """A state of the host was left since: what was found when they were taken is gone."""
    nr.write_text("512\n")
    first = hugepages.take(hugepages.plan_grant(64, nr))
    second = hugepages.take(hugepages.plan_grant(32, nr, [first]))
    nr.write_text(f"{64 + 32}\n")

    hugepages.give_back(hugepages.plan_return(first, [second]))
    hugepages.give_back(hugepages.plan_return(second))

    assert _count(nr) == 0


@pytest.mark.parametrize("step", [1, -1], ids=["in turn", "in reverse"])
def test_pages_taken_in_and_after_a_state_of_the_host_are_given_back(nr: Path, step: int) -> None:
    """What takes the host out of a state leaves pages that were taken in it."""
    grants = [hugepages.take(hugepages.plan_grant(64, nr))]
    nr.write_text("1024\n")
    grants += [hugepages.take(hugepages.plan_grant(32, nr, grants))]
    nr.write_text(f"{10 + 64 + 32}\n")
    grants += [hugepages.take(hugepages.plan_grant(16, nr, grants))]

    first, *rest = grants[::step]
    hugepages.give_back(hugepages.plan_return(first, rest))
    hugepages.give_back(hugepages.plan_return(rest[0], rest[1:]))
    hugepages.give_back(hugepages.plan_return(rest[1]))

    assert _count(nr) == 10


def test_killed_before_the_pages_were_taken_gives_nothing_back(nr: Path) -> None:
    intended = hugepages.plan_grant(64, nr)

    hugepages.give_back(hugepages.plan_return(hugepages.settle(intended)))

    assert _count(nr) == 10


def test_killed_after_the_pages_were_taken_gives_them_back(nr: Path) -> None:
    intended = hugepages.plan_grant(64, nr)
    hugepages.take(intended)

    hugepages.give_back(hugepages.plan_return(hugepages.settle(intended)))

    assert _count(nr) == 10


@pytest.mark.parametrize("was_written", [False, True])
def test_a_return_that_was_killed_is_repeated_safely(nr: Path, was_written: bool) -> None:
    grant = hugepages.take(hugepages.plan_grant(64, nr))
    plan = hugepages.plan_return(grant)
    if was_written:
        hugepages.give_back(plan)

    hugepages.give_back(hugepages.plan_return(hugepages.settle(plan)))

    assert _count(nr) == 10


@pytest.fixture
def devices(tmp_path: Path) -> Path:
    """Two nodes with a core and a count of 5 each."""
    for node in (0, 1):
        folder = tmp_path / f"devices/node/node{node}"
        (folder / "hugepages/hugepages-2048kB").mkdir(parents=True)
        (folder / "hugepages/hugepages-2048kB/nr_hugepages").write_text("5\n")
        (tmp_path / f"devices/cpu/cpu{node}").mkdir(parents=True)
        (tmp_path / f"devices/cpu/cpu{node}/node{node}").symlink_to(folder)
    return tmp_path / "devices"


def test_the_node_of_a_core_gives_first_and_gets_back(nr: Path, devices: Path) -> None:
    other, near = (hugepages.count_near(core, devices) for core in (0, 1))
    assert other is not None
    assert near is not None

    grant = hugepages.take(hugepages.plan_grant(64, nr, near=near))

    assert (_count(near), _count(other), _count(nr), grant.added) == (69, 5, 74, 64)

    hugepages.give_back(hugepages.plan_return(grant))

    assert (_count(near), _count(other), _count(nr)) == (5, 5, 10)


def test_a_killed_return_of_a_node_s_pages_is_finished(nr: Path, devices: Path) -> None:
    near = hugepages.count_near(1, devices)
    assert near is not None
    plan = hugepages.plan_return(hugepages.take(hugepages.plan_grant(64, nr, near=near)))

    hugepages.give_back(hugepages.plan_return(hugepages.settle(plan)))

    assert (_count(near), _count(nr)) == (5, 10)


def test_with_one_node_no_node_is_asked(nr: Path, devices: Path) -> None:
    shutil.rmtree(devices / "node/node1")

    assert hugepages.count_near(0, devices) is None
    assert hugepages.count_on(0, devices) is None
    assert hugepages.count_near(0, devices / "nowhere") is None


@pytest.fixture
def base(tmp_path: Path, nr: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A base folder whose runs take their pages from `nr`."""
    locked, plan_grant = hugepages.locked, hugepages.plan_grant
    monkeypatch.setattr(hugepages, "locked", lambda: locked(nr))
    monkeypatch.setattr(hugepages, "plan_grant", lambda n, **more: plan_grant(n, nr, **more))
    monkeypatch.setattr(hugepages, "may_change", lambda: True)
    (tmp_path / "base").mkdir()
    return tmp_path / "base"


def _run(base: Path, name: str, grant: HugepageGrant) -> Path:
    folder = base / name
    folder.mkdir()
    replace(owner_of(name, os.getpid()), hugepages=(grant,)).write(folder)
    return folder


def test_a_killed_return_is_finished_after_another_run_gave_its_own_back(
    base: Path, nr: Path
) -> None:
    first = hugepages.take(hugepages.plan_grant(64))
    second = hugepages.take(hugepages.plan_grant(64, others=[first]))
    # A cleanup of the first died between its plan and the write.
    killed = _run(base, "aaaa", hugepages.plan_return(first, [second]))
    other = _run(base, "bbbb", second)

    cleanup.remove_run(other)
    cleanup.remove_run(killed)

    assert _count(nr) == 10


def test_pages_taken_by_one_that_died_are_known_before_the_next_run_takes_its_own(
    base: Path, nr: Path
) -> None:
    intended = hugepages.plan_grant(64)
    hugepages.take(intended)
    killed = _run(base, "aaaa", intended)

    with RunScope(base) as scope:
        assert scope.add_hugepages(32) == 32
        cleanup.remove_run(killed)
        assert _count(nr) == 10 + 32

    assert _count(nr) == 10


def test_pages_that_come_back_are_lent_again_until_the_run_ends(base: Path, nr: Path) -> None:
    with RunScope(base) as scope:
        for _ in range(3):
            with scope.lent_hugepages(64) as first, scope.lent_hugepages(32) as second:
                assert (first, second) == (64, 32)
        with scope.lent_hugepages(100) as more:
            assert more == 100
        assert _count(nr) == 10 + 100

    assert _count(nr) == 10


def test_a_run_takes_its_pages_near_a_core_and_gives_them_back(
    base: Path, nr: Path, devices: Path
) -> None:
    near = hugepages.count_near(1, devices)
    assert near is not None

    with RunScope(base) as scope:
        assert scope.add_hugepages(64, near) == 64
        assert (_count(near), _count(nr)) == (69, 74)

    assert (_count(near), _count(nr)) == (5, 10)


def test_pages_are_lent_again_on_their_node_alone(base: Path, nr: Path, devices: Path) -> None:
    of_core_0, of_core_1 = (hugepages.count_near(core, devices) for core in (0, 1))
    of_node_0, of_node_1 = (hugepages.count_on(node, devices) for node in (0, 1))

    with RunScope(base) as scope:
        for near in (of_core_0, of_core_1, of_node_1, None, of_node_0):
            with scope.lent_hugepages(64, near):
                pass
        assert _count(nr) == 10 + 3 * 64


def test_a_run_whose_folder_somebody_removed_gives_its_pages_back(base: Path, nr: Path) -> None:
    with RunScope(base) as scope:
        scope.add_hugepages(64)
        shutil.rmtree(scope.folder)

    assert _count(nr) == 10


def test_pages_that_another_gave_back_are_not_given_back_twice(base: Path, nr: Path) -> None:
    with RunScope(base) as scope:
        scope.add_hugepages(64)
        cleanup.remove_run(scope.folder)
        nr.write_text("40\n")

    assert _count(nr) == 40


def test_a_run_says_that_its_pages_stay_because_somebody_else_set_their_number(
    base: Path, nr: Path
) -> None:
    warned: list[str] = []
    with RunScope(base, warned.append) as scope:
        scope.add_hugepages(64)
        nr.write_text("512\n")

    assert _count(nr) == 512
    assert warned == [
        f"run {scope.id}: none of 64 hugepages given back: somebody else has changed their number, "
        "now 512"
    ]


def test_pages_that_stay_are_told_where_a_dead_runs_things_are_removed(
    base: Path, nr: Path
) -> None:
    killed = _run(base, "aaaa", hugepages.take(hugepages.plan_grant(64)))
    nr.write_text("512\n")

    removed = cleanup.remove_run(killed)

    assert removed == [
        "run aaaa: none of 64 hugepages given back: somebody else has changed their number, "
        "now 512",
        f"folder {killed}",
    ]


def test_guests_one_after_the_other_share_their_pages(base: Path, nr: Path, tmp_path: Path) -> None:
    kernel = Kernel("6.1", tmp_path / "vmlinuz", tmp_path / "config", ())
    by_kvm = Shape(kernel, tmp_path / "initrd", "", memory_mib=512, accelerator=KVM)
    emulated = replace(by_kvm, accelerator=EMULATION)
    tenant = Tenant("taut_forward", "vhost", (1,), (0,), (), tmp_path)

    with RunScope(base) as scope:
        for shape in (emulated, by_kvm, by_kvm, emulated):
            guests = Guests(VmOptions(), tenant, scope)
            with guests._on_hugepages(shape) as placed:
                assert placed.on_hugepages == (shape is by_kvm)
        assert _count(nr) == 10 + 256

    assert _count(nr) == 10


def test_a_guest_that_does_not_fit_is_on_no_hugepages(
    base: Path, nr: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hugepages, "may_change", lambda: False)
    kernel = Kernel("6.1", tmp_path / "vmlinuz", tmp_path / "config", ())
    shape = Shape(kernel, tmp_path / "initrd", "", accelerator=KVM)
    tenant = Tenant("taut_forward", "vhost", (1,), (0,), (), tmp_path)

    with (
        RunScope(base) as scope,
        Guests(VmOptions(), tenant, scope)._on_hugepages(shape) as placed,
    ):
        assert not placed.on_hugepages
