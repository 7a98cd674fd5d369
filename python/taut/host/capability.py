"""What this machine can and cannot do for a measurement, and the remedy. Reads only."""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from taut.binaries.clock import read_clock
from taut.core.binaries import BINARIES, find_binary_or_none, how_to_get
from taut.core.cpus import CpuSet, cpuset_cores, format_cpu_list
from taut.core.errors import MissingToolError, TautError
from taut.host.apart import cores_apart
from taut.host.dpdk import DEVICE_HUGEPAGES, GENERATOR_HUGEPAGES, dpdk_version
from taut.host.fingerprint import hypervisor
from taut.host.host import Host
from taut.host.isolated import isolated
from taut.host.own_group import own_cores
from taut.host.view import named

_WANTED_HUGEPAGES = GENERATOR_HUGEPAGES + DEVICE_HUGEPAGES
_HUGEPAGES = "/sys/kernel/mm/hugepages/hugepages-2048kB"
# util-linux and coreutils: how children are pinned, put into namespaces and tied to taut.
_TOOLS = ("setpriv", "nsenter", "unshare", "taskset", "stdbuf")


class Status(StrEnum):
    """Whether a capability is there in full, in part, or not."""

    YES = "yes"
    LIMITED = "limited"  # measurements work; the remedy makes them better
    NO = "no"


@dataclass(frozen=True)
class Capability:
    """One line of `taut doctor`."""

    name: str
    status: Status
    observed: str
    remedy: str = ""
    is_required: bool = False  # without it nothing can be measured


def capabilities(host: Host) -> list[Capability]:
    """Look at everything, most important first."""
    return [check(host) for check in _CHECKS]


def check_programs(host: Host) -> Capability:  # noqa: ARG001 - checks share a signature
    """Taut's own programs are here, and of its version."""
    try:
        absent = [name for name in BINARIES if find_binary_or_none(name) is None]
    except MissingToolError as error:
        return Capability("programs", Status.NO, str(error), is_required=True)
    if absent:
        return Capability(
            "programs", Status.NO, f"not found: {' '.join(absent)}", how_to_get(), is_required=True
        )
    return Capability("programs", Status.YES, " ".join(BINARIES), is_required=True)


def check_clock(host: Host) -> Capability:
    """The TSC counts at one rate on all cores."""
    try:
        clock = read_clock(host.online_cores())
    except TautError as error:
        return Capability("clock", Status.NO, str(error), how_to_get(), is_required=True)
    if not clock.usable:
        why = clock.why or "the TSC is not usable"
        return Capability(
            "clock", Status.NO, why, "measure on a machine with a constant TSC", is_required=True
        )
    rate = f"TSC at {(clock.tsc_hz or 0) / 1e6:.3f} MHz"
    skews = [abs(pair.skew_ns) for pair in clock.skew]
    observed = f"{rate}, skew between cores at most {max(skews):.0f} ns" if skews else rate
    return Capability("clock", Status.YES, observed, is_required=True)


def check_cores(host: Host) -> Capability:
    """Generator and device each need a core; the system needs one too."""
    online, usable = host.online_cores(), _usable(host)
    observed = f"{len(online)} online ({format_cpu_list(online)})"
    if usable != online:
        observed += f", {len(usable)} to use here ({format_cpu_list(usable)})"
    if len(usable) < 2:
        return Capability(
            "cores", Status.LIMITED, observed, "use 2 cores: generator and device share this one"
        )
    if len(usable) < 3:
        return Capability(
            "cores",
            Status.LIMITED,
            observed,
            "use 3 cores: the system's work falls on the generator's or the device's core",
        )
    return Capability("cores", Status.YES, observed)


def _usable(host: Host) -> CpuSet:
    """Give the cores a run would use, as it finds them: of its cpuset, and those set apart."""
    online, apart = host.online_cores(), cores_apart(host)
    mine = (cpuset_cores() if host.is_live else own_cores(host)) or online
    return tuple(core for core in online if core in mine or core in apart)


def check_isolation(host: Host) -> Capability:
    """Cores the scheduler leaves alone make tails those of the device."""
    found = isolated(host)
    by_cpusets = dict.fromkeys(found.cores if found else (), "isolated by cpusets")
    why = {**by_cpusets, **cores_apart(host)}
    said = [
        f"{named(tuple(core for core in why if why[core] == each))} {each}"
        for each in dict.fromkeys(why.values())
    ]
    if said:
        return Capability("isolation", Status.YES, "; ".join(said))
    return Capability(
        "isolation",
        Status.LIMITED,
        "no isolated cores",
        "boot with isolcpus= nohz_full= rcu_nocbs= for the measuring cores",
    )


