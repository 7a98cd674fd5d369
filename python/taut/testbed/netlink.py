"""The one file that speaks netlink (pyroute2): namespaces, links, bridges.

A name of a namespace is always one of /run/netns; None means the namespace of this process.
pyroute2 takes 0.1 s to be imported, and a run over shared memory needs none of it.
"""

import array
import errno
import fcntl
import os
import socket
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from taut.core.errors import TrialError

if TYPE_CHECKING:
    from pyroute2 import IPRoute

NETNS_FOLDER = Path("/run/netns")

# ETHTOOL_S* of linux/ethtool.h. An ioctl, because the ethtool program may not be there.
_SIOCETHTOOL = 0x8946
_OFFLOADS = {"rx": 0x15, "tx": 0x17, "sg": 0x19, "tso": 0x1F, "gso": 0x24, "gro": 0x2C}

# linux/neighbour.h: an entry that is neither learned nor aged. NUD_PERMANENT would make the
# station the bridge's own.
_NUD_NOARP = 0x40

T = TypeVar("T")


def namespaces() -> list[str]:
    """Names of all named network namespaces."""
    return sorted(path.name for path in NETNS_FOLDER.iterdir()) if NETNS_FOLDER.is_dir() else []


def create_namespace(name: str) -> None:
    """Make a namespace without IPv6: its neighbour discovery would send frames of its own."""
    from pyroute2 import netns

    try:
        netns.create(name)
    except OSError as error:
        if error.errno != errno.EEXIST:
            # The file that names a namespace is made first, and stays where there is none.
            (NETNS_FOLDER / name).unlink(missing_ok=True)
        why = f"{error.strerror}: {os.strerror(error.errno or 0)}"
        raise TrialError(
            f"network namespace {name}: {why}; sysctl user.max_net_namespaces limits them"
        ) from None
    inside(name, _disable_ipv6)


def remove_namespace(name: str) -> None:
    """Remove a namespace; the links in it go when its last process is gone."""
    if name not in namespaces():
        return
    from pyroute2 import netns

    with suppress(OSError):  # A file without a namespace: its maker was killed before that.
        for link in links(name):
            if link != "lo":
                remove_link(link, name)
    with suppress(FileNotFoundError):  # Who cleans up at the same time was faster.
        netns.remove(name)


def _opened(namespace: str | None) -> "IPRoute":
    """Open a netlink socket in a namespace."""
    from pyroute2 import IPRoute

    return IPRoute(netns=namespace)


def links(namespace: str | None = None) -> list[str]:
    """Names of all links of a namespace."""
    if namespace is None:
        return [name for _, name in socket.if_nameindex()]
    with _opened(namespace) as ip:
        return [link.get("ifname") for link in ip.get_links()]


def remove_link(name: str, namespace: str | None = None) -> None:
    """Remove a link; one that is gone, or cannot go, is no error."""
    from pyroute2.netlink.exceptions import NetlinkError

    with _opened(namespace) as ip:
        for index in ip.link_lookup(ifname=name):
            try:
                ip.link("del", index=index)
            except NetlinkError as error:
                # A veth disappears with its peer; the kernel's own links (tunl0) cannot be removed.
                if error.code not in {errno.ENODEV, errno.EOPNOTSUPP}:
                    raise


def add_veth(name: str, namespace: str, peer: str, peer_namespace: str) -> None:
    """Make a veth pair, each end in its namespace, up, without ARP and without offloads."""
    with _opened(namespace) as ip:
        far_end = {"ifname": peer, "net_ns_fd": peer_namespace}
        _add_link(ip, "veth", ifname=name, peer=far_end)
    for end, where in ((name, namespace), (peer, peer_namespace)):
        inside(where, lambda end=end: set_offloads(end, on=False))  # type: ignore[misc]
        with _opened(where) as ip:
            index = ip.link_lookup(ifname=end)[0]
            ip.link("set", index=index, arp=False, promiscuity=1, state="up")


