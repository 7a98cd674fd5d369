import os
from pathlib import Path
from typing import Any

import pytest

from taut.host.host import Host


def _write(root: Path, path: str, text: str) -> None:
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_a_file_is_read_without_blanks(tmp_path: Path) -> None:
    _write(tmp_path, "/proc/sys/a", " 5\n")

    assert Host(tmp_path).read("/proc/sys/a") == "5"


def test_what_is_not_there_is_none(tmp_path: Path) -> None:
    host = Host(tmp_path)

    assert host.read("/proc/nothing") is None
    assert host.names("/proc") == []
    assert host.link_target("/x") is None
    assert host.cores("/x") == ()


def test_a_folder_that_goes_while_others_are_listed_costs_its_own_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for process in (1, 2, 3):
        _write(tmp_path, f"/proc/{process}/task/{process}/stat", "")
    listed = os.scandir

    def scandir(path: Any) -> Any:
        if Path(path) == tmp_path / "proc/2/task":
            (tmp_path / "proc/2").rename(tmp_path / "gone")
        return listed(path)

    monkeypatch.setattr("os.scandir", scandir)

    assert Host(tmp_path).paths("/proc/[0-9]*/task/[0-9]*") == ["/proc/1/task/1", "/proc/3/task/3"]


def test_cores_are_lists(tmp_path: Path) -> None:
    _write(tmp_path, "/sys/devices/system/cpu/online", "0-1,3\n")
    _write(tmp_path, "/sys/devices/system/cpu/isolated", "\n")
    # What kernels without nohz_full say.
    _write(tmp_path, "/sys/devices/system/cpu/nohz_full", "  (null)\n")
    host = Host(tmp_path)

    assert host.online_cores() == (0, 1, 3)
    assert host.isolated_cores() == ()
    assert host.cores("/sys/devices/system/cpu/nohz_full") == ()


def test_cores_have_the_nodes_that_list_them(tmp_path: Path) -> None:
    _write(tmp_path, "/sys/devices/system/node/node0/cpulist", "0,2\n")
    _write(tmp_path, "/sys/devices/system/node/node10/cpulist", "1,3\n")
    # Memory alone.
    _write(tmp_path, "/sys/devices/system/node/node2/cpulist", "\n")

    assert Host(tmp_path).nodes() == {0: 0, 2: 0, 1: 10, 3: 10}
    assert Host(tmp_path / "other").nodes() == {}


def test_the_first_of_each_field_counts(tmp_path: Path) -> None:
    _write(tmp_path, "/proc/cpuinfo", "model name\t: A: B\n\nmodel name\t: C\n")

    assert Host(tmp_path).fields("/proc/cpuinfo") == {"model name": "A: B"}
