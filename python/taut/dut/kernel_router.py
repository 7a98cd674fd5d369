"""The kernel's router between two links, told by the files that taut's router takes.

Their lines are `ip`'s but for the ports, which are numbers. What taut-forward reads of them it has
checked before (docs/router.md): nothing is checked twice. Nobody is asked for a MAC address, as in
taut's router, so the device sends no frames of its own but ICMP: errors, and where IPv6 is on which
groups it listens to.
"""

import ipaddress
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from taut.core.binaries import find_binary_or_none, how_to_get
from taut.core.cpus import CpuSet
from taut.core.errors import TrialError
from taut.dut.kernel_device import KernelOptions, RunningKernel, place
from taut.dut.nf_object import file_seen_from
from taut.dut.tables import PROGRAM, memory_of
from taut.records.documents.json_form import JsonObject
from taut.testbed import netlink
from taut.testbed.link import STATION_ADDRESSES, STATION_MACS, Link
from taut.testbed.veth_pairs import needs_root

Words = list[str]
_SETTINGS = Path("/proc/sys/net")
_NOWHERE = frozenset({"blackhole", "unreachable", "prohibit"})
_KINDS = _NOWHERE | {"unicast"}
_EVERYWHERE = {4: "0.0.0.0/0", 6: "::/0"}


class RoutingOptions(KernelOptions):
    """Where the kernel works, and the files it routes by."""

    FILES: ClassVar[tuple[str, ...]] = ("routes", "neighbours", "addresses")

    routes: str = Field(
        "",
        description="file of routes as of taut's router (docs/router.md), relative to the"
        " experiment's file; without any of the three, the generator's two stations are known",
    )
    neighbours: str = Field("", description="file of neighbours, likewise")
    addresses: str = Field("", description="file of the ports' own addresses, likewise")

    @property
    def files(self) -> tuple[Path, ...]:
        """All that it is told."""
        named = (str(getattr(self, key)) for key in self.FILES)
        return tuple(Path(name) for name in named if name)

    @classmethod
    def seen_from(cls, folder: Path, options: Mapping[str, object]) -> dict[str, object]:
        """Give the files with their whole paths."""
        named = {key: value for key in cls.FILES if isinstance(value := options.get(key), str)}
        found = {key: file_seen_from(folder, value) for key, value in named.items() if value}
        return {**options, **found}


@dataclass(frozen=True)
class Plan:
    """What a router is told, a list of words a line."""

    routes: Sequence[Words]
    neighbours: Sequence[Words]
    addresses: Sequence[Words]

    @property
    def has_ipv6(self) -> bool:
        """Whether any line is about IPv6: else it stays off."""
        lines = (*self.routes, *self.neighbours, *self.addresses)
        return any(":" in _address_word(line) for line in lines)


# The way from either station of the generator to the other.
_STATIONS = Plan(
    routes=[[address, "dev", str(port)] for port, address in enumerate(STATION_ADDRESSES)],
    neighbours=[
        [address, "dev", str(port), "lladdr", mac]
        for port, (address, mac) in enumerate(zip(STATION_ADDRESSES, STATION_MACS, strict=True))
    ],
    addresses=[],
)


def missing_for_routing(options: RoutingOptions, *nf: str) -> str | None:
    """Say what this machine lacks, or what taut-forward refuses of the files and of `nf`."""
    named = {key: getattr(options, key) for key in RoutingOptions.FILES}
    given = ",".join(f"{key}={value}" for key, value in named.items() if value)
    words = [*([f"router:{given}"] if given else []), *nf]
    lacks = needs_root("veth")
    if lacks is None and shutil.which("ip") is None:
        lacks = "ip: program not found; install iproute2"
    if lacks is None and words and find_binary_or_none(PROGRAM) is None:
        lacks = f"{PROGRAM}: program not found, which reads the files; {how_to_get()}"
    lacks = lacks or memory_of(words)[1]
    if lacks is None and not (_SETTINGS / "ipv6/conf").is_dir() and read_plan(options).has_ipv6:
        lacks = (
            "this kernel has IPv6 switched off (ipv6.disable=1); boot without it, or leave the"
            " IPv6 lines out"
        )
    return lacks


def read_plan(options: RoutingOptions) -> Plan:
    """Read the files; without any, the plan is the generator's two stations."""
    if not (options.routes or options.neighbours or options.addresses):
        return _STATIONS
    return Plan(*(_lines(name) for name in (options.routes, options.neighbours, options.addresses)))


