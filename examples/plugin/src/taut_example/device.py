"""packet_socket: a Python loop between two packet sockets, to see what an interpreter costs."""

import platform
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from taut.core.cpus import CpuSet
from taut.dut.driver import DriverOptions
from taut.dut.process_dut import ProcessDut
from taut.host.situation import Waiting
from taut.testbed.link import Link
from taut.testbed.process import child
from taut.testbed.scope import RunScope

from taut_example import forward


class PacketSocketOptions(DriverOptions):
    """It has none; an option would be a field with a `description`."""


class PacketSocketDriver:
    """Starts forward.py between the device's ends of two links."""

    name = "packet_socket"
    summary = "a Python loop between two packet sockets"
    n_links = 2
    link_kinds = ("veth",)
    options_type: type[DriverOptions] = PacketSocketOptions

    def missing(self, options: DriverOptions) -> str | None:
        """Nothing: links say themselves what they need, and Python is here."""
        del options
        return None

    def version(self) -> str:
        """Name the interpreter: it is what costs time."""
        return f"{platform.python_implementation()} {platform.python_version()}"

    def hugepages(self, options: DriverOptions) -> int:
        """None: its memory is Python's."""
        del options
        return 0

    def waits(self, options: DriverOptions) -> Waiting:
        """It sleeps in select() until a frame comes."""
        del options
        return Waiting.SLEEPS

    @contextmanager
    def running(
        self,
        links: Sequence[Link],
        cores: CpuSet,
        options: DriverOptions,
        log_dir: Path,
        scope: RunScope,
    ) -> Iterator[ProcessDut]:
        """Start it; entered when both sockets are open."""
        del options
        with child(
            self.name,
            [sys.executable, forward.__file__, *(str(link.device_ifname) for link in links)],
            scope=scope,
            cores=cores,
            netns=links[0].device_netns,
            log=log_dir / "packet_socket.log",
        ) as process:
            process.wait_ready("^ready$")
            dut = ProcessDut(process, path="veth, packet sockets at both ends, Python between")
            yield dut
            dut.stop()


PACKET_SOCKET = PacketSocketDriver()
