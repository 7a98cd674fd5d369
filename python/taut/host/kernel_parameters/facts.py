"""What is known of the kernel that a command line is for; what is unknown is not judged."""

import gzip
import re
from collections.abc import Mapping
from dataclasses import dataclass

from taut.core.cpus import CpuSet
from taut.host.host import Host
from taut.host.kernel_parameters.names import Version
from taut.host.machine import kernel_version

_IGNORED = re.compile(r'Unknown kernel command line parameters "(.*)", will be passed')
_SET = re.compile(r"^CONFIG_(\w+)=(.*)$|^# CONFIG_(\w+) is not set$", re.MULTILINE)
# The kernel names what it does not know since 5.14.
_TELLS_IGNORED: Version = (5, 14)


@dataclass(frozen=True)
class KernelFacts:
    """What is known of a kernel and its machine; without facts only names and values are judged."""

    kernel: Version | None = None
    config: Mapping[str, str] | None = None
    """By option, without CONFIG_; what is not set is `n`."""
    cores: CpuSet | None = None
    modules: Mapping[str, frozenset[str]] | None = None
    """Options that /sys/module shows, by module."""
    running: str = ""
    """The command line the kernel was started with."""
    ignored: frozenset[str] | None = None
    """Names the kernel said it does not know; None where its log no longer tells."""

    @property
    def n_cores(self) -> int | None:
        """One more than the highest number of a core; None: the cores are not known."""
        return max(self.cores) + 1 if self.cores else None


def read_kernel_facts(host: Host) -> KernelFacts:
    """Read what this machine tells; no root needed."""
    version = kernel_version(host)
    return KernelFacts(
        kernel=version if version != (0, 0) else None,
        config=_read_config(host),
        cores=host.cores("/sys/devices/system/cpu/present") or None,
        modules=_read_modules(host),
        running=host.read("/proc/cmdline") or "",
        ignored=_read_ignored(host, version),
    )


def parse_kernel_config(data: bytes) -> Mapping[str, str] | None:
    """Read a kernel's .config, compressed or not; None: it is none."""
    if data.startswith(b"\x1f\x8b"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError):
            return None
    found = _SET.findall(data.decode(errors="replace"))
    return {name or unset: value if name else "n" for name, value, unset in found} or None


def _read_config(host: Host) -> Mapping[str, str] | None:
    release = host.read("/proc/sys/kernel/osrelease") or ""
    for path in ("/proc/config.gz", f"/boot/config-{release}", f"/lib/modules/{release}/config"):
        data = host.read_bytes(path)
        config = parse_kernel_config(data) if data else None
        if config is not None:
            return config
    return None


def _read_modules(host: Host) -> Mapping[str, frozenset[str]] | None:
    modules = {
        name: frozenset(host.names(f"/sys/module/{name}/parameters"))
        for name in host.names("/sys/module")
    }
    return modules or None


def _read_ignored(host: Host, kernel: Version) -> frozenset[str] | None:
    log = host.command("dmesg") or ""
    # Only the log of the boot tells, and only while its beginning is still there.
    if kernel < _TELLS_IGNORED or "Kernel command line:" not in log:
        return None
    found = _IGNORED.findall(log)
    words = " ".join(found).split()
    return frozenset(word.partition("=")[0].replace("-", "_") for word in words)