def route_between(namespace: str, ports: Sequence[str], plan: Plan) -> None:
    """Have the kernel of a namespace route between its ports; TrialError says what it refused.

    What the device had before it was stopped there (RFC 6201) is still there, and is replaced.
    """
    netlink.inside(namespace, lambda: _write_settings(ports, plan.has_ipv6))
    commands = list(ip_commands(ports, plan))
    done = subprocess.run(
        ["nsenter", f"--net={netlink.NETNS_FOLDER / namespace}", "ip", "-batch", "-"],
        input="".join(f"{command}\n" for command in commands),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        at = re.search(r"Command failed -:(\d+)", done.stderr)
        command = f"{commands[int(at[1]) - 1]}: " if at else ""
        why = (done.stderr.splitlines() or ["refused"])[0].rstrip(".")
        raise TrialError(f"ip: {command}{why}")
    # Last: one that is started again forwards once it has read all that it is told.
    netlink.inside(namespace, lambda: _write({"ipv4/ip_forward": 1}))


@contextmanager
def routing(
    name: str,
    links: Sequence[Link],
    cores: CpuSet,
    options: RoutingOptions,
    make_ready: Callable[[str, Sequence[str]], Callable[[], JsonObject]],
) -> Iterator[RunningKernel]:
    """Run a device that routes between the device's ends of two veth links.

    `make_ready` is told namespace and ports before anything is routed; what it gives counts.
    """
    namespace = str(links[0].device_netns)
    ports = [str(link.device_ifname) for link in links]
    plan = read_plan(options)
    try:
        counters = make_ready(namespace, ports)
        route_between(namespace, ports, plan)
        notes = place(namespace, ports, cores, options)
        router = RunningKernel(name, namespace, ports, notes, counters=counters)
        yield router
        router.stop()
    finally:
        stop_routing(namespace)


def stop_routing(namespace: str) -> None:
    """Have the kernel of a namespace forward no more; one that is gone is no error."""
    if namespace in netlink.namespaces():
        netlink.inside(namespace, lambda: _write({"ipv4/ip_forward": 0}))


def ip_commands(ports: Sequence[str], plan: Plan) -> Iterator[str]:
    """Give the plan as lines of `ip -batch`; a port takes the frames of the station beyond it.

    What was sent to the other port's station reaches it unchanged but for TTL and checksum.
    """
    # Its address makes the table `local`, without which the kernel takes no gateway for one.
    yield "link set dev lo up"
    macs = {int(words[1]): words[3] for words in plan.addresses if words[0] == "dev"}
    for number, port in enumerate(ports):
        yield f"link set dev {port} address {macs.get(number, STATION_MACS[1 - number])} arp on"
    own = [words for words in plan.addresses if words[0] != "dev"]
    for words in own:
        nodad = " nodad" if ":" in words[0] else ""
        yield f"address replace {words[0]} dev {ports[int(words[2])]}{nodad}"
    for words in plan.neighbours:
        port, mac = ports[int(_value(words, "dev"))], _value(words, "lladdr")
        yield f"neigh replace {words[0]} dev {port} lladdr {mac} nud permanent"
    # A gateway may be a station of a network whose line comes later.
    for words in sorted(plan.routes, key=lambda words: "via" in words):
        prefix = _prefix(words)
        if not (prefix.version == 6 and prefix.is_link_local):
            yield f"route replace {_route(ports, words)}"


def _route(ports: Sequence[str], words: Words) -> str:
    """Name the port of a route; a gateway at a port needs no network there."""
    kind, at = (words[0], 1) if words[0] in _KINDS else ("", 0)
    prefix = str(_prefix(words))
    if kind in _NOWHERE:
        metric = f" metric {_value(words, 'metric')}" if "metric" in words else ""
        return f"{kind} {prefix}{metric}"
    rest = [word for word in words[at + 1 :] if word != "onlink"]
    if "dev" in rest:
        behind = rest.index("dev") + 1
        rest[behind] = ports[int(rest[behind])]
        rest += ["onlink"] if "via" in rest else []
    return " ".join([prefix, *rest])


def _prefix(words: Words) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    text = words[1 if words[0] in _KINDS else 0]
    if text != "default":
        return ipaddress.ip_network(text)
    return ipaddress.ip_network(_EVERYWHERE[6 if any(":" in word for word in words) else 4])


def _address_word(words: Words) -> str:
    """Give the word of a line that tells its family; of a port's MAC address, none does."""
    if words[0] in _KINDS or words[0] == "default":
        return str(_prefix(words))
    return "" if words[0] == "dev" else words[0]


def _value(words: Words, key: str) -> str:
    return words[words.index(key) + 1]


def _lines(name: str) -> list[Words]:
    """Part a file as dataplane/base/text_lines.c does: a word that begins with # is a comment."""
    if not name:
        return []
    text = Path(name).read_text(encoding="utf-8", errors="replace")
    lines = (line.split() for line in text.split("\n"))
    cut = (words[: next((i for i, w in enumerate(words) if w[0] == "#"), None)] for words in lines)
    return [words for words in cut if words]


def _write_settings(ports: Sequence[str], has_ipv6: bool) -> None:
    """Take any source, and ask nobody for addresses: what no line has is lost."""
    for name in ("all", *ports):
        _write({f"ipv4/conf/{name}/rp_filter": 0, f"ipv4/conf/{name}/send_redirects": 0})
    for port in ports:
        _write({f"ipv4/neigh/{port}/mcast_solicit": 0})
    if not has_ipv6:
        return
    for port in ports:
        # No link-local address: it would be announced.
        _write({f"ipv6/conf/{port}/addr_gen_mode": 1, f"ipv6/conf/{port}/accept_dad": 0})
    _write({"ipv6/conf/all/disable_ipv6": 0, "ipv6/conf/all/forwarding": 1})
    for port in ports:
        _write({f"ipv6/conf/{port}/disable_ipv6": 0, f"ipv6/neigh/{port}/mcast_solicit": 0})


def _write(settings: Mapping[str, int]) -> None:
    for name, value in settings.items():
        (_SETTINGS / name).write_text(f"{value}\n", encoding="ascii")
