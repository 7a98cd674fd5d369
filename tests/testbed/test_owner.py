import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from taut.core.processes import process_start_time
from taut.testbed.owner import HugepageGrant, owner_of, read_owner


def test_an_owner_reads_back(tmp_path: Path) -> None:
    grant = HugepageGrant("/x", 0, 64, None, by_node={"/y": 30, "/z": 34})
    owner = replace(
        owner_of("ab12", os.getpid()), hugepages=(grant,), temporary=(str(tmp_path / "t"),)
    )

    owner.write(tmp_path)

    assert read_owner(tmp_path) == owner


def test_this_process_is_alive_and_one_with_its_pid_is_not_it() -> None:
    owner = owner_of("ab12", os.getpid())

    assert owner.is_alive()
    assert not replace(owner, start_time=owner.start_time - 1).is_alive()
    assert not replace(owner, boot_id="another").is_alive()


def test_an_owner_that_cannot_be_looked_up_is_left_alone() -> None:
    owner = replace(owner_of("ab12", os.getpid()), start_time=1, pid_namespace="pid:[1]")

    assert owner.is_alive()
    assert not replace(owner, boot_id="another").is_alive()


def test_a_process_that_has_ended_but_was_not_waited_for_is_dead() -> None:
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

    assert process_start_time(process.pid) is None

    process.wait()


def test_another_versions_owner_is_understood(tmp_path: Path) -> None:
    document = {"format": 1, "run_id": "ab12", "pid": 1, "start_time": 2, "boot_id": "b"}
    document |= {"hugepages": [], "temporary": ["/x"], "colour": "red"}
    (tmp_path / "owner.json").write_text(json.dumps(document))

    owner = read_owner(tmp_path)

    assert owner is not None
    assert owner.temporary == ("/x",)


@pytest.mark.parametrize("text", ["", "[]", "{}", json.dumps({"format": 99})])
def test_what_is_no_owner_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "owner.json").write_text(text)

    assert read_owner(tmp_path) is None