def check_hypervisor(host: Host) -> Capability:
    """A guest's cores are taken away by its host."""
    name = hypervisor(host)
    if name is None:
        return Capability("bare metal", Status.YES, "no hypervisor")
    return Capability(
        "bare metal", Status.LIMITED, f"guest of a hypervisor ({name})", "measure tails on hardware"
    )


def check_root(host: Host) -> Capability:  # noqa: ARG001 - checks share a signature
    """Root makes namespaces, veth links and hugepages."""
    if os.geteuid() == 0:
        return Capability("root", Status.YES, "root")
    return Capability(
        "root",
        Status.LIMITED,
        f"user {os.geteuid()}: memif, virtio and vhost only, without hugepages",
        "run as root for veth, xdp, the kernel as a device, pci and hugepages",
    )


def check_hugepages(host: Host) -> Capability:
    """Hugepages of 2 MB; taut adds its own while it runs, if it may."""
    total = host.read(f"{_HUGEPAGES}/nr_hugepages")
    if total is None:
        return Capability(
            "hugepages",
            Status.LIMITED,
            "kernel offers no 2 MB pages",
            "programs run with --no-huge",
        )
    free = int(host.read(f"{_HUGEPAGES}/free_hugepages") or 0)
    observed = f"{free} of {total} free"
    # A container's root may find /sys read-only.
    if os.access(host.root / f"{_HUGEPAGES}/nr_hugepages".lstrip("/"), os.W_OK):
        return Capability("hugepages", Status.YES, f"{observed}; a run adds and returns its own")
    if free >= _WANTED_HUGEPAGES:
        return Capability("hugepages", Status.YES, observed)
    who = "on the host: /sys is read-only here" if os.geteuid() == 0 else "as root"
    return Capability(
        "hugepages",
        Status.LIMITED,
        observed,
        f"echo {_WANTED_HUGEPAGES} > {_HUGEPAGES}/nr_hugepages ({who})",
    )


def check_namespaces(host: Host) -> Capability:  # noqa: ARG001 - checks share a signature
    """Network namespaces hold the veth links."""
    if shutil.which("unshare") is None:
        return Capability("namespaces", Status.NO, "no unshare", "install util-linux")
    ended = subprocess.run(
        ["unshare", "--net", "true"], capture_output=True, text=True, check=False
    )
    if ended.returncode == 0:
        return Capability("namespaces", Status.YES, "can be made")
    return Capability(
        "namespaces", Status.LIMITED, ended.stderr.strip(), "run as root for veth and xdp"
    )


def check_shared_memory(host: Host) -> Capability:  # noqa: ARG001 - checks share a signature
    """Memif's rings are anonymous files in memory."""
    try:
        os.close(os.memfd_create("taut-doctor"))
    except OSError as error:
        return Capability(
            "shared memory", Status.NO, f"memfd_create: {error.strerror}", "allow memfd for memif"
        )
    is_writable = os.access("/dev/shm", os.W_OK)  # noqa: S108 - looked at, not used
    note = "" if is_writable else ", /dev/shm is not writable"
    return Capability("shared memory", Status.YES, f"memfd{note}")


def check_tools(host: Host) -> Capability:  # noqa: ARG001 - checks share a signature
    """Programs of Debian's base system that start and pin children."""
    absent = [name for name in _TOOLS if shutil.which(name) is None]
    if absent:
        return Capability(
            "tools",
            Status.NO,
            f"not found: {' '.join(absent)}",
            "install util-linux and coreutils",
            is_required=True,
        )
    return Capability("tools", Status.YES, " ".join(_TOOLS), is_required=True)


def check_dpdk(host: Host) -> Capability:  # noqa: ARG001 - checks share a signature
    """The library both programs are built on."""
    version = dpdk_version()
    if version == "unknown":
        return Capability("DPDK", Status.NO, "not found", "install dpdk and libdpdk-dev")
    return Capability("DPDK", Status.YES, version)


_CHECKS: tuple[Callable[[Host], Capability], ...] = (
    check_programs,
    check_clock,
    check_tools,
    check_cores,
    check_root,
    check_hugepages,
    check_namespaces,
    check_shared_memory,
    check_dpdk,
    check_isolation,
    check_hypervisor,
)
