"""linux_bridge: the kernel's bridge in a namespace, between two veth links."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from taut.core.cpus import CpuSet
from taut.dut.driver import DriverOptions
from taut.dut.kernel_device import KernelDriver, KernelOptions, RunningKernel, place
from taut.testbed import netlink
from taut.testbed.link import STATION_MACS, Link
from taut.testbed.scope import RunScope
from taut.testbed.veth_pairs import needs_root


class LinuxBridgeOptions(KernelOptions):
    """Where the bridge works."""


class LinuxBridgeDriver(KernelDriver):
    """Builds a bridge over the device's ends of two veth links."""

    name = "linux_bridge"
    summary = "the kernel's bridge over veth, its work moved to the device's core"
    options_type: type[DriverOptions] = LinuxBridgeOptions

    def missing(self, options: DriverOptions) -> str | None:  # noqa: ARG002 - an interface
        return needs_root("veth")

    @contextmanager
    def running(
        self,
        links: Sequence[Link],
        cores: CpuSet,
        options: DriverOptions,
        log_dir: Path,  # noqa: ARG002 - the kernel writes none
        scope: RunScope,
    ) -> Iterator[RunningKernel]:
        """Build it; entered when it forwards."""
        namespace = str(links[0].device_netns)
        ports = [str(link.device_ifname) for link in links]
        name = scope.link_name("br")
        netlink.add_bridge(name, namespace, dict(zip(ports, STATION_MACS, strict=True)))
        try:
            notes = place(namespace, ports, cores, options)
            bridge = RunningKernel(self.name, namespace, ports, notes, also_needs=[name])
            yield bridge
            bridge.stop()
        finally:
            netlink.remove_link(name, namespace)
