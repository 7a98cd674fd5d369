"""QEMU's command line for a guest, and whether this machine runs one by KVM or by emulation."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from taut.testbed.guest.init import CLOCK, CONTROL, LOG, READY
from taut.testbed.guest.kernel import Kernel
from taut.testbed.owner import boot_id

PROGRAM = "qemu-system-x86_64"
OLDEST = 8
"""7.2 crashes when the other end of a vhost-user port goes away."""
KVM, EMULATION = "kvm", "tcg"
IOMMU_PARAMETERS = "intel_iommu=on iommu=pt"
"""Of the kernel of a guest that has one."""
NO_LATENCY = "emulated: no latency claim"
"""Goes with every number of a guest whose instructions are translated, not run."""

_KVM_TO_READY_S = 10.0
_FIRST_SLOT = 0x10
# The most that QEMU gives a vhost-user port.
_RING = 1024


@dataclass(frozen=True)
class Shape:
    """What a guest consists of."""

    kernel: Kernel
    initrd: Path
    parameters: str
    cpus: int = 2
    memory_mib: int = 512
    hugepages: int = 128
    """Of 2 MB, inside the guest."""
    on_hugepages: bool = False
    """Whether its memory is the host's hugepages."""
    accelerator: str = EMULATION
    has_iommu: bool = False
    """Whether it has an IOMMU, emulated, as VFIO wants one: with VFIO alone cards interrupt for
    each queue. A virtio card goes past it, by addresses of the guest's memory as they are."""
    more: tuple[str, ...] = ()
    """Further words of QEMU's command line, as for cards."""


@dataclass(frozen=True)
class Files:
    """Where the host's ends of a guest lie, all in the run's folder, and its two logs."""

    folder: Path
    name: str
    console: Path
    log: Path

    def socket(self, what: str) -> Path:
        return self.folder / f"{self.name}-{what}.sock"


def command_line(shape: Shape, files: Files, sockets: Sequence[Path]) -> list[str]:
    """Write the whole command line; a virtio port for each vhost-user socket, served by QEMU."""
    memory = f"memory-backend-memfd,id=ram,size={shape.memory_mib}M,share=on"
    if shape.on_hugepages:
        memory += ",hugetlb=on,hugetlbsize=2M,prealloc=on"
    return [
        PROGRAM,
        *("-name", f"guest=taut-{files.name},debug-threads=on"),
        *("-machine", "q35,memory-backend=ram", "-accel", _accelerator(shape)),
        *("-cpu", _processor(shape), "-smp", str(shape.cpus), "-m", f"{shape.memory_mib}M"),
        *("-object", memory),
        *(("-device", "intel-iommu,intremap=on") if shape.has_iommu else ()),
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-kernel", str(shape.kernel.image), "-initrd", str(shape.initrd)),
        *("-append", _kernel_words(shape)),
        *("-serial", f"file:{files.console}"),
        *("-qmp", f"unix:{_path(files.socket('qmp'))},server=on,wait=off"),
        *("-device", "virtio-serial-pci"),
        *_channel(CONTROL, f"socket,path={_path(files.socket('ctl'))},server=on,wait=off"),
        *_channel(CLOCK, f"socket,path={_path(files.socket('clock'))},server=on,wait=off"),
        *_channel(LOG, f"file,path={_path(files.log)},append=on"),
        *(word for number, socket in enumerate(sockets) for word in _port(number, socket)),
        *shape.more,
    ]


def guest_address(number: int) -> str:
    """Give the PCI address that a port has in the guest."""
    return f"0000:00:{_FIRST_SLOT + number:02x}.0"


def choose_accelerator(kernel: Kernel, image: Path, cache_folder: Path) -> str:
    """KVM where a guest of this kernel comes up by it, else emulation.

    /dev/kvm of a nested guest may be there and run nothing; that is tried once a boot of the host.
    """
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return EMULATION
    known = cache_folder / f"accelerator-{kernel.release}"
    text = known.read_text() if known.exists() else ""
    boot, _, found = text.partition(" ")
    if boot == boot_id() and found in (KVM, EMULATION):
        return found
    found = KVM if _comes_up(kernel, image, cache_folder) else EMULATION
    known.write_text(f"{boot_id()} {found}")
    return found


