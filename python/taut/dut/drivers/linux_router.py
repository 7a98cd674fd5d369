"""linux_router: the kernel's IP forwarding in a namespace, between two veth links."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import cast

from taut.core.cpus import CpuSet
from taut.dut.driver import DriverOptions
from taut.dut.kernel_counters import count_lost
from taut.dut.kernel_device import KernelDriver, RunningKernel
from taut.dut.kernel_router import RoutingOptions, missing_for_routing, routing
from taut.testbed.link import Link
from taut.testbed.scope import RunScope


class LinuxRouterOptions(RoutingOptions):
    """Where the kernel works, and the files it routes by."""


class LinuxRouterDriver(KernelDriver):
    """Routes between the device's ends of two veth links."""

    name = "linux_router"
    summary = "the kernel's IP forwarding over veth, by the files of taut's router"
    options_type: type[DriverOptions] = LinuxRouterOptions

    def missing(self, options: DriverOptions) -> str | None:
        """Root, `ip`, or what is wrong with a file."""
        return missing_for_routing(cast(RoutingOptions, options))

    def running(
        self,
        links: Sequence[Link],
        cores: CpuSet,
        options: DriverOptions,
        log_dir: Path,  # noqa: ARG002 - the kernel writes none
        scope: RunScope,  # noqa: ARG002 - what is made goes with the links' namespace
    ) -> AbstractContextManager[RunningKernel]:
        """Set it up; entered when it forwards."""
        given = cast(RoutingOptions, options)
        return routing(self.name, links, cores, given, lambda *where: partial(count_lost, *where))
