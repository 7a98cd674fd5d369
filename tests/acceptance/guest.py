"""Boot a small guest: Debian's kernel, busybox, this Python and this taut, and nothing on a disk.

The guest's file system is an initramfs made of the running system's files, so what runs in the
guest is the taut under test. Kernels are fetched with apt and unpacked, not installed.
"""

import fcntl
import os
import shutil
import subprocess
import tarfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from acceptance.guest_files import (
    copy_libraries,
    copy_python,
    copy_taut,
    pack,
    put_commands,
    put_init,
)
from taut.testbed.guest.unpacked import unpacked

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "taut" / "guest"
PROGRAMS = ("qemu-system-x86_64", "busybox", "cpio", "apt-get", "apt-cache", "dpkg-deb")
AT_INIT = "taut-guest: init"
EMULATION = "tcg,thread=multi"
# In the order they are loaded: a disk, by which the guest sends what it found, and whose
# interrupts are managed.
_DISK_MODULES = (
    "drivers/virtio/virtio_ring.ko",
    "drivers/virtio/virtio.ko",
    "drivers/virtio/virtio_pci_modern_dev.ko",
    "drivers/virtio/virtio_pci_legacy_dev.ko",
    "drivers/virtio/virtio_pci.ko",
    "drivers/block/virtio_blk.ko",
)
# In the order they are loaded: what a root on a disk needs besides.
_FILESYSTEM_MODULES = (
    "crypto/crc32c_generic.ko",
    "lib/crc16.ko",
    "fs/mbcache.ko",
    "fs/jbd2/jbd2.ko",
    "fs/ext4/ext4.ko",
)
_DISK_BYTES = 32 << 20
# Emulated, init is reached after some 5 s and all is done after 40. What is disturbed and traced
# (guest_trace.py) may take 600 on half a core: twice as long for that, two minutes until the tracer
# is armed, and 4 causes x 12 tries of 2 s, which take some 6 s more each to start and to end.
_TO_INIT_S, _KVM_TO_INIT_S, _TO_END_S = 60, 6, 800

RUN_COMMANDS = """
for command in {commands}/*; do
	name=${{command##*/}}
	sh "$command" >"{out}/$name.out" 2>"{out}/$name.err" </dev/null
	echo $? >"{out}/$name.status"
	cut -d " " -f 1 /proc/uptime >"{out}/$name.end_s"
done
dmesg >{out}/dmesg
tar -c -C {out} . | dd of=/dev/vda bs=64k conv=fsync 2>/dev/null
"""
"""Run what is in one folder, in the order of the names, and send what it said in another."""
_INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t debugfs debugfs /sys/kernel/debug
mount -t tracefs tracefs /sys/kernel/tracing
mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo "+cpuset +cpu +memory" >/sys/fs/cgroup/cgroup.subtree_control
echo "{at_init}"
export PATH=/bin:/usr/bin PYTHONPATH=/taut PYTHONDONTWRITEBYTECODE=1 TERM=dumb COLUMNS=160 HOME=/
for module in $(cat /modules/order); do insmod "/modules/$module"; done
mkdir -p /out
cut -d " " -f 1 /proc/uptime >/out/init_s
grep -q taut.nothing /proc/cmdline && poweroff -f
{run_commands}
poweroff -f
"""


@dataclass(frozen=True)
class Kernel:
    """One flavour of Debian's kernel, unpacked."""

    release: str
    image: Path
    config: Path
    modules: tuple[Path, ...]
    """In the order they are loaded: a disk's."""
    filesystem: tuple[Path, ...]
    """Those of ext4, which are loaded after `modules`."""


@dataclass(frozen=True)
class Result:
    """What one command printed in the guest."""

    status: int
    out: str
    err: str


