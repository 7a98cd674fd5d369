import os
import platform
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

import pytest
from pydantic import ValidationError

from forwarding import generate
from host_tree import put, tree
from taut.core.errors import TrialError
from taut.dut import polling_switch
from taut.dut.drivers.ovs_dpdk import OvsDpdkDriver, OvsDpdkOptions
from taut.dut.installed import Found
from taut.dut.polling_switch import FAILED_UPCALL, read_counters, refuses_core
from taut.host.host import Host
from taut.host.situation import Waiting
from taut.testbed import netlink
from taut.testbed.cleanup import run_processes
from taut.testbed.links import LINKS
from taut.testbed.scope import RunScope
from taut.testing.frames import LAST_CORE

DRIVER = OvsDpdkDriver()
THREADS = """pmd thread numa_id 0 core_id 1:
  packets received: 240805
  packet recirculations: 0
  avg. datapath passes per packet: 1.00
  simple match hits: 240804
  miss with success upcall: 1
  miss with failed upcall: 4
  idle cycles: 23545621864 (90.95%)
main thread:
  packets received: 3
  simple match hits: 0
  miss with success upcall: 0
"""
PORTS = """netdev@ovs-netdev:
  lookups: hit:121766 missed:1 lost:0
  flows: 1
  port 0: ovs-netdev (tap)
    RX packets:0 errors:0 dropped:9 overruns:0 frame:0
    TX packets:0 errors:0 dropped:9 aborted:0 carrier:0
  port 1: p0 (dpdk: configured_rx_queues=1, mtu=1500)
    RX packets:0 errors:0 dropped:0 overruns:? frame:?
    TX packets:0 errors:0 dropped:2 aborted:? carrier:?
  port 2: p1 (dpdk: configured_rx_queues=1, mtu=1500)
    RX packets:0 errors:0 dropped:0 overruns:? frame:?
    TX packets:0 errors:0 dropped:30 aborted:? carrier:?
  port 3: br0 (tap)
    TX packets:0 errors:0 dropped:7 aborted:0 carrier:0
"""


@pytest.fixture
def needed() -> Iterator[None]:
    """All it takes to start one."""
    reason = DRIVER.missing(OvsDpdkOptions())
    if reason is not None:
        pytest.skip(reason)
    yield


def test_its_own_counters_are_read() -> None:
    stats = read_counters({"in_port=1 actions=output:2": 5}, 7, THREADS, PORTS)

    assert [port.others for port in stats.ports] == [
        {"port": "p0", "tx_dropped": 2},
        {"port": "p1", "tx_dropped": 30},
    ]
    assert stats.others == {
        "in": 240808,
        "dropped": 32 + 4,
        "flows": {"in_port=1 actions=output:2": 5},
        "no_flow": 7,
        "look_ups": {
            "simple match hits": 240804,
            "miss with success upcall": 1,
            "miss with failed upcall": 4,
        },
    }


def test_drops_at_vhost_ports_whose_errors_are_not_known_are_read() -> None:
    """Open vSwitch 2.17 and 3.0 say `?`."""
    hop = """  port 1: hop1a (dpdkvhostuserclient: configured_rx_queues=1, mtu=1500)
    RX packets:0 errors:0 dropped:0 overruns:? frame:?
    TX packets:100 errors:? dropped:40 aborted:? carrier:?
"""

    stats = read_counters({}, 0, "", PORTS.replace("  port 1: p0", f"{hop}  port 4: p0"))

    assert [port.others["tx_dropped"] for port in stats.ports] == [40, 2, 30]
    assert stats.others["dropped"] == 72


def test_a_vhost_port_whose_peer_has_left_has_no_counters_and_not_those_of_the_next() -> None:
    """Its line has no end (dpctl.c, Open vSwitch 3.1 to 3.7)."""
    hop = """  port 1: hop1a (dpdkvhostuserclient: mtu=1500)
, could not retrieve stats (Protocol error)"""

    stats = read_counters({}, 0, "", PORTS.replace("  port 1: p0", f"{hop}  port 4: p0"))

    assert [port.others for port in stats.ports] == [
        {"port": "hop1a", "tx_dropped": None},
        {"port": "p0", "tx_dropped": 2},
        {"port": "p1", "tx_dropped": 30},
    ]
    assert stats.others["dropped"] is None


