"""Open vSwitch's datapath in user space: a DPDK thread that polls its ports on one core."""

import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from taut.core.cpus import CpuSet
from taut.core.errors import TrialError
from taut.dut.dpdk import MOST_LCORES, free_hugepages
from taut.dut.installed import find
from taut.dut.open_vswitch import WITH_DPDK, Port, Switch, missing_switch, switching
from taut.host.host import Host
from taut.records.documents.trial import DutStats, PortCounters
from taut.testbed.hugepages import count_on
from taut.testbed.scope import RunScope
from taut.testbed.veth_pairs import needs_root

# Of each NUMA node: whatever its core, its packet buffers are on node 0 for its memif ports, and on
# their peer's for vhost-user ports. It asks for ever fewer until they fit, and wants 16,384 of 3 KB
# at least.
_MEMORY_MB = 128
_HUGEPAGES = _MEMORY_MB // 2
_MEMIF_NODE = 0
_NODES = "/sys/devices/system/node/has_memory"
_EXTRA = "dpdk-extra"
_EXTRA_WORDS = ("--in-memory", "--no-pci", "--no-telemetry")
RX_QUEUES = 2
"""What its memif peer needs: it sends on a queue a thread, and its main thread is one."""

FAILED_UPCALL = "miss with failed upcall"
# Behind a port that cannot be asked it begins no line of its own.
_PORTS = re.compile(r"  port \d+: ")
_DPDK = re.compile(r"(\w+) \(dpdk")
# Of vhost-user ports Open vSwitch before 3.1 does not know the errors: `?`.
_DROPPED = re.compile(r"TX packets:\S+ errors:\S+ dropped:(\d+)")
_THREAD = re.compile(r"^(pmd|main) thread.*\n((?:^ .*\n?)*)", re.MULTILINE)
_LINE = re.compile(r"^  ([a-z][a-z .]*): (\d+)$", re.MULTILINE)


def missing_polling(flows: str = "") -> str | None:
    """Root, the program, or what is wrong with a file of flows."""
    return needs_root("of ovs_dpdk") or missing_switch(WITH_DPDK, flows)


def refuses_core(core: int) -> str | None:
    """Say why its thread cannot poll on a core; None: it can.

    It takes a core's number for that of an lcore, and dpdk-lcore-mask cannot name another. How
    many one has that no distribution built, EAL says itself.
    """
    if core < MOST_LCORES or not _is_of_distribution():
        return None
    return (
        f"core {core}: the DPDK of Open vSwitch knows cores up to {MOST_LCORES - 1}; set others "
        "apart, or name them ([cores])"
    )


def _is_of_distribution() -> bool:
    found = find(WITH_DPDK)
    if found is None or platform.machine() != "x86_64":
        return False
    folders = Path(found.path).resolve().parents
    return Path("/usr") in folders and Path("/usr/local") not in folders


def version() -> str:
    """Of the switch, and of the DPDK it is linked with."""
    found = find(WITH_DPDK)
    return "unknown" if found is None else "Open vSwitch {}, DPDK {}".format(*found.versions)


def memif_port(number: int, socket: Path | None) -> Port:
    """Serve a memif socket as port p0, p1."""
    device = f"net_memif{number},role=server,id=0,socket={socket},socket-abstract=no"
    return Port(f"p{number}", ("type=dpdk", f'options:dpdk-devargs="{device}"'))


def vhost_port(name: str, socket: Path) -> Port:
    """Connect to a vhost-user socket that the other end serves, whenever that is there."""
    return Port(name, ("type=dpdkvhostuserclient", f"options:vhost-server-path={socket}"))


