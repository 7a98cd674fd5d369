"""R26: whether the kernel polls the card for a program that polls sockets."""

import re
from collections.abc import Sequence

from taut.host.boot.item import Sysctl
from taut.host.check import (
    Check,
    Finding,
    Remedy,
    Severity,
    failed,
    not_applicable,
    passed,
    unknown,
    unreadable,
)
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.shapes import on_the_host
from taut.host.situation import Role, Situation

_PATHS = ("/proc/sys/net/core/busy_read", "/proc/sys/net/core/busy_poll")
_WANTED = "busy_read and busy_poll 50 µs"
_TABLES = ("tcp", "tcp6", "udp", "udp6", "raw", "packet")
_SOCKET = re.compile(r"socket:\[(\d+)\]")


class BusyPoll(Check):
    """Programs on DPDK's own drivers never ask the kernel for packets."""

    id = "R26"
    title = "busy polling of sockets"
    fault = "Sockets do not busy poll"
    severity = Severity.MAJOR
    why = (
        "without it a packet for a socket waits for an interrupt, a softirq and a wake-up: tens "
        "of microseconds, and more while the core they run on is busy"
    )
    source = "networking/napi.rst; tuned network-latency (50)"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Judge where a polling program has sockets of the network."""
        if situation.machine.is_realtime:
            return not_applicable("not on PREEMPT_RT: it keeps a softirq running for long")
        if not any(_has_sockets(host, pid) for pid in situation.processes):
            return not_applicable("no polling process with network sockets named or found")
        values = []
        for path in _PATHS:
            text, number = host.read(path), host.number(path)
            if text is None:
                return unreadable(host, path, _WANTED)
            if number is None:
                return unknown(
                    f"{path}: {text[:60]!r}", "a kernel whose format taut knows", _WANTED
                )
            values.append(number)
        observed = f"busy_read {values[0]} µs, busy_poll {values[1]} µs"
        return passed(observed, _WANTED) if all(values) else failed(observed, _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Both, now and at boot."""
        if situation.role is Role.CONTAINER:
            return (on_the_host(self.id, f"sysctl net.core: {_WANTED}"),)
        measure = "tuned sets 50; OpenShift drops it: `taut host effect` tells for this program"
        cost = "the core of whoever waits for a packet is busy meanwhile"
        return (
            Remedy(
                "R26-now",
                "poll the card for 50 µs before waiting",
                changes=[Change(FileSetting(path, "number"), "50") for path in _PATHS],
                cost=cost,
                measure=measure,
            ),
            Remedy(
                "R26-boot",
                "at boot: poll the card for 50 µs before waiting",
                boot=(Sysctl("net.core.busy_read", "50"), Sysctl("net.core.busy_poll", "50")),
                cost=cost,
                measure=measure,
            ),
        )


def _has_sockets(host: Host, pid: int) -> bool:
    """Whether one of its descriptors is a socket that the kernel's network tables list."""
    folder = f"/proc/{pid}/fd"
    targets = (host.link_target(f"{folder}/{name}") or "" for name in host.names(folder))
    inodes = {match[1] for match in map(_SOCKET.fullmatch, targets) if match}
    return bool(inodes) and any(
        not inodes.isdisjoint(line.split())
        for table in _TABLES
        for line in (host.read(f"/proc/{pid}/net/{table}") or "").splitlines()
    )


CHECK = BusyPoll()
