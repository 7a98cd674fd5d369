"""The guests of a KVM host: a process of a monitor each, and the kernel's threads that serve it."""

import re
from dataclasses import dataclass

from taut.host.host import Host
from taut.host.threads import Thread, all_threads

# Threads of virtual CPUs, as QEMU (with debug-threads=on), Cloud Hypervisor, Firecracker and
# crosvm name them.
_VIRTUAL_CPU = re.compile(r"CPU \d+/KVM|vcpu\d+|fc_vcpu \d+|crosvm_vcpu\d+")
_MONITORS = ("qemu", "kvm", "cloud-hyp", "firecracker", "crosvm")
# The kernel's own threads of a guest carry the number of its process, where the name is whole.
_HELPER = re.compile(r"(?:vhost|kvm-pit|kvm-nx-lpage-recovery)[-/](\d+)")


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


def runs_guests(host: Host) -> bool:
    """Whether a virtual CPU runs here."""
    return any(guest.virtual_cpus for guest in guests(host))


def _emulates(host: Host, pid: int) -> bool:
    """Whether a monitor is known to do without KVM: none of its open files is a machine of KVM."""
    folder = f"/proc/{pid}/fd"
    targets = [host.link_target(f"{folder}/{name}") for name in host.names(folder)]
    return bool(targets) and "anon_inode:kvm-vm" not in targets


def _serves(thread: Thread, pid: int) -> bool:
    found = _HELPER.match(thread.comm) if thread.is_kernel else None
    return found is not None and found[1] == str(pid)