@dataclass(frozen=True)
class Boot:
    """One boot, from the start of QEMU to its end."""

    parameters: str
    accelerator: str
    console: str = field(repr=False)
    results: Mapping[str, Result] = field(repr=False)
    dmesg: str = field(repr=False)
    files: Mapping[str, bytes] = field(repr=False)
    """What the commands left in /out, by its path there."""
    to_init_s: float
    """By the host's clock, from QEMU's start to the first line of the guest's init."""
    guest_init_s: float
    """By the guest's clock, at the same line."""
    total_s: float
    n_stalled: int = 0
    """Boots before this one that did not come as far as init."""


class NoInitError(TimeoutError):
    """A kernel that did not come as far as init."""


def missing_programs() -> str | None:
    """Say what this machine lacks; None: nothing."""
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"no {', '.join(lacking)}: devtools/setup.sh guest" if lacking else None


def fetch_kernel(flavour: str, cache: Path = CACHE) -> Kernel:
    """Give Debian's current kernel of a flavour: amd64 or rt-amd64.

    Of two processes that want the same one the second waits for what the first fetches.
    """
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _fetch_kernel(flavour, cache)


def _fetch_kernel(flavour: str, cache: Path) -> Kernel:
    package = _newest_package(f"linux-image-{flavour}")
    release = package.removeprefix("linux-image-")
    folder = cache / release
    modules = folder / f"lib/modules/{release}/kernel"
    kernel = Kernel(
        release,
        folder / f"boot/vmlinuz-{release}",
        folder / f"boot/config-{release}",
        tuple(modules / name for name in _DISK_MODULES),
        tuple(modules / name for name in _FILESYSTEM_MODULES),
    )
    files = (kernel.image, kernel.config, *kernel.modules, *kernel.filesystem)
    if all(file.exists() for file in files):
        return replace(kernel, image=unpacked(kernel.image))
    folder.mkdir(parents=True, exist_ok=True)
    _run(["apt-get", "download", package], folder)
    (archive,) = folder.glob("*.deb")
    # tar ends once it has these; most of the package, 400 MB of modules, is not unpacked.
    wanted = [f"./{file.relative_to(folder)}" for file in files]
    unpack = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE)
    _run(["tar", "-x", "--occurrence=1", *wanted], folder, stdin=unpack.stdout)
    unpack.kill()
    unpack.wait()
    archive.unlink()
    return replace(kernel, image=unpacked(kernel.image))


def make_initramfs(
    kernel: Kernel,
    commands: Mapping[str, str],
    modules: Sequence[str],
    programs: Sequence[Path],
    folder: Path,
) -> Path:
    """Make a guest that runs some shell commands in the order of their names, then powers off.

    `modules`: of taut, that the commands load; `programs`: of the data plane, that they run.
    """
    root = folder / "root"
    run_commands = RUN_COMMANDS.format(commands="/commands", out="/out")
    put_init(root, _INIT.format(at_init=AT_INIT, run_commands=run_commands), kernel.modules)
    put_commands(root, commands)
    for name in ("tmp", "run", "etc", "boot", "taut"):
        (root / name).mkdir()
    shutil.copy(kernel.config, root / "boot")
    for program in programs:
        shutil.copy(program, root / "bin")
    copy_libraries([*copy_python(root), *programs], root)
    copy_taut(root / "taut", modules)
    return pack(root, folder / "initramfs")


def boot(
    kernel: Kernel,
    initramfs: Path,
    parameters: str,
    folder: Path,
    *,
    accelerator: str = EMULATION,
    disk: Path | None = None,
    tries: int = 3,
) -> Boot:
    """Boot two cores until they power off; TimeoutError shows the console's last lines.

    `disk`: the guest's /dev/vdb, which keeps what is written to it; None: it has none.

    An emulated kernel stands still early in one of some forty boots (seen with -rt, after "NET:
    Registered PF_INET"), before anything of taut runs: then, and only then, it is booted again.
    """
    for n_stalled in range(tries):
        try:
            found = _boot_once(kernel, initramfs, parameters, folder, accelerator, _TO_INIT_S, disk)
        except NoInitError:
            if n_stalled + 1 == tries:
                raise
        else:
            return replace(found, n_stalled=n_stalled)
    raise AssertionError("tries: at least one")


