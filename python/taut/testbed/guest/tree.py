"""What a guest says of itself in /proc and /sys, copied to the host as a folder to audit."""

import io
import tarfile
from pathlib import Path

from taut.testbed.guest.channel import Channel
from taut.testbed.guest.kernel import Kernel

# What checks of a host look at. Files of /proc have no size, so they are copied before they are
# packed; what is missing in a kernel is left out.
_PATHS = (
    "/proc/cmdline /proc/cpuinfo /proc/interrupts /proc/softirqs /proc/meminfo /proc/swaps"
    " /proc/mounts /proc/stat /proc/modules /proc/version /proc/sys/kernel /proc/sys/vm /proc/irq"
    " /sys/devices/system /sys/devices/virtual/workqueue /sys/kernel/mm /sys/kernel/rcu_normal"
    " /sys/kernel/rcu_expedited /sys/kernel/realtime /sys/hypervisor /sys/class/dmi"
    " /sys/module/*/parameters"
)
_THREADS = " ".join(
    f"/proc/[0-9]*/{name} /proc/[0-9]*/task/*/{name}" for name in ("comm", "stat", "status")
)
# One process copies it all: emulated, a fork takes milliseconds.
_COPY = (
    f"mkdir /tmp/tree; cp -r --parents {_PATHS} {_THREADS} /proc/[0-9]*/cmdline /tmp/tree"
    " 2>/dev/null; tar -c -C /tmp/tree . 2>/dev/null; rm -rf /tmp/tree"
)


def fetch_tree(control: Channel, kernel: Kernel, folder: Path) -> Path:
    """Copy it into a folder, with the kernel's configuration, which is the host's to add."""
    answer = control.must(_COPY, 180, doing="copying what its kernel says of itself")
    with tarfile.open(fileobj=io.BytesIO(answer.said)) as archive:
        for member in archive:
            place = (folder / member.name).resolve()
            if member.isfile() and folder.resolve() in place.parents:
                place.parent.mkdir(parents=True, exist_ok=True)
                content = archive.extractfile(member)
                place.write_bytes(b"" if content is None else content.read())
    boot = folder / "boot"
    boot.mkdir(exist_ok=True)
    (boot / kernel.config.name).write_bytes(kernel.config.read_bytes())
    return folder
