"""The guests of a KVM host: a process of a monitor each, and the kernel's threads that serve it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from taut.core.cpus import CpuSet
from taut.host.checks._pollers import polled_cores, polling_threads
from taut.host.host import Host
from taut.host.threads import Thread, all_threads
from taut.host.view import View

# Threads of virtual CPUs, as QEMU (with debug-threads=on), Cloud Hypervisor, Firecracker and
# crosvm name them.
_VIRTUAL_CPU = re.compile(r"CPU \d+/KVM|vcpu\d+|fc_vcpu \d+|crosvm_vcpu\d+")
_MONITORS = ("qemu", "kvm", "cloud-hyp", "firecracker", "crosvm")
# The kernel's own threads of a guest carry the number of its process.
_HELPER = re.compile(r"(?:vhost|kvm-pit|kvm-nx-lpage-re)[-/](\d+)")
_UNITS_MIB = {"": 1.0, "k": 1 / 1024, "m": 1.0, "g": 1024.0, "t": 1024.0**2}
_SIZE = re.compile(r"(?:size=)?(\d{1,12})([kmgt]?)b?", re.IGNORECASE)


@dataclass(frozen=True)
class Guest:
    """One virtual machine: a process of a monitor, and the kernel's threads that serve it."""

    pid: int
    arguments: tuple[str, ...]
    """Its command line; empty where it is not readable."""
    virtual_cpus: tuple[Thread, ...]
    helpers: tuple[Thread, ...]
    """Emulator, I/O threads, vhost."""

    @property
    def is_qemu(self) -> bool:
        """Whether its command line is one we can read."""
        return any("qemu" in word or word.endswith("/kvm") for word in self.arguments[:1])

    def __str__(self) -> str:
        name = next(iter(options(self, "-name")), "").removeprefix("guest=").partition(",")[0]
        return f"guest {name or self.pid}"


def is_virtual_cpu(thread: Thread) -> bool:
    """Whether a thread is a guest's processor, by its name."""
    return _VIRTUAL_CPU.fullmatch(thread.comm) is not None


def pinnings(see: View) -> list[tuple[Thread, int]]:
    """Give each virtual CPU its core; none where the cores are not for guests, or do not suffice.

    Those without a core are foreign on the poll cores, as any other thread.
    """
    if not (see.situation.are_for_guests and see.can_split):
        return []
    virtual = [each for guest in guests(see.host) for each in guest.virtual_cpus]
    # A switch that polls beside the guests has cores of its own.
    polled = polled_cores([each for each in polling_threads(see) if len(each.allowed) == 1])
    free = [core for core in see.cores if core not in polled]
    return list(zip(virtual, free, strict=False)) if len(virtual) <= len(free) else []


def need_guests(see: View) -> list[Guest]:
    """Give the guests that run; CannotJudge: none does."""
    found = guests(see.host)
    if not found:
        see.cannot_tell("no guest runs", "a running guest (as root): start it, audit again", "")
    return found


def need_command_lines(see: View) -> list[Guest]:
    """Give the guests that run; CannotJudge: of one the command line is not QEMU's."""
    found = need_guests(see)
    for guest in found:
        if not guest.is_qemu:
            needs = "the definition of this guest: its monitor is not QEMU, or run as root"
            see.cannot_tell(f"{guest}: no command line of QEMU", needs)
    return found


def guests(host: Host) -> list[Guest]:
    """Give the guests that run, by process number."""
    threads = list(all_threads(host))
    names = {
        pid: host.read(f"/proc/{pid}/comm") or "" for pid in sorted({each.pid for each in threads})
    }
    found = []
    for pid, name in names.items():
        own = [each for each in threads if each.pid == pid and not each.is_kernel]
        virtual = tuple(each for each in own if is_virtual_cpu(each))
        if not own or not (virtual or name.startswith(_MONITORS)) or _emulates(host, pid):
            continue
        serving = [each for each in threads if _serves(each, pid)]
        helpers = (*(each for each in own if each not in virtual), *serving)
        text = host.read(f"/proc/{pid}/cmdline") or ""
        found.append(Guest(pid, tuple(text.split("\0")) if text else (), virtual, helpers))
    return found


def options(guest: Guest, name: str) -> list[str]:
    """Give the argument after each occurrence of an option of QEMU."""
    words = guest.arguments
    return [words[i + 1] for i, word in enumerate(words[:-1]) if word == name]


def memory_mib(guest: Guest) -> int | None:
    """How much memory a guest has by its command line; None where it does not tell."""
    for text in options(guest, "-m"):
        size = next((part for part in text.split(",") if "=" not in part or "size=" in part), "")
        if found := _SIZE.fullmatch(size):
            return int(int(found[1]) * _UNITS_MIB[found[2].lower()])
    return None


def guest_cores(found: Sequence[Guest]) -> CpuSet:
    """Cores that virtual CPUs are pinned to one by one."""
    pinned = {
        each.allowed[0] for guest in found for each in guest.virtual_cpus if len(each.allowed) == 1
    }
    return tuple(sorted(pinned))


def _emulates(host: Host, pid: int) -> bool:
    """Whether a monitor is known to do without KVM: none of its open files is a machine of KVM."""
    folder = f"/proc/{pid}/fd"
    targets = [host.link_target(f"{folder}/{name}") for name in host.names(folder)]
    return bool(targets) and "anon_inode:kvm-vm" not in targets


def _serves(thread: Thread, pid: int) -> bool:
    found = _HELPER.match(thread.comm) if thread.is_kernel else None
    return found is not None and found[1] == str(pid)
