"""What kind of machine a host is: the facts that checks need."""

import re
from dataclasses import dataclass

from taut.host.fingerprint import hypervisor
from taut.host.host import Host
from taut.host.threads import PID_NAMESPACE

_VENDORS = {"GenuineIntel": "intel", "AuthenticAMD": "amd", "HygonGenuine": "amd"}
# What marks a container: files its runtime leaves, and the environment of its first process.
_CONTAINER_FILES = {"/.dockerenv": "docker", "/run/.containerenv": "podman"}
# The first PID namespace, outside of every container, has this number (PROC_PID_INIT_INO).
_FIRST_PID_NAMESPACE = "pid:[4026531836]"

OTHER_NUMBERS = (
    "threads have other numbers in this container than in the kernel's events; start it with "
    "--pid=host"
)
"""Why threads cannot be traced where they have numbers of their own."""


@dataclass(frozen=True)
class Machine:
    """Processor, kernel, and the hypervisor or container around it."""

    vendor: str
    """intel, amd, arm or other."""
    family: int
    model: int
    flags: frozenset[str]
    kernel: tuple[int, int]
    """Major and minor version."""
    is_realtime: bool
    """Whether the kernel runs as PREEMPT_RT, and not only could."""
    hypervisor: str | None
    container: str | None
    """Name of the container runtime, or unknown; None: not in a container."""

    @property
    def is_x86(self) -> bool:
        return self.vendor in ("intel", "amd")


def read_machine(host: Host) -> Machine:
    """Read what kind of machine a host is; numbers it does not tell are 0."""
    fields = host.fields("/proc/cpuinfo")
    return Machine(
        vendor="arm"
        if "CPU implementer" in fields
        else _VENDORS.get(fields.get("vendor_id", ""), "other"),
        family=_number(fields.get("cpu family")),
        model=_number(fields.get("model")),
        flags=frozenset((fields.get("flags") or fields.get("Features") or "").split()),
        kernel=kernel_version(host),
        is_realtime=is_realtime(host),
        hypervisor=hypervisor(host),
        container=container(host),
    )


def kernel_version(host: Host) -> tuple[int, int]:
    """Give major and minor of the running kernel."""
    return version_of(host.read("/proc/sys/kernel/osrelease") or "")


def version_of(release: str) -> tuple[int, int]:
    """Give major and minor of a kernel's release (uname -r); (0, 0): it is not known."""
    found = re.match(r"(\d+)\.(\d+)", release)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def is_realtime(host: Host) -> bool:
    """Whether the kernel is PREEMPT_RT."""
    if host.read("/sys/kernel/realtime") == "1":
        return True
    return "PREEMPT_RT" in (host.read("/proc/sys/kernel/version") or "")


def container(host: Host) -> str | None:
    """Name of the container runtime we run in, or unknown; None outside."""
    # A machine whose root was made from an image keeps the image's files; but kernel threads are
    # seen only from the first PID namespace. (A container that shares it: --role container.)
    if host.read("/proc/2/comm") == "kthreadd":
        return None
    for path, name in _CONTAINER_FILES.items():
        if host.is_there(path):
            return name
    for word in (host.read("/proc/1/environ") or "").split("\0"):
        if word.startswith("container="):
            return word.removeprefix("container=") or "unknown"
    # Nothing names it: a pod of containerd, or an environment only root may read. Where hidepid
    # alone hides the kernel's threads, the namespace is the first.
    return "unknown" if has_own_numbers(host) else None


def has_own_numbers(host: Host) -> bool:
    """Whether threads have other numbers here than in the kernel's events: a PID namespace."""
    return host.link_target(PID_NAMESPACE) not in (None, _FIRST_PID_NAMESPACE)


def _number(text: str | None) -> int:
    return int(text) if text and text.isdigit() else 0
