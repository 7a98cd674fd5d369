"""Cores set apart while the machine runs, by control groups.

Version 2: an isolated partition (Documentation/admin-guide/cgroup-v2.rst). Version 1: no group but
ours balances the cores (Documentation/admin-guide/cgroup-v1/cpusets.rst): threads that sit on them
stay until their affinity moves them. Programs that poll must be started in the group: with version
2 no other may use its cores.
"""

import errno
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

from taut.core.cpus import format_cpu_list, parse_cpu_list, parse_shown_list
from taut.core.errors import InputError
from taut.host.host import Host
from taut.host.setting import HALF_MADE
from taut.host.writer import Writer

# Where distributions mount them: version 2 alone, or beside version 1 (systemd's hybrid).
_UNIFIED = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
_VERSION_1 = "/sys/fs/cgroup/cpuset"
_BALANCE = "cpuset.sched_load_balance"

WHY_BY_NAME = (
    "an isolated partition (cgroup v2) lets in whole programs alone, and taut's measure on its "
    "cores and write on another"
)
"""Why no run is measured with one, and no profile makes one."""


@dataclass(frozen=True)
class CpusetPartition:
    """The value is a list of cores; "" where there is no such group, None without cpusets."""

    kind: ClassVar[str] = "cpuset-partition"

    group: str

    @property
    def name(self) -> str:
        return f"cpuset partition {self.group}"

    def read(self, host: Host) -> str | None:
        """Give its cores, if the isolation is in force."""
        unified = cpuset_root(host)
        if unified is not None:
            return _read_unified(host, f"{unified}/{self.group}")
        if host.is_there(f"{_VERSION_1}/cpuset.cpus"):
            return _read_version_1(host, f"{_VERSION_1}/{self.group}")
        return None

    def write(self, writer: Writer, value: str | None) -> None:
        """Make it anew, or remove it."""
        unified = cpuset_root(writer.host)
        if unified is None and not writer.host.is_there(f"{_VERSION_1}/cpuset.cpus"):
            if value:
                raise OSError(errno.EOPNOTSUPP, "no cpuset control group here: use affinity")
            return
        remove = _remove_version_1 if unified is None else _remove_unified
        make = _make_version_1 if unified is None else _make_unified
        folder = f"{unified or _VERSION_1}/{self.group}"
        remove(writer, folder)
        if not value:
            return
        try:
            make(writer, folder, value)
        except OSError:
            with suppress(OSError):
                remove(writer, folder)
            raise

    def agrees(self, in_force: str | None, value: str | None) -> bool:
        """Compare as sets of cores."""
        if in_force is None or value is None:
            return not in_force and not value
        try:
            return parse_shown_list(in_force) == parse_shown_list(value)
        except InputError:
            return in_force == value

    def unmovable(self, error: OSError) -> str | None:
        """Say so where the machine has no cpusets, or its kernel no isolated partitions."""
        return error.strerror if error.errno == errno.EOPNOTSUPP else None


@dataclass(frozen=True)
class CpusetController:
    """Whether groups below the root of version 2 have cpusets: `on` or `off`."""

    kind: ClassVar[str] = "cpuset-controller"

    @property
    def name(self) -> str:
        return "cpuset in cgroup.subtree_control"

    def read(self, host: Host) -> str | None:
        """Give `on` or `off`; None without version 2 of control groups."""
        root = cpuset_root(host)
        if root is None:
            return None
        return "on" if "cpuset" in _words(host, f"{root}/cgroup.subtree_control") else "off"

    def write(self, writer: Writer, value: str | None) -> None:
        """Add or take away."""
        root = cpuset_root(writer.host)
        if root is not None and value in ("on", "off"):
            sign = "+" if value == "on" else "-"
            writer.write_file(f"{root}/cgroup.subtree_control", f"{sign}cpuset\n")

    def agrees(self, in_force: str | None, value: str | None) -> bool:
        return in_force == value

    def unmovable(self, error: OSError) -> str | None:  # noqa: ARG002 - settings share signatures
        return None


def cpuset_root(host: Host) -> str | None:
    """Give the root of version 2, if it has the cpuset controller."""
    for root in _UNIFIED:
        if "cpuset" in _words(host, f"{root}/cgroup.controllers"):
            return root
    return None


def has_child_cpusets(host: Host) -> bool:
    """Whether there are cpusets besides the root's: of containers, or of units."""
    is_on = CpusetController().read(host) == "on"
    return is_on or bool(host.paths(f"{_VERSION_1}/*/cpuset.cpus"))