def _add_link(ip: "IPRoute", kind: str, **words: object) -> None:
    """Make a link; TrialError where the kernel makes none, with a remedy if it lacks the kind."""
    from pyroute2.netlink.exceptions import NetlinkError

    try:
        ip.link("add", kind=kind, **words)
    except NetlinkError as error:
        remedy = "; load its module, or boot the kernel that is installed"
        raise TrialError(
            f"{kind}: the kernel makes none ({os.strerror(error.code)})"
            + remedy * (error.code == errno.EOPNOTSUPP)
        ) from None


def bring_up(name: str, namespace: str) -> None:
    """Bring a link up; of a new namespace the loopback is down."""
    with _opened(namespace) as ip:
        ip.link("set", index=ip.link_lookup(ifname=name)[0], state="up")


def add_bridge(name: str, namespace: str, ports: Mapping[str, str]) -> None:
    """Make a bridge that sends no frame of its own; `ports` gives each port its station's MAC.

    The forwarding entries are static: with learning, the first packets of a run, and all of a
    one-way run, would be flooded, which is another code path than the one to be measured.
    """
    with _opened(namespace) as ip:
        own = {"br_forward_delay": 0, "br_stp_state": 0, "br_mcast_snooping": 0}
        _add_link(ip, "bridge", ifname=name, **own)
        bridge = ip.link_lookup(ifname=name)[0]
        for port, mac in ports.items():
            index = ip.link_lookup(ifname=port)[0]
            ip.link("set", index=index, master=bridge)
            ip.fdb("add", ifindex=index, lladdr=mac, state=_NUD_NOARP)
        ip.link("set", index=bridge, state="up", arp=False)
    inside(namespace, _keep_bridges_from_netfilter)


def link_counters(name: str, namespace: str | None = None) -> dict[str, int]:
    """Packets received, sent and dropped by a link; TrialError when it is gone."""
    with _opened(namespace) as ip:
        for index in ip.link_lookup(ifname=name):
            counters = ip.get_links(index)[0].get("stats64")
            names = ("rx_packets", "tx_packets", "rx_dropped", "tx_dropped")
            return {key: int(counters[key]) for key in names}
    raise TrialError(
        f"link {name}: it is gone, and what it counted with it; find out who removes links"
    )


def set_offloads(ifname: str, *, on: bool, names: Sequence[str] = tuple(_OFFLOADS)) -> None:
    """Switch offloads of a link of the current namespace; off, frames leave as they came in."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for name in names:
            # struct ethtool_value, pointed to by struct ifreq.
            value = array.array("I", [_OFFLOADS[name], int(on)])
            request = struct.pack("16sP16x", ifname.encode(), value.buffer_info()[0])
            try:
                fcntl.ioctl(sock.fileno(), _SIOCETHTOOL, request)
            except OSError as error:
                if error.errno != errno.EOPNOTSUPP:
                    raise


def inside(namespace: str, function: Callable[[], T]) -> T:
    """Call a function in a network namespace, in a thread of its own that ends there."""
    from pyroute2 import netns

    results: list[T] = []
    errors: list[BaseException] = []

    def enter() -> None:
        try:
            netns.setns(namespace)
            results.append(function())
        except BaseException as error:  # noqa: BLE001 - carried to the caller's thread
            errors.append(error)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def _keep_bridges_from_netfilter() -> None:
    # Where br_netfilter is loaded (Docker, Kubernetes) a new namespace has these at 1.
    for path in Path("/proc/sys/net/bridge").glob("bridge-nf-call-*"):
        path.write_text("0\n", encoding="ascii")


def _disable_ipv6() -> None:
    # /proc/sys/net shows the namespace of the thread that opens it.
    for scope in ("all", "default"):
        path = Path(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6")
        if path.exists():
            path.write_text("1\n", encoding="ascii")
