"""ovs_kernel: Open vSwitch's datapath in the kernel, between two veth links.

Its daemon only decides what becomes of the first packet of a flow; the others are forwarded by the
kernel's module openvswitch. A bridge with datapath_type=netdev over the same links, which forwards
in the daemon by AF_PACKET sockets, would be another device; where there is no module this one is
missing, and nothing takes its place.
"""

import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from pydantic import Field

from taut.core.cpus import CpuSet
from taut.core.errors import TrialError
from taut.dut.driver import DriverOptions, with_whole_path
from taut.dut.installed import find
from taut.dut.kernel_device import KernelDriver, KernelOptions, RunningKernel, place
from taut.dut.open_vswitch import BRIDGE, PLAIN, STRAIGHT, Port, Switch, missing_switch, switching
from taut.host.host import Host
from taut.records.documents.json_form import JsonObject
from taut.testbed.link import Link
from taut.testbed.scope import RunScope
from taut.testbed.veth_pairs import needs_root

_MODULE = Path("/sys/module/openvswitch")
_CAP_SYS_MODULE = 16  # its bit, of capabilities(7)


class OvsKernelOptions(KernelOptions):
    """Where the kernel works, and what the switch is told."""

    flows: str = Field(
        "",
        description="file of OpenFlow flows as for ovs-ofctl, ports 1 and 2, relative to the"
        " experiment's file; without it, from each port to the other",
    )

    @property
    def files(self) -> tuple[Path, ...]:
        """Give the file of flows, where there is one."""
        return (Path(self.flows),) if self.flows else ()

    @classmethod
    def seen_from(cls, folder: Path, options: Mapping[str, object]) -> dict[str, object]:
        """Give the flows with their whole path."""
        return with_whole_path(folder, options, "flows")


class OvsKernelDriver(KernelDriver):
    """Switches between the device's ends of two veth links."""

    name = "ovs_kernel"
    summary = "Open vSwitch's datapath in the kernel over veth, its work moved to the device's core"
    options_type: type[DriverOptions] = OvsKernelOptions

    def missing(self, options: DriverOptions) -> str | None:
        """Root, the program, the kernel's module, or what is wrong with the flows."""
        flows = cast(OvsKernelOptions, options).flows
        return needs_root("veth") or missing_switch(PLAIN, flows) or _missing_module()

    def version(self) -> str:
        """Of the kernel, which forwards, and of the daemon."""
        found = find(PLAIN)
        daemon = "" if found is None else f", Open vSwitch {found.versions[0]}"
        return super().version() + daemon

    @contextmanager
    def running(
        self,
        links: Sequence[Link],
        cores: CpuSet,
        options: DriverOptions,
        log_dir: Path,
        scope: RunScope,
    ) -> Iterator[RunningKernel]:
        """Start the daemon; entered when its flows are set."""
        given, found = cast(OvsKernelOptions, options), find(PLAIN)
        if found is None:
            raise TrialError(str(self.missing(options)))
        _load_module()
        namespace = str(links[0].device_netns)
        ports = [str(link.device_ifname) for link in links]
        with switching(
            found.path,
            [Port(port) for port in ports],
            datapath="system",
            other_config=(),
            flows=Path(given.flows).read_text(encoding="utf-8") if given.flows else STRAIGHT,
            scope=scope,
            cores=cores,
            netns=namespace,
            log_dir=log_dir,
        ) as switch:
            notes = place(namespace, ports, cores, options)
            dut = RunningKernel(
                self.name,
                namespace,
                ports,
                notes,
                also_needs=[BRIDGE],
                counters=_counters(switch),
                logs=switch.logs,
            )
            yield dut
            dut.stop()
            switch.end()


def _counters(switch: Switch) -> Callable[[], JsonObject]:
    return lambda: {"flows": dict(switch.flows()), "no_flow": switch.no_flow()}


def _load_module() -> None:
    """Load it, and leave it: others may use it by then. TrialError: the kernel takes none."""
    if not _MODULE.exists() and (done := _modprobe()).returncode != 0:
        raise TrialError(f"ovs_kernel: {done.stderr.strip() or 'modprobe openvswitch: failed'}")


def _modprobe(*options: str) -> subprocess.CompletedProcess[str]:
    argv = ["modprobe", *options, "openvswitch"]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def _missing_module() -> str | None:
    """Say that this kernel has no such datapath; changes nothing."""
    if _MODULE.exists():
        return None
    # First: images of containers have no modules to look for.
    if (refused := _refuses_modules(Host())) is not None:
        return f"ovs_kernel: module openvswitch is not loaded, and {refused}"
    try:
        asked = _modprobe("--dry-run", "--quiet")
    except FileNotFoundError:
        return "modprobe: program not found; install kmod"
    if asked.returncode != 0:
        return (
            "ovs_kernel: this kernel has no module openvswitch; boot a kernel of the distribution,"
            " or measure ovs_dpdk"
        )
    return None


def _refuses_modules(host: Host) -> str | None:
    """Say why no module can be loaded, which --dry-run does not ask, and the remedy."""
    if host.read("/proc/sys/kernel/modules_disabled") == "1":
        return "the kernel takes none any more (kernel.modules_disabled); load it at boot"
    capabilities = host.fields("/proc/self/status").get("CapEff", "")
    if capabilities and not int(capabilities, 16) >> _CAP_SYS_MODULE & 1:
        return "there is no CAP_SYS_MODULE here; `modprobe openvswitch` outside of the container"
    return None