def test_its_device_polls_and_wants_two_queues_of_its_peer() -> None:
    options = OvsDpdkOptions()

    assert DRIVER.waits(options) is Waiting.POLLS
    assert options.peer_rx_queues("memif") == 2


def found_on(
    monkeypatch: pytest.MonkeyPatch,
    machine: str = "x86_64",
    program: str = "/usr/sbin/ovs-vswitchd",
) -> None:
    """Have a machine with one Open vSwitch."""
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(polling_switch, "find", lambda _: Found(program, ()))


@pytest.mark.parametrize(
    ("machine", "program"),
    [
        ("aarch64", "/usr/sbin/ovs-vswitchd"),
        ("x86_64", "/usr/local/sbin/ovs-vswitchd"),
        ("x86_64", "/opt/ovs/sbin/ovs-vswitchd"),
    ],
)
def test_a_dpdk_that_may_know_any_core_is_left_to_say_so(
    machine: str, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found_on(monkeypatch, machine, program)

    assert refuses_core(130) is None


def test_a_core_that_its_dpdk_does_not_know_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    options = OvsDpdkOptions()
    found_on(monkeypatch)

    assert options.refuses_cores((127,), Host()) is None
    assert options.refuses_cores((128,), Host()) == (
        "core 128: the DPDK of Open vSwitch knows cores up to 127; set others apart, or name them "
        "([cores])"
    )


@pytest.mark.parametrize(
    ("nodes", "limit"), [((0,), "128"), ((0, 1), "128,128"), ((0, 2), "128,128,128")]
)
def test_its_memory_is_on_the_nodes_it_chooses(nodes: tuple[int, ...], limit: str) -> None:
    settings = polling_switch._settings(5, nodes)

    assert "dpdk-alloc-mem=64" in settings
    assert f"dpdk-socket-limit={limit}" in settings
    assert not any("socket-mem" in setting for setting in settings)


@pytest.mark.parametrize(("memory", "nodes"), [("0-1,3\n", (0, 1, 3)), ("0\n", (0,)), (None, (0,))])
def test_each_node_gets_pages_for_it_and_that_of_memif_ports_needs_them(
    memory: str | None,
    nodes: tuple[int, ...],
    scope: RunScope,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lent: list[tuple[int, Path]] = []

    def count_on(node: int) -> Path:
        return tmp_path / f"node{node}/nr_hugepages"

    def lend(n_pages: int, near: Path) -> AbstractContextManager[None]:
        lent.append((n_pages, near))
        return nullcontext()

    tree(tmp_path, {f"node{node}/free_hugepages": "500\n" for node in nodes})
    put(tmp_path, "node0/free_hugepages", "3\n")
    if memory is not None:
        put(tmp_path, "/sys/devices/system/node/has_memory", memory)
    monkeypatch.setattr(polling_switch, "Host", partial(Host, tmp_path))
    monkeypatch.setattr(polling_switch, "count_on", count_on)
    monkeypatch.setattr(scope, "lent_hugepages", lend)

    with (
        pytest.raises(TrialError, match="64 hugepages of 2 MB wanted, 3 free on NUMA node 0"),
        polling_switch.polling([], "", scope=scope, cores=(1,), log_dir=tmp_path),
    ):
        pass

    assert lent == [(64, count_on(node)) for node in nodes]


def test_a_setting_that_is_none_is_refused() -> None:
    with pytest.raises(ValidationError, match="write smc-enable=true"):
        OvsDpdkOptions(other_config=("smc-enable",))


@pytest.mark.parametrize(
    "name",
    ["dpdk-init", "pmd-cpu-mask", "dpdk-lcore-mask", "dpdk-alloc-mem", "dpdk-socket-limit"],
)
def test_a_setting_that_is_the_driver_s_is_refused(name: str) -> None:
    """The last one of a key counts, without a word."""
    said = f"{name} is set by taut, by the device's core and its memory; leave it out"

    with pytest.raises(ValidationError, match=said):
        OvsDpdkOptions(other_config=("smc-enable=true", f"{name}=0x1"))


def test_words_for_eal_come_behind_the_driver_s() -> None:
    given = ("dpdk-extra=--log-level=8", "smc-enable=true", 'dpdk-extra="--iova-mode=va"')

    settings = polling_switch._settings(5, (0,), given)

    assert settings[-2:] == [
        'dpdk-extra="--in-memory --no-pci --no-telemetry --log-level=8 --iova-mode=va"',
        "smc-enable=true",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "no such file of flows"),
        ("in_prt=1,actions=output:2", ":1: unknown keyword in_prt; write it as ovs-ofctl(8)"),
        ("in_port=1,actions=output:zz", ":1: zz: output to unknown port"),
    ],
)
def test_flows_that_are_wrong_are_told_before_the_run(
    needed: None, tmp_path: Path, text: str | None, said: str
) -> None:
    flows = tmp_path / "flows"
    if text is not None:
        flows.write_text(f"{text}\n")

    reason = DRIVER.missing(OvsDpdkOptions(flows=str(flows)))

    assert str(reason).startswith(str(flows))
    assert said in str(reason)