def isolation_here(host: Host) -> str:
    """Say in words what setting cores apart achieves on this machine."""
    if cpuset_root(host) is not None:
        return (
            "cgroup v2: an isolated partition; programs that poll must be started in its group; "
            "before Linux 6.1 only affinities"
        )
    if host.is_there(f"{_VERSION_1}/cpuset.cpus"):
        return (
            "cgroup v1: the scheduler stops balancing onto the cores; threads that sit there stay "
            "until their affinity moves them, timers and kernel work are not moved"
        )
    return "no cpusets: only affinities of threads and interrupts; new threads may come back"


def _read_unified(host: Host, folder: str) -> str:
    if not host.is_there(folder):
        return ""
    if host.read(f"{folder}/cpuset.cpus.partition") != "isolated":
        return HALF_MADE
    return host.read(f"{folder}/cpuset.cpus") or HALF_MADE


def _make_unified(writer: Writer, folder: str, cores: str) -> None:
    if CpusetController().read(writer.host) != "on":
        CpusetController().write(writer, "on")
    writer.make_folder(folder)
    writer.write_file(f"{folder}/cpuset.cpus", f"{cores}\n")
    _isolate(writer, f"{folder}/cpuset.cpus.partition")


def _isolate(writer: Writer, path: str) -> None:
    try:
        writer.write_file(path, "isolated\n")
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        # A word the kernel does not know: before Linux 6.1 there were no such partitions.
        why = "no isolated partitions on this kernel: use affinity"
        raise OSError(errno.EOPNOTSUPP, why) from error
    # The kernel accepts an impossible partition and marks it invalid afterwards.
    state = writer.host.read(path)
    if state != "isolated":
        raise OSError(0, f"{path}: {state}")


def _remove_unified(writer: Writer, folder: str) -> None:
    if not writer.host.is_there(folder):
        return
    _refuse_inhabited(writer.host, folder)
    with suppress(FileNotFoundError):  # Made, but cpuset is off.
        writer.write_file(f"{folder}/cpuset.cpus.partition", "member\n")
    writer.remove_folder(folder)


def _read_version_1(host: Host, folder: str) -> str:
    others = _others(folder)
    if not host.is_there(folder) and not host.is_there(others):
        return ""
    files = (f"{_VERSION_1}/{_BALANCE}", f"{folder}/{_BALANCE}", f"{others}/{_BALANCE}")
    cores = host.read(f"{folder}/cpuset.cpus")
    is_whole = [host.read(file) for file in files] == ["0", "0", "1"]
    return cores if cores and is_whole and host.read(f"{others}/cpuset.cpus") else HALF_MADE


def _make_version_1(writer: Writer, folder: str, cores: str) -> None:
    """Make two groups; they need no members: domains are built from the groups that balance."""
    host = writer.host
    wanted = parse_cpu_list(cores)
    rest = [core for core in host.cores(f"{_VERSION_1}/cpuset.cpus") if core not in wanted]
    memory = host.read(f"{_VERSION_1}/cpuset.mems") or "0"
    for group, members, balance in ((folder, wanted, "0"), (_others(folder), rest, "1")):
        writer.make_folder(group)
        writer.write_file(f"{group}/cpuset.cpus", f"{format_cpu_list(members)}\n")
        writer.write_file(f"{group}/cpuset.mems", f"{memory}\n")
        writer.write_file(f"{group}/{_BALANCE}", f"{balance}\n")
    # Last: until then the root group balances everything, as before.
    writer.write_file(f"{_VERSION_1}/{_BALANCE}", "0\n")


def _remove_version_1(writer: Writer, folder: str) -> None:
    groups = [group for group in (folder, _others(folder)) if writer.host.is_there(group)]
    if not groups:
        return
    for group in groups:
        _refuse_inhabited(writer.host, group)
    # First: no core is without balancing meanwhile. The journal knows whether it was 1 before.
    writer.write_file(f"{_VERSION_1}/{_BALANCE}", "1\n")
    for group in groups:
        writer.remove_folder(group)


def _refuse_inhabited(host: Host, folder: str) -> None:
    members = _words(host, f"{folder}/cgroup.procs")
    if members:
        shown = " ".join(members[:5])
        raise OSError(errno.EBUSY, f"{folder}: processes {shown} run in it; end or move them")


def _others(folder: str) -> str:
    return f"{folder}-others"


def _words(host: Host, path: str) -> list[str]:
    return (host.read(path) or "").split()
