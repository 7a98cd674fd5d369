from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest

from host_tree import tree
from inline_lab import skip_without, through
from taut.core.errors import TrialError
from taut.dut.drivers import ovs_kernel
from taut.dut.drivers.ovs_kernel import OvsKernelDriver, OvsKernelOptions
from taut.dut.installed import Found
from taut.dut.kernel_device import RunningKernel
from taut.dut.open_vswitch import Switch, switching
from taut.experiment.restart import BEFORE, Restartable
from taut.host.host import Host
from taut.host.situation import Waiting
from taut.testbed.link import Link
from taut.testbed.scope import RunScope

DRIVER = OvsKernelDriver()
STATUS = "/proc/self/status"
DISABLED = "/proc/sys/kernel/modules_disabled"


@pytest.fixture
def modprobe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Put a modprobe on PATH that ends so; gives where it notes its words.

    The process may load modules, and the kernel takes them.
    """

    def put(end: str) -> Path:
        said = tmp_path / "said"
        (tmp_path / "modprobe").write_text(f'#!/bin/sh\necho "$@" >>{said}\n{end}\n')
        (tmp_path / "modprobe").chmod(0o755)
        return said

    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(ovs_kernel, "_MODULE", tmp_path / "no-module")
    tree(tmp_path, {STATUS: "CapEff:\t000001ffffffffff\n", DISABLED: "0\n"})
    monkeypatch.setattr(ovs_kernel, "Host", partial(Host, tmp_path))
    return put


def test_asking_for_the_module_loads_none(modprobe: Callable[[str], Path]) -> None:
    said = modprobe("exit 0")

    assert ovs_kernel._missing_module() is None

    assert said.read_text() == "--dry-run --quiet openvswitch\n"


def test_it_is_loaded_when_the_switch_starts(
    modprobe: Callable[[str], Path],
    scope: RunScope,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = modprobe("echo 'modprobe: ERROR: could not insert' >&2; exit 1")
    monkeypatch.setattr(ovs_kernel, "find", lambda _: Found("ovs-vswitchd", ()))
    links = [Link("veth", "veth:g", "veth:d", device_ifname="d")] * 2

    with (
        pytest.raises(TrialError, match="ovs_kernel: modprobe: ERROR: could not insert"),
        DRIVER.running(links, (0,), OvsKernelOptions(), tmp_path, scope),
    ):
        pass

    assert said.read_text() == "openvswitch\n"


def test_a_kernel_without_the_module_is_told(modprobe: Callable[[str], Path]) -> None:
    modprobe("exit 1")

    assert ovs_kernel._missing_module() == (
        "ovs_kernel: this kernel has no module openvswitch; boot a kernel of the distribution, or"
        " measure ovs_dpdk"
    )


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        (STATUS, "Name:\tpython3\nCapEff:\t000001fffffeffff\n", "there is no CAP_SYS_MODULE here;"),
        (DISABLED, "1\n", "the kernel takes none any more (kernel.modules_disabled);"),
    ],
    ids=["container", "closed kernel"],
)
@pytest.mark.parametrize("has_modules", [True, False])
def test_a_module_that_cannot_be_loaded_is_told(
    modprobe: Callable[[str], Path],
    tmp_path: Path,
    path: str,
    text: str,
    why: str,
    has_modules: bool,
) -> None:
    modprobe("exit 0" if has_modules else "exit 1")
    tree(tmp_path, {path: text})

    assert str(ovs_kernel._missing_module()).startswith(
        f"ovs_kernel: module openvswitch is not loaded, and {why}"
    )


def test_a_core_of_its_own_sleeps_until_a_packet_comes() -> None:
    assert DRIVER.waits(OvsKernelOptions()) is Waiting.SLEEPS
    assert DRIVER.waits(OvsKernelOptions(placement="sender")) is Waiting.POLLS


@pytest.mark.root
def test_what_a_flow_drops_and_the_generator_misses_is_the_same(
    scope: RunScope, tmp_path: Path
) -> None:
    skip_without(DRIVER)
    flows = tmp_path / "flows"
    flows.write_text(
        "priority=40000,in_port=1,udp,tp_src=1024,actions=drop\nin_port=1,actions=output:2\n"
    )

    counters, counted = through(DRIVER, OvsKernelOptions(flows=str(flows)), scope, tmp_path)

    by_flow = counted.others["flows"]
    dropped = by_flow["priority=40000,udp,in_port=1,tp_src=1024 actions=drop"]
    assert counters["sent"] == sum(by_flow.values()) > 0
    assert counters["lost"] == dropped > 0


def test_a_switch_that_is_restarted_is_ready_by_its_own_words(
    scope: RunScope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says = {"ovsdb-server": "ovsdb-server", "ovs-vswitchd": "1|bridge|INFO|ovs-vswitchd"}
    for name in (*says, "modprobe", "ovsdb-tool", "ovs-vsctl", "ovs-ofctl"):
        words = f'echo "{says[name]} (Open vSwitch) 3"; exec sleep 1000' if name in says else ""
        (tmp_path / name).write_text(f"#!/bin/sh\n{words}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "ovs-appctl").write_text(f'#!/bin/sh\nshift 2; echo "$@" >>{tmp_path}/asked\n')
    (tmp_path / "ovs-appctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/sbin:/usr/bin:/sbin:/bin")

    def started_here(*of: object, **how: object) -> AbstractContextManager[Switch]:
        return switching(*of, **{**how, "netns": None})

    monkeypatch.setattr(ovs_kernel, "switching", started_here)
    monkeypatch.setattr(ovs_kernel, "find", lambda _: Found("ovs-vswitchd", ()))
    monkeypatch.setattr(ovs_kernel, "place", lambda *_: [])
    monkeypatch.setattr(RunningKernel, "stop", lambda _: None)
    links = [Link("veth", "veth:g", "veth:d", device_ifname="d")] * 2
    logs = tmp_path / "logs"
    start = partial(DRIVER.running, links, (0,), OvsKernelOptions(), logs, scope)

    device = Restartable(start)
    with device:
        device.restart_after(1, lambda: True, 0)

        # Or the kernel would forward on, by the flows that it has, until the next daemon is there.
        assert (tmp_path / "asked").read_text() == "exit --cleanup\n"
        for name in ("ovsdb-server.log", "ovs-vswitchd.log"):
            for log in (logs / f"{BEFORE}{name}", logs / name):
                assert log.read_text().count("(Open vSwitch)") == 1, log
