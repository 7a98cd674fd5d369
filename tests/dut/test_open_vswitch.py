"""An Open vSwitch of one trial, from wherever it is installed."""

from pathlib import Path

import pytest

from taut.core.errors import TrialError
from taut.dut import open_vswitch
from taut.dut.installed import Program, find
from taut.dut.open_vswitch import PLAIN, STRAIGHT, WITH_DPDK, Port, missing_switch, switching
from taut.testbed.scope import RunScope
from taut.testing.frames import LAST_CORE


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


@pytest.fixture
def with_dummies(tmp_path: Path) -> Path:
    """A daemon whose datapath and ports are made up: packets come from its own tool."""
    if (lacks := missing_switch(PLAIN, "")) is not None:
        pytest.skip(lacks)
    program = tmp_path / "with-dummies"
    program.write_text('#!/bin/sh\nexec ovs-vswitchd --enable-dummy "$@"\n')
    program.chmod(0o755)
    return program


@pytest.mark.root
def test_flows_of_several_tables_are_counted_apart_and_what_none_takes(
    with_dummies: Path, scope: RunScope, tmp_path: Path
) -> None:
    flows = """
in_port=1,actions=resubmit(,1)
in_port=2,actions=resubmit(,3)
table=1,priority=0,actions=drop
table=1,udp,tp_dst=9,actions=output:2
table=2,actions=drop
"""
    udp = (
        "in_port(1),eth(src=50:54:00:00:00:05,dst=50:54:00:00:00:07),eth_type(0x0800),"
        "ipv4(src=10.0.0.1,dst=10.0.0.2,proto=17,tos=0,ttl=64,frag=no),udp(src=8,dst=%d)"
    )

    with (
        scope.namespace("ovs") as netns,
        switching(
            str(with_dummies),
            [Port(name, ("type=dummy",)) for name in ("p1", "p2")],
            datapath="dummy",
            other_config=(),
            flows=flows,
            scope=scope,
            cores=LAST_CORE,
            netns=netns,
            log_dir=tmp_path,
        ) as switch,
    ):
        for name, port in (("p1", 9), ("p1", 9), ("p1", 8), ("p2", 9)):
            switch.ask("netdev-dummy/receive", name, udp % port)
        counted, missed = switch.flows(), switch.no_flow()
        switch.end()
        status = switch.daemon.wait(60)
        switch.end()  # that it has ended is no fault

    assert counted == {
        "in_port=1 actions=resubmit(,1)": 3,
        "in_port=2 actions=resubmit(,3)": 1,
        "table=1,udp,tp_dst=9 actions=output:2": 2,
        "table=1,priority=0 actions=drop": 1,
        "table=2,actions=drop": 0,
    }
    assert missed == 1
    assert status == 0


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


@pytest.mark.parametrize(
    ("program", "first_line", "versions"),
    [
        (WITH_DPDK, "3.1.0", ("3.1.0", "22.11.10")),
        (WITH_DPDK, "3.6.1-1.fc43", ("3.6.1", "22.11.10")),
        (PLAIN, "3.1.0", ("3.1.0",)),
        (PLAIN, "3.6.1-1.fc43", ("3.6.1",)),
    ],
)
def test_a_version_may_have_the_suffix_of_a_distribution(
    program: Program,
    first_line: str,
    versions: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`--with-version-suffix`, which Open vSwitch has since 3.4, as Fedora and RHEL build it."""
    daemon = tmp_path / "ovs-vswitchd"
    daemon.write_text(
        f"#!/bin/sh\necho 'ovs-vswitchd (Open vSwitch) {first_line}'\necho 'DPDK 22.11.10'\n"
    )
    daemon.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    found = find(program)

    assert found is not None
    assert found.versions == versions
