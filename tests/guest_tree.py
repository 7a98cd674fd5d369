"""A KVM host as a tree: a guest's process with its threads, and the kernel's threads for it."""

from collections.abc import Mapping
from dataclasses import replace

from host_tree import POLL
from taut.host.situation import Role

KVM_HOST = replace(POLL, role=Role.KVM_HOST, are_for_guests=True)
PID = 700
QEMU = ("/usr/bin/qemu-system-x86_64", "-name", "guest=web,debug-threads=on", "-m", "2048")
GOOD_THREADS = {"qemu-system-x86": "0-1", "CPU 0/KVM": "2", "CPU 1/KVM": "3"}
PF_KTHREAD = 0x200000


def guest(
    *more: str, threads: Mapping[str, str] = GOOD_THREADS, status: str = "", vhost: str = "0-1"
) -> dict[str, str]:
    """Files of one guest: further words of its command line, threads and the cores of each."""
    files = {
        f"/proc/{PID}/comm": "qemu-system-x86\n",
        f"/proc/{PID}/cmdline": "\0".join((*QEMU, *more)) + "\0",
    }
    for number, (comm, cores) in enumerate(threads.items()):
        files |= _thread(PID, PID + number, comm, cores, status if number == 0 else "")
    files |= _thread(900, 900, f"vhost-{PID}", vhost, "", PF_KTHREAD)
    return files


def memory(huge_mib: int, other_mib: int, locked_kib: int = 0, swap_kib: int = 0) -> str:
    """What a process's status says of its memory."""
    sizes = {
        "VmLck": locked_kib,
        "VmRSS": other_mib * 1024,
        "VmSwap": swap_kib,
        "HugetlbPages": huge_mib * 1024,
    }
    return "".join(f"{name}:\t{kib:8} kB\n" for name, kib in sizes.items())


def _thread(
    pid: int, tid: int, comm: str, cores: str, status: str, flags: int = 0
) -> dict[str, str]:
    # Fields 3 to 41 of stat (proc(5)); 9 is flags, 22 the start, 39 the last core.
    fields = ["S", *["0"] * 38]
    fields[6], fields[19] = str(flags), str(100 + tid)
    files = {
        "comm": f"{comm}\n",
        "stat": f"{tid} ({comm}) {' '.join(fields)}\n",
        "status": f"Name:\t{comm}\n{status}Cpus_allowed_list:\t{cores}\n",
    }
    found = {f"/proc/{pid}/task/{tid}/{name}": text for name, text in files.items()}
    return found | {f"/proc/{tid}/{name}": text for name, text in files.items()}
