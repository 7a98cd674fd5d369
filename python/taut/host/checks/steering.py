"""Checks of received packets on their way through the kernel: on which cores, in which queues."""

import re
from collections.abc import Iterable

from taut.core.cpus import CpuSet, cpu_mask, format_cpu_list
from taut.host.boot.item import Sysctl
from taut.host.check import Finding, Remedy
from taut.host.table import (
    EVERYWHERE,
    EXTREME,
    MAJOR,
    MINOR,
    WITH_CONTAINERS,
    Check,
    boot,
    now,
    write,
)
from taut.host.threads import some
from taut.host.view import NEW_FORMAT, View, mask_in

_DEFAULT = "/proc/sys/net/core/rps_default_mask"
_QUEUES = "/sys/class/net/*/queues/rx-*/rps_cpus"
_BUSY = ("/proc/sys/net/core/busy_read", "/proc/sys/net/core/busy_poll")
_BUSY_WANTED = "busy_read and busy_poll 50 µs"
_BUSY_COST = "the core of whoever waits for a packet is busy meanwhile"
_BUSY_MEASURE = "tuned sets 50; OpenShift drops it: `taut host effect` tells for this program"
_BACKLOG = "/proc/sys/net/core/netdev_max_backlog"
_LEAST_BACKLOG = 32_768
"""Both rings of a generator of taut (testbed/veth_pairs.py), twice: the place of a packet in its
ring is free again when it enters the queue for whoever receives it."""
_BACKLOG_COST = "under more load than the device takes, packets wait in the longer queue"
_TABLES = ("tcp", "tcp6", "udp", "udp6", "raw", "packet")
_SOCKET = re.compile(r"socket:\[(\d+)\]")


def receive_masks(see: View) -> Finding:
    """Judge every receive queue, of virtual interfaces too, and the mask of those to come.

    Transmit masks (XPS) are not judged: they matter only to what a core sends itself.
    """
    if not see.situation.polls:
        see.skip("RPS may be what brings packets to a device that sleeps")
    masks = {path: mask_in(text) for path, text in _masks(see).items()}
    if not masks:
        see.skip("no receive queue with an RPS mask")
    for path, cores in masks.items():
        if cores is None:
            see.cannot_tell(f"{path}: no mask", NEW_FORMAT)
    hit = {path: cores for path, cores in masks.items() if cores and set(see.judged) & set(cores)}
    bad = {core for cores in hit.values() for core in cores}
    return see.none_of(bad, _said(see, hit, len(masks)))


def take_poll_cores_out(see: View) -> Iterable[Remedy]:
    """Take the polling cores out; the others stay."""
    new = {}
    for path, text in _masks(see).items():
        cores = mask_in(text) or ()
        if set(cores) & set(see.cores):
            new[path] = cpu_mask(core for core in cores if core not in see.cores)
    cost = "the other cores process these packets"
    if new:
        summary = f"take the polling cores out of {len(new)} RPS masks"
        yield now(summary, *(write(path, mask, "mask") for path, mask in new.items()), cost=cost)
    if see.cores and (default := mask_in(see.read(_DEFAULT))) is not None:
        mask = cpu_mask(core for core in default if core not in see.cores)
        item = Sysctl("net.core.rps_default_mask", mask, "mask")
        yield boot("at boot: RPS without the polling cores", item, cost=cost)


def _masks(see: View) -> dict[str, str]:
    """Every mask; queues may go while we read."""
    read = {path: see.read(path) for path in (_DEFAULT, *see.paths(_QUEUES))}
    return {path: text for path, text in read.items() if text is not None}


def _said(see: View, hit: dict[str, CpuSet], n_masks: int) -> str:
    said = [f"{path} = cores {format_cpu_list(cores)}" for path, cores in hit.items()]
    text = some(said, 3) if said else f"{n_masks} RPS masks, none with them"
    flows = see.number("/proc/sys/net/core/rps_sock_flow_entries")
    return f"{text}; RFS follows sockets to their cores" if flows else text


