"""An Open vSwitch of one trial, from wherever it is installed."""

from pathlib import Path

import pytest

from taut.core.errors import TrialError
from taut.dut import open_vswitch
from taut.dut.open_vswitch import STRAIGHT, switching
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
