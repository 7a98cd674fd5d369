"""Where the kernel does the work of a link: on the sender's core, or moved to another.

A veth hands a packet over in the sender's softirq. Two ways move it: receive packet steering
(RPS, an inter-processor interrupt per batch) and threaded NAPI (a kernel thread per queue).
"""

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from taut.core.cpus import cpu_mask, format_cpu_list
from taut.core.errors import TrialError
from taut.testbed import netlink

# /sys shows the namespace it was mounted in: mount one of our own, write, and read back. Only /sys
# is made private: unshare's default, everything below /, fails in a chroot.
_WRITE_AND_READ = (
    'mount --make-rprivate /sys && mount -t sysfs sysfs /sys && printf %s "$2" > "$1" && cat "$1"'
)
_THREAD_TIMEOUT_S = 60.0


def steer_to(namespace: str, ifname: str, cores: Sequence[int]) -> str:
    """Steer what arrives at a link to cores by RPS; give the note for the results."""
    mask = cpu_mask(cores)
    path = f"/sys/class/net/{ifname}/queues/rx-0/rps_cpus"
    answer = write_sysfs(namespace, path, mask)
    if int(answer.replace(",", ""), 16) != int(mask.replace(",", ""), 16):
        raise TrialError(f"link {ifname}: RPS mask {mask} wanted, kernel says {answer}")
    return f"{ifname}: RPS to core {format_cpu_list(cores)} (rps_cpus = {answer})"


def thread_on(namespace: str, ifname: str, cores: Sequence[int]) -> str:
    """Move what arrives at a link to a NAPI thread on cores; give the note for the results."""
    # A veth has NAPI only where GRO is on; frames of the generator are not merged by it, for
    # UDP is merged only on request of a socket.
    netlink.inside(namespace, lambda: netlink.set_offloads(ifname, on=True, names=("gro",)))
    answer = write_sysfs(namespace, f"/sys/class/net/{ifname}/threaded", "1")
    threads = _napi_threads(ifname)
    if answer != "1" or not threads:
        raise TrialError(f"link {ifname}: this kernel offers no threaded NAPI; use placement rps")
    for pid in threads:
        os.sched_setaffinity(pid, cores)
        if os.sched_getaffinity(pid) != set(cores):
            raise TrialError(f"link {ifname}: NAPI thread {pid} does not stay on its core")
    names = " ".join(str(pid) for pid in threads)
    return f"{ifname}: threaded NAPI, thread {names} on core {format_cpu_list(cores)}"


def write_sysfs(namespace: str, path: str, value: str) -> str:
    """Write a file of a namespace's /sys and give what it says afterwards."""
    command = ["nsenter", f"--net={netlink.NETNS_FOLDER / namespace}"]
    command += ["unshare", "--mount", "--propagation", "unchanged"]
    ended = subprocess.run(
        [*command, "sh", "-c", _WRITE_AND_READ, "sh", path, value],
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode != 0:
        raise TrialError(f"{path}: {value!r} not written: {ended.stderr.strip()}")
    return ended.stdout.strip()


def _napi_threads(ifname: str) -> list[int]:
    deadline = time.monotonic() + _THREAD_TIMEOUT_S
    while True:
        found = [pid for pid, name in _kernel_threads() if name.startswith(f"napi/{ifname}-")]
        if found or time.monotonic() > deadline:
            return found
        time.sleep(0.01)


def _kernel_threads() -> list[tuple[int, str]]:
    threads = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                threads.append((int(entry.name), (entry / "comm").read_text().strip()))
            except OSError:
                continue
    return threads
