import os
from pathlib import Path

import pytest

from host_threads import thread_files
from host_tree import Link, TreeWriter, put, tree
from taut.core.errors import MissingToolError
from taut.host import capability
from taut.host.apply import Wish, apply_changes
from taut.host.capability import Status
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings import ThreadAffinity
from taut.records.documents.json_form import parse
from taut.records.documents.trial import ClockReading
from taut.testbed.links import LINKS


def _cores(root: Path, online: str, isolated: str = "") -> Host:
    folder = root / "sys/devices/system/cpu"
    folder.mkdir(parents=True)
    (folder / "online").write_text(online)
    (folder / "isolated").write_text(isolated)
    return Host(root)


@pytest.mark.parametrize(
    ("online", "status"), [("0", Status.LIMITED), ("0-1", Status.LIMITED), ("0-3", Status.YES)]
)
def test_two_cores_measure_and_three_measure_better(
    tmp_path: Path, online: str, status: Status
) -> None:
    found = capability.check_cores(_cores(tmp_path, online))

    assert found.status == status
    assert bool(found.remedy) == (status != Status.YES)


def test_the_cores_of_a_container_count(tmp_path: Path) -> None:
    host = _cores(tmp_path, "0-63")
    put(tmp_path, "/proc/self/status", "Cpus_allowed_list:\t3\n")

    found = capability.check_cores(host)

    assert found.status == Status.LIMITED
    assert found.observed == "64 online (0-63), 1 to use here (3)"


def test_cores_beyond_those_that_taut_can_name_are_counted(tmp_path: Path) -> None:
    found = capability.check_cores(_cores(tmp_path, "0-2047"))

    assert (found.status, found.observed) == (Status.YES, "2048 online (0-2047)")


def test_isolation_is_seen(tmp_path: Path) -> None:
    found = capability.check_isolation(_cores(tmp_path, "0-3", "2-3"))

    assert (found.status, found.observed) == (Status.YES, "cores 2-3 isolated at boot")
    assert capability.check_isolation(_cores(tmp_path / "none", "0-3")).status == Status.LIMITED


def test_cores_that_are_set_apart_without_a_boot_are_isolated(tmp_path: Path) -> None:
    by_cpuset = _cores(tmp_path / "cpuset", "0-3", "3")
    put(by_cpuset.root, "/sys/fs/cgroup/cpuset.cpus.isolated", "2\n")
    found = capability.check_isolation(by_cpuset)
    assert found.status == Status.YES
    assert found.observed == "core 2 isolated by cpusets; core 3 isolated at boot"

    by_apply = _cores(tmp_path / "apply", "0-3")
    tree(by_apply.root, thread_files(700, "cc1", "0-3"))
    away = Change(ThreadAffinity(700, "cc1", 7000), "0-1")
    apply_changes(by_apply, TreeWriter(by_apply), [Wish("R24-now", away)])
    found = capability.check_isolation(by_apply)
    assert found.status == Status.YES
    assert found.observed == "cores 2-3 set apart by `taut host apply`"


@pytest.mark.parametrize(
    ("free", "status"), [("0", Status.LIMITED), ("95", Status.LIMITED), ("96", Status.YES)]
)
def test_pages_that_nobody_here_may_add_are_not_promised(
    free: str, status: Status, tmp_path: Path
) -> None:
    pages = "/sys/kernel/mm/hugepages/hugepages-2048kB"
    # A number that not even root may write, as where /sys is read-only.
    fixed = Link("/proc/sys/kernel/ngroups_max")
    host = tree(tmp_path, {f"{pages}/nr_hugepages": fixed, f"{pages}/free_hugepages": f"{free}\n"})

    found = capability.check_hugepages(host)

    assert found.status == status
    assert "a run adds" not in found.observed


def _clock_says(monkeypatch: pytest.MonkeyPatch, answer: dict[str, object]) -> None:
    monkeypatch.setattr(
        capability, "read_clock", lambda cores: parse(ClockReading, answer, "clock")
    )


def test_a_clock_that_cannot_be_used_is_required_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _clock_says(monkeypatch, {"usable": False, "why": "no constant_tsc"})

    found = capability.check_clock(Host(tmp_path))

    assert found.status == Status.NO
    assert found.is_required
    assert "constant_tsc" in found.observed


def test_a_usable_clock_shows_rate_and_skew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skew = [{"cores": [0, 1], "skew_ns": -12, "uncertainty_ns": 3}]
    _clock_says(monkeypatch, {"usable": True, "tsc_hz": 2.5e9, "skew": skew})

    found = capability.check_clock(Host(tmp_path))

    assert found.status == Status.YES
    assert "2500.000 MHz" in found.observed
    assert "12 ns" in found.observed


def test_a_clock_program_that_is_not_built_has_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_built(cores: object) -> dict[str, object]:
        raise MissingToolError("taut-clock: program not found; run `make build`")

    monkeypatch.setattr(capability, "read_clock", not_built)

    assert capability.check_clock(Host(tmp_path)).remedy == "run `make build`"


def test_every_check_answers_on_any_machine(tmp_path: Path) -> None:
    found = capability.capabilities(Host(tmp_path))

    assert len({row.name for row in found}) == len(found)
    assert all(row.observed for row in found)
    assert all(row.remedy for row in found if row.status != Status.YES)


def test_without_root_each_link_that_works_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    works = [name for name, kind in LINKS.items() if kind.missing() is None]

    found = capability.check_root(Host(tmp_path))

    assert works == ["memif", "virtio", "vhost"]
    assert found.observed == "user 1000: memif, virtio and vhost only, without hugepages"