def test_flows_are_found_from_the_experiment_s_folder(tmp_path: Path) -> None:
    options = OvsDpdkOptions(**OvsDpdkOptions.seen_from(tmp_path, {"flows": "some/flows"}))

    assert options.files == (tmp_path / "some/flows",)


@pytest.mark.alone
@pytest.mark.root
def test_what_a_flow_drops_and_the_generator_misses_is_the_same(
    needed: None, scope: RunScope, tmp_path: Path
) -> None:
    # The generator's flows are UDP source ports in turn, the first of which this drops.
    flows = tmp_path / "flows"
    # No flow takes the second one's.
    flows.write_text(
        "priority=40000,in_port=1,udp,tp_src=1024,actions=drop\n"
        "in_port=1,udp,tp_src=1026,actions=output:2\n"
        "in_port=1,udp,tp_src=1027,actions=output:2\n"
    )

    with (
        LINKS["memif"].open(scope, 2) as links,
        DRIVER.running(links, LAST_CORE, OvsDpdkOptions(flows=str(flows)), tmp_path, scope) as dut,
    ):
        ports = [link.generator_port for link in links]
        summary = generate(
            tmp_path / "out", *ports, "--rx-queues", "2", "--flows", "4", deadline="1s"
        )
        counted = dut.stop()

    assert counted is not None, (dut.died, dut.notes)
    counters, others = summary["counters"], counted.others
    by_flow = others["flows"]
    dropped = by_flow["priority=40000,udp,in_port=1,tp_src=1024 actions=drop"]
    of_no_flow = others["look_ups"][FAILED_UPCALL]
    no_flow = others["no_flow"]
    assert others["in"] == counters["sent"] == sum(by_flow.values()) + no_flow + of_no_flow > 0
    assert counters["lost"] - counters["late"] == dropped + no_flow + others["dropped"]
    assert dropped > 0 < no_flow


@pytest.mark.alone
@pytest.mark.root
def test_one_that_is_killed_is_noticed_and_nothing_is_left(
    needed: None, scope: RunScope, tmp_path: Path
) -> None:
    with (
        LINKS["memif"].open(scope, 2) as links,
        DRIVER.running(links, LAST_CORE, OvsDpdkOptions(), tmp_path, scope) as dut,
    ):
        os.kill(dut.pid, signal.SIGKILL)
        assert dut.stop() is None
        assert "killed by SIGKILL" in dut.log_tail()[-1]

    assert run_processes(scope.id) == []
    assert not [name for name in netlink.namespaces() if scope.id in name]
    assert not (scope.folder / "ovs").exists()


@pytest.mark.alone
@pytest.mark.root
def test_a_setting_that_it_does_not_survive_fails_the_trial_with_its_log(
    needed: None, scope: RunScope, tmp_path: Path
) -> None:
    options = OvsDpdkOptions(other_config=("dpdk-extra=--no-such-option",))

    with (
        LINKS["memif"].open(scope, 2) as links,
        pytest.raises(TrialError, match="ovs-vswitchd: killed by SIGABRT at start") as raised,
        DRIVER.running(links, LAST_CORE, options, tmp_path, scope),
    ):
        pass

    assert raised.value.log_tail


@pytest.mark.alone
@pytest.mark.root
def test_without_hugepages_it_says_how_many_are_wanted(
    needed: None, scope: RunScope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling_switch, "free_hugepages", lambda _: 0)

    with (
        LINKS["memif"].open(scope, 2) as links,
        pytest.raises(TrialError, match="64 hugepages of 2 MB wanted, 0 free"),
        DRIVER.running(links, LAST_CORE, OvsDpdkOptions(), tmp_path, scope),
    ):
        pass