def missing() -> str | None:
    """Say what this machine lacks of QEMU, and how to install it; None: nothing."""
    version = qemu_version()
    if version is None:
        return f"no {PROGRAM}; {how_to_install()}"
    if int(version.split(".")[0]) < OLDEST:
        return f"QEMU {version} crashes with vhost-user ports; {how_to_install()}"
    return None


@cache
def qemu_version() -> str | None:
    """Give the version of the QEMU on PATH."""
    if shutil.which(PROGRAM) is None:
        return None
    said = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"version (\d+\.\d+\S*)", said.stdout)
    return found[1] if found else None


def how_to_install() -> str:
    """Say how to get one that is new enough: Debian 12 has it among its backports."""
    return (
        f"install QEMU {OLDEST} or newer: on Debian 12 add bookworm-backports to apt's sources, "
        "then apt install -t bookworm-backports qemu-system-x86"
    )


def _comes_up(kernel: Kernel, image: Path, folder: Path) -> bool:
    # Of one name, as the cache is held; what a kill left would say that it came up.
    console = folder / "kvm.console"
    console.unlink(missing_ok=True)
    shape = Shape(kernel, image, "", accelerator=KVM)
    command = [
        *("setpriv", "--pdeathsig", "KILL", "--", PROGRAM, "-machine", "q35"),
        *("-accel", _accelerator(shape)),
        *("-cpu", _processor(shape), "-m", "512", "-nodefaults", "-no-user-config"),
        *("-display", "none", "-no-reboot", "-kernel", str(kernel.image)),
        *("-initrd", str(image), "-append", _kernel_words(shape)),
        *("-serial", f"file:{console}"),
    ]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + _KVM_TO_READY_S
        while process.poll() is None and time.monotonic() < deadline:
            if console.exists() and READY in console.read_text(errors="replace"):
                return True
            time.sleep(0.05)
        return False
    finally:
        process.kill()
        process.wait()
        console.unlink(missing_ok=True)


def _accelerator(shape: Shape) -> str:
    # A thread for each virtual CPU, so that each can have a core of its own.
    if shape.accelerator != KVM:
        return "tcg,thread=multi"
    # An IOMMU that remaps interrupts has to see them.
    return "kvm,kernel-irqchip=split" if shape.has_iommu else "kvm"


def _processor(shape: Shape) -> str:
    return "host,migratable=off,+invtsc" if shape.accelerator == KVM else "max"


def _kernel_words(shape: Shape) -> str:
    words = f"console=ttyS0 panic=-1 taut.hugepages={shape.hugepages} {shape.parameters}"
    return words.strip()


def _path(path: Path) -> str:
    """Spell a path for QEMU, which ends a value at a comma unless there are two of them."""
    return str(path).replace(",", ",,")


def _channel(name: str, host_end: str) -> list[str]:
    number = name.partition(".")[2]
    kind, _, rest = host_end.partition(",")
    return [
        *("-chardev", f"{kind},id={number},{rest}"),
        *("-device", f"virtserialport,chardev={number},name={name}"),
    ]


def _port(number: int, socket: Path) -> list[str]:
    # As a server QEMU outlives whoever connects, the generators of one trial after the other.
    slot = _FIRST_SLOT + number
    return [
        *("-chardev", f"socket,id=link{number},path={_path(socket)},server=on"),
        *("-netdev", f"vhost-user,id=net{number},chardev=link{number},queues=1"),
        "-device",
        f"virtio-net-pci,netdev=net{number},addr={slot:#x},mac=02:74:00:00:01:{number:02x},"
        f"romfile=,rx_queue_size={_RING},tx_queue_size={_RING}",
    ]
