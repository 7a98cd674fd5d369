"""An Open vSwitch of one trial, from wherever it is installed."""

from pathlib import Path

import pytest

from taut.core.errors import TrialError
from taut.dut import open_vswitch
from taut.dut.open_vswitch import PLAIN, STRAIGHT, switching
from taut.testbed.scope import RunScope


def test_its_database_has_the_schema_of_its_own_installation(
    scope: RunScope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*argv: str) -> str:
        raise TrialError(" ".join(argv))

    monkeypatch.setattr(open_vswitch, "_run", refuse)

    with (
        pytest.raises(TrialError) as raised,
        switching(
            "ovs-vswitchd",
            [],
            datapath="system",
            other_config=(),
            flows=STRAIGHT,
            scope=scope,
            cores=(0,),
            netns="none",
            log_dir=tmp_path,
        ),
    ):
        pass

    assert str(raised.value) == f"ovsdb-tool create {scope.folder}/ovs/conf.db"


def test_flows_that_are_no_utf_8_are_refused_by_their_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ovs-ofctl takes them, in a comment."""
    for name in open_vswitch._TOOLS:
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(open_vswitch, "missing", lambda _: None)
    flows = tmp_path / "flows"
    flows.write_bytes(b"in_port=1,actions=output:2\n# Gr\xfc\xdfe\n")

    said = open_vswitch.missing_switch(PLAIN, str(flows))

    assert said == f"{flows}: line 2: not UTF-8; save it as such, or leave that comment out"