def busy_polling(see: View) -> Finding:
    """Judge where a polling program has sockets of the network.

    Programs on DPDK's own drivers never ask the kernel for packets.
    """
    if see.machine.is_realtime:
        see.skip("not on PREEMPT_RT: it keeps a softirq running for long")
    if not any(_has_sockets(see, pid) for pid in see.situation.processes):
        see.skip("no polling process with network sockets named or found")
    read, poll = (see.integer(path) for path in _BUSY)
    return see.good_if(bool(read and poll), f"busy_read {read} µs, busy_poll {poll} µs")


def _has_sockets(see: View, pid: int) -> bool:
    """Whether one of its descriptors is a socket that the kernel's network tables list."""
    folder = f"/proc/{pid}/fd"
    targets = (see.host.link_target(f"{folder}/{name}") or "" for name in see.names(folder))
    inodes = {match[1] for match in map(_SOCKET.fullmatch, targets) if match}
    return bool(inodes) and any(
        not inodes.isdisjoint(line.split())
        for table in _TABLES
        for line in (see.read(f"/proc/{pid}/net/{table}") or "").splitlines()
    )


def input_queue(see: View) -> Finding:
    """Judge how many packets a core keeps that came from virtual interfaces or other cores.

    A queue that is full drops a packet that the core may have forwarded once already: the more it
    is offered, the less it carries. One that holds all that can be under way refuses more instead.
    """
    if not see.situation.sleeps:
        see.skip("a device that polls takes its packets past the kernel's queues")
    n_packets = see.integer(_BACKLOG)
    return see.good_if(n_packets >= _LEAST_BACKLOG, f"netdev_max_backlog {n_packets}")


CHECKS = (
    Check(
        "R04",
        "packet steering",
        "Packet steering uses poll cores",
        MAJOR,
        receive_masks,
        "no polling core in any RPS mask",
        roles=WITH_CONTAINERS,
        remedies=take_poll_cores_out,
        host_does="take the container's polling cores out of rps_cpus",
        why="a core in an RPS mask gets an interprocessor interrupt and the receive softirq of "
        "other cores' packets: tens of microseconds each",
        source="OpenShift node tuning operator (set-rps-mask)",
    ),
    Check(
        "R26",
        "busy polling of sockets",
        "Sockets do not busy poll",
        MAJOR,
        busy_polling,
        _BUSY_WANTED,
        roles=EVERYWHERE,
        remedies=(
            now(
                "poll the card for 50 µs before waiting",
                *(write(path, "50") for path in _BUSY),
                cost=_BUSY_COST,
                measure=_BUSY_MEASURE,
            ),
            boot(
                "at boot: poll the card for 50 µs before waiting",
                Sysctl("net.core.busy_read", "50"),
                Sysctl("net.core.busy_poll", "50"),
                cost=_BUSY_COST,
                measure=_BUSY_MEASURE,
            ),
        ),
        host_does=f"sysctl net.core: {_BUSY_WANTED}",
        why="without it a packet for a socket waits for an interrupt, a softirq and a wake-up: "
        "tens of microseconds, and more while the core they run on is busy",
        source="networking/napi.rst; tuned network-latency (50)",
    ),
    Check(
        "R33",
        "input queue of a core",
        "The kernel's input queue is short",
        MINOR,
        input_queue,
        f"netdev_max_backlog {_LEAST_BACKLOG} or more",
        remedies=(
            now(
                f"keep {_LEAST_BACKLOG} packets for a core that is away",
                write(_BACKLOG, str(_LEAST_BACKLOG)),
                cost=_BACKLOG_COST,
                profile=EXTREME,
            ),
            boot(
                f"at boot: keep {_LEAST_BACKLOG} packets for a core that is away",
                Sysctl("net.core.netdev_max_backlog", str(_LEAST_BACKLOG)),
                cost=_BACKLOG_COST,
                profile=EXTREME,
            ),
        ),
        why="packets from virtual interfaces, and those steered to another core, wait in one "
        "queue a core, 1000 long: at 350,000 a second a core that is away for 3 ms loses packets; "
        "under overload it drops packets that were forwarded already, and less gets through",
        source="admin-guide/sysctl/net.rst (netdev_max_backlog); capacity.md",
    ),
)