@contextmanager
def polling(
    ports: Sequence[Port],
    flows: str,
    *,
    scope: RunScope,
    cores: CpuSet,
    log_dir: Path,
    other_config: Sequence[str] = (),
) -> Iterator[Switch]:
    """Start one; entered when its flows are set. Its bridge needs a namespace of its own."""
    found, nodes = find(WITH_DPDK), Host().cores(_NODES) or (0,)
    with ExitStack() as stack:
        for node in nodes:
            stack.enter_context(scope.lent_hugepages(_HUGEPAGES, count_on(node)))
        free = free_hugepages(count_on(_MEMIF_NODE))
        if found is None or free < _HUGEPAGES:
            raise TrialError(
                f"ovs_dpdk: {_HUGEPAGES} hugepages of 2 MB wanted, {free} free on NUMA node "
                f"{_MEMIF_NODE}; free some memory there"
            )
        netns = stack.enter_context(scope.namespace("ovs"))
        yield stack.enter_context(
            switching(
                found.path,
                ports,
                datapath="netdev",
                other_config=_settings(cores[0], nodes, other_config),
                flows=flows,
                scope=scope,
                cores=cores,
                netns=netns,
                log_dir=log_dir,
            )
        )


def counters(switch: Switch) -> DutStats:
    """Give what each flow took, what the polling threads handled, and what could not be sent."""
    return read_counters(
        switch.flows(),
        switch.no_flow(),
        switch.ask("dpif-netdev/pmd-stats-show"),
        switch.ask("dpctl/show", "-s"),
    )


def read_counters(flows: Mapping[str, int], no_flow: int, threads: str, ports: str) -> DutStats:
    """Read the switch's answers.

    What a memif port counted itself is gone with the generator, so `in` is what threads received.
    `dropped` is None where that of a port is.
    """
    seen: dict[str, int] = {}
    for thread in _THREAD.finditer(threads):
        for name, n in _LINE.findall(thread[2]):
            seen[name] = seen.get(name, 0) + int(n)
    dropped = _dropped_at(ports)
    known = [n for n in dropped.values() if n is not None]
    of_no_port = seen.get(FAILED_UPCALL, 0)  # its flow was not known yet, and its making locked
    return DutStats(
        ports=tuple(
            PortCounters(others={"port": name, "tx_dropped": n}) for name, n in dropped.items()
        ),
        others={
            "in": seen.get("packets received", 0),
            "dropped": sum(known) + of_no_port if len(known) == len(dropped) else None,
            "flows": dict(flows),
            "no_flow": no_flow,
            "look_ups": {
                name: n for name, n in seen.items() if name.endswith("hits") or "upcall" in name
            },
        },
    )


def _dropped_at(ports: str) -> dict[str, int | None]:
    """Give what each of DPDK's ports could not send; None: it was not known, its peer had left."""
    found: dict[str, int | None] = {}
    for said in _PORTS.split(ports):
        if (port := _DPDK.match(said)) is not None:
            dropped = _DROPPED.search(said)
            found[port[1]] = None if dropped is None else int(dropped[1])
    return found


def refuses_setting(setting: str) -> str | None:
    """Say why KEY=VALUE is not for the user to set; None: it is."""
    name = setting.partition("=")[0]
    if name not in _own_settings(0, (0,)):
        return None
    return f"{name} is set by taut, by the device's core and its memory; leave it out"


def _settings(core: int, nodes: Sequence[int], given: Sequence[str] = ()) -> list[str]:
    """Give taut's settings and the user's, whose words for EAL come behind taut's."""
    own = [f"{name}={value}" for name, value in _own_settings(core, nodes).items()]
    split = [setting.partition("=") for setting in given]
    words = [value.strip('"') for name, _, value in split if name == _EXTRA]
    others = [f"{name}={value}" for name, _, value in split if name != _EXTRA]
    return [*own, f'{_EXTRA}="{" ".join([*_EXTRA_WORDS, *words])}"', *others]


def _own_settings(core: int, nodes: Sequence[int]) -> dict[str, str]:
    mask = f"{1 << core:#x}"
    limits = [str(_MEMORY_MB)] * (max(nodes) + 1)  # by the numbers of nodes
    return {
        "dpdk-init": "true",
        "pmd-cpu-mask": mask,
        "dpdk-lcore-mask": mask,
        "dpdk-alloc-mem": str(_MEMORY_MB // 2),
        "dpdk-socket-limit": ",".join(limits),
    }
