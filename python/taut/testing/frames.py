"""Frames sent through a device under test by raw sockets, without taut-generate."""

import socket
import time

from taut.core.cpus import cpuset_cores
from taut.testbed import netlink
from taut.testbed.link import STATION_MACS, Link, name_in

LAST_CORE = cpuset_cores()[-1:]
"""Where tests put a device."""


def frames_through(links: tuple[Link, Link], n: int = 20, timeout_s: float = 30.0) -> int:
    """Send n frames into the first link; count those that come out of the second, unchanged."""
    macs = [bytes.fromhex(mac.replace(":", "")) for mac in STATION_MACS]
    frame = macs[1] + macs[0] + b"\x88\xb5" + bytes(range(46))  # a local experimental EtherType

    def send_and_count() -> int:
        sender, receiver = (
            socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) for _ in links
        )
        with sender, receiver:
            sender.bind((name_in(links[0].generator_port), 0))
            receiver.bind((name_in(links[1].generator_port), 3))
            receiver.settimeout(timeout_s)
            for _ in range(n):
                sender.send(frame)
                time.sleep(0.001)
            found = 0
            deadline = time.monotonic() + timeout_s
            while found < n and time.monotonic() < deadline:
                try:
                    found += receiver.recv(2048) == frame
                except TimeoutError:
                    break
            return found

    return netlink.inside(str(links[0].generator_netns), send_and_count)