def _boot_once(
    kernel: Kernel,
    initramfs: Path,
    parameters: str,
    folder: Path,
    accelerator: str,
    to_init_limit_s: float,
    disk: Path | None = None,
) -> Boot:
    folder.mkdir(parents=True, exist_ok=True)
    console, sent = folder / "console", folder / "sent.tar"
    console.write_bytes(b"")
    with sent.open("wb") as file:
        file.truncate(_DISK_BYTES)
    command = [
        *("qemu-system-x86_64", "-accel", accelerator, "-cpu", "max", "-smp", "2", "-m", "1024"),
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-kernel", str(kernel.image), "-initrd", str(initramfs)),
        *("-append", f"console=ttyS0 panic=-1 {parameters}".strip()),
        *("-serial", f"file:{console}"),
    ]
    for number, file in enumerate([sent] if disk is None else [sent, disk]):
        command += ["-drive", f"file={file},format=raw,if=none,id=disk{number}"]
        command += ["-device", f"virtio-blk-pci,drive=disk{number},num-queues=2"]
    start = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    to_init_s = 0.0
    try:
        while process.poll() is None:
            if not to_init_s and AT_INIT.encode() in console.read_bytes():
                to_init_s = time.monotonic() - start
            after_s = time.monotonic() - start
            if not to_init_s and after_s > to_init_limit_s:
                raise NoInitError(f"no init after {after_s:.0f} s:\n{_tail(console)}")
            if after_s > _TO_END_S:
                raise TimeoutError(f"not off after {after_s:.0f} s:\n{_tail(console)}")
            time.sleep(0.05)
    finally:
        process.kill()
        _, said = process.communicate()
    total_s = time.monotonic() - start
    if not to_init_s:
        raise NoInitError(f"no init: {said.decode(errors='replace')}\n{_tail(console)}")
    files = _unpack(sent)
    return Boot(
        parameters,
        accelerator,
        console.read_text(errors="replace"),
        _results(files),
        _text(files.get("dmesg", b"")),
        files,
        to_init_s,
        float(files.get("init_s", b"0")),
        total_s,
    )


def find_accelerator(kernel: Kernel, initramfs: Path, folder: Path) -> str:
    """KVM where it reaches init within seconds, else emulation.

    /dev/kvm of a nested guest may be there and not run a stock kernel.
    """
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return EMULATION
    try:
        _boot_once(kernel, initramfs, "taut.nothing", folder, "kvm", _KVM_TO_INIT_S)
    except TimeoutError:
        return EMULATION
    return "kvm"


def _newest_package(meta: str) -> str:
    """Name the package a meta package stands for today."""
    command = ["apt-cache", "depends", "--important", meta]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return next(
        line.split()[-1]
        for line in said.splitlines()
        if line.split()[-1].startswith("linux-image-6")
    )


def _unpack(sent: Path) -> dict[str, bytes]:
    """Read what the guest wrote to its disk; nothing if it wrote nothing."""
    with sent.open("rb") as disk:
        if not disk.read(1).strip(b"\0"):
            return {}
    with tarfile.open(sent) as archive:
        found = {}
        for member in archive.getmembers():
            if (file := archive.extractfile(member)) is not None:
                found[member.name.removeprefix("./")] = file.read()
    return found


def _results(files: Mapping[str, bytes]) -> dict[str, Result]:
    names = [name.removesuffix(".status") for name in files if name.endswith(".status")]
    return {
        name: Result(
            int(files[f"{name}.status"]), _text(files[f"{name}.out"]), _text(files[f"{name}.err"])
        )
        for name in names
    }


def _text(content: bytes) -> str:
    return content.decode(errors="replace")


def _tail(console: Path) -> str:
    return "\n".join(console.read_text(errors="replace").splitlines()[-15:])


def _run(command: Sequence[str], folder: Path, stdin: object = None) -> None:
    ended = subprocess.run(
        command, cwd=folder, stdin=stdin, capture_output=True, text=True, check=False
    )
    if ended.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {ended.stderr.strip()}")
