"""A guest with a disk that lasts: Debian's systemd on ext4, and a boot loader that reads that disk.

The root is made of the running system's files, as that of the guest without a disk: systemd with
what sysinit needs of it, busybox for the rest, Python and taut. Nothing of the boot is played: the
units, sysctl.d and the drop-ins that lie on the disk are read by systemd itself, and a shutdown is
one. Only GRUB is stood in for: update-grub in the guest sources /etc/default as grub-mkconfig does
and writes /boot/grub/grub.cfg; before each boot that file is read from the disk for its parameters.
"""

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from acceptance import guest, guest_files
from acceptance.guest import Boot, Kernel

PROGRAMS = (*guest.PROGRAMS, "mkfs.ext4", "debugfs", "systemctl")
DEFAULT_GRUB = """\
GRUB_CMDLINE_LINUX_DEFAULT="quiet"
GRUB_CMDLINE_LINUX="loglevel=4"
"""
"""Of the machine as its owner left it."""
GRUB_CFG = "/boot/grub/grub.cfg"
_DISK_MIB = 512
_SYSTEMD = Path("/usr/lib/systemd")
_SYSTEMD_PROGRAMS = (
    _SYSTEMD / "systemd",
    _SYSTEMD / "systemd-shutdown",
    _SYSTEMD / "systemd-sysctl",
    Path("/usr/bin/systemctl"),
    Path("/usr/bin/systemd-tmpfiles"),
)
_TARGETS = (
    *("basic", "final", "local-fs", "multi-user", "network", "paths", "reboot", "shutdown"),
    *("slices", "sockets", "swap", "sysinit", "timers", "umount"),
)
_SERVICES = ("systemd-reboot", "systemd-sysctl", "systemd-tmpfiles-setup")
_WANTED = {
    "sysinit.target": ("systemd-sysctl.service", "systemd-tmpfiles-setup.service"),
    "multi-user.target": ("for-test.service",),
}
_INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
echo "{at_init}"
for module in $(cat /modules/order); do insmod "/modules/$module"; done
grep -q taut.nothing /proc/cmdline && poweroff -f
mount -t ext4 /dev/vdb /root
mount -t tmpfs tmpfs /root/run
mkdir /root/run/sent
cut -d " " -f 1 /proc/uptime >/root/run/sent/init_s
cp -r /commands /root/run
umount /proc /sys
mount --move /dev /root/dev
exec switch_root /root /lib/systemd/systemd
"""
# After the unit of taut's, if there is one, has come to its end.
_OUR_UNIT = """\
[Unit]
Description=What the test wants to know
After=multi-user.target taut-host-apply.service systemd-sysctl.service

[Service]
Type=oneshot
Environment=PATH=/usr/bin HOME=/root TERM=dumb COLUMNS=160
ExecStart=/usr/bin/run-commands
ExecStartPost=/usr/bin/systemctl --no-block reboot
"""
# There is no journal to write to.
_LOG = "[Service]\nStandardOutput=append:/run/sent/unit.log\nStandardError=inherit\n"
_TAUT = """#!/usr/bin/python3
import sys
sys.path.insert(0, "/taut")
from taut.cli.main import main
sys.exit(main())
"""
# /usr/sbin/grub-mkconfig: it sources these files in this order.
_UPDATE_GRUB = """#!/bin/sh
set -e
. /etc/default/grub
for file in /etc/default/grub.d/*.cfg; do
	if [ -e "$file" ]; then . "$file"; fi
done
echo "linux /boot/vmlinuz $GRUB_CMDLINE_LINUX $GRUB_CMDLINE_LINUX_DEFAULT" >{cfg}
sync
"""
_FILES = {
    "etc/default/grub": DEFAULT_GRUB,
    "etc/machine-id": "0123456789abcdef0123456789abcdef\n",
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n",
    "etc/group": "root:x:0:\n",
    "usr/lib/systemd/system/taut-host-apply.service.d/log.conf": _LOG,
    "usr/lib/systemd/system/for-test.service": _OUR_UNIT,
    "boot/grub/grub.cfg": "linux /boot/vmlinuz loglevel=4 quiet\n",
}


def missing_programs() -> str | None:
    """Say what this machine lacks; None: nothing."""
    lacking = [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]
    return f"no {', '.join(lacking)}: devtools/setup.sh guest" if lacking else None


def make_disk(kernel: Kernel, modules: Sequence[str], folder: Path) -> Path:
    """Make the disk of a server that was just installed, with taut on it.

    `modules`: of taut, that its commands load.
    """
    root = folder / "root"
    for name in ("usr/bin", "usr/lib", "usr/lib64", "taut", "boot/grub", "root", "var"):
        (root / name).mkdir(parents=True)
    for name in ("proc", "sys", "dev", "run", "tmp"):
        (root / name).mkdir()
    for name, target in {"bin": "bin", "sbin": "bin", "lib": "lib", "lib64": "lib64"}.items():
        (root / name).symlink_to(f"usr/{target}")
    (root / "usr/sbin").symlink_to("bin")
    (root / "var/run").symlink_to("../run")
    shutil.copy(kernel.config, root / "boot")
    for path, text in _FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    _put_systemd(root)
    _put_programs(root)
    guest_files.copy_libraries([*guest_files.copy_python(root), *_SYSTEMD_PROGRAMS], root)
    guest_files.copy_taut(root / "taut", modules)
    disk = folder / "disk"
    _call("mkfs.ext4", "-q", "-d", str(root), str(disk), f"{_DISK_MIB}M")
    return disk


def boot(
    kernel: Kernel, disk: Path, commands: Mapping[str, str], folder: Path, accelerator: str
) -> Boot:
    """Boot what lies on the disk, run commands in the order of their names, and shut down."""
    initramfs = make_initramfs(kernel, commands, folder)
    parameters = boot_parameters(disk)
    return guest.boot(kernel, initramfs, parameters, folder, accelerator=accelerator, disk=disk)


def make_initramfs(kernel: Kernel, commands: Mapping[str, str], folder: Path) -> Path:
    """Make what mounts the disk and starts systemd on it."""
    root = folder / "initramfs.root"
    text = _INIT.format(at_init=guest.AT_INIT)
    guest_files.put_init(root, text, [*kernel.modules, *kernel.filesystem])
    guest_files.put_commands(root, commands)
    (root / "root").mkdir()
    return guest_files.pack(root, folder / "initramfs")


def boot_parameters(disk: Path) -> str:
    """Read what the boot loader would give the kernel."""
    line = re.search(r"^linux \S+ (.*)$", read_file(disk, GRUB_CFG), re.MULTILINE)
    assert line is not None
    return line[1].strip()


def read_file(disk: Path, path: str) -> str:
    """Read a file of a disk that no guest runs on."""
    return _call("debugfs", "-R", f"cat {path}", str(disk))


def read_tree(disk: Path, path: str, folder: Path) -> dict[str, bytes]:
    """Read the files under a folder of a disk that no guest runs on, by their paths there."""
    folder.mkdir()
    _call("debugfs", "-R", f"rdump {path} {folder}", str(disk))
    return {
        f"/{file.relative_to(folder)}": file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def _put_systemd(root: Path) -> None:
    units = root / "usr/lib/systemd/system"
    for name in (
        *(f"{each}.target" for each in _TARGETS),
        *(f"{each}.service" for each in _SERVICES),
    ):
        shutil.copy(_SYSTEMD / "system" / name, units)
    (units / "default.target").symlink_to("multi-user.target")
    for target, wanted in _WANTED.items():
        (units / f"{target}.wants").mkdir()
        for unit in wanted:
            (units / f"{target}.wants" / unit).symlink_to(f"../{unit}")
    for program in _SYSTEMD_PROGRAMS:
        guest_files.copy_file(program, root)


def _put_programs(root: Path) -> None:
    busybox = shutil.which("busybox") or ""
    shutil.copy(busybox, root / "usr/bin/busybox")
    names = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout
    for name in {*names.split()} - {"busybox", "poweroff", "reboot", "halt", "init"}:
        (root / "usr/bin" / name).symlink_to("busybox")
    run_commands = guest.RUN_COMMANDS.format(commands="/run/commands", out="/run/sent")
    guest_files.put_script(root / "usr/bin/run-commands", f"#!/bin/sh\n{run_commands}")
    guest_files.put_script(root / "usr/bin/update-grub", _UPDATE_GRUB.format(cfg=GRUB_CFG))
    guest_files.put_script(root / "usr/bin/taut", _TAUT)


def _call(*command: str) -> str:
    """Run a program of e2fsprogs; a user's path may lack its folder."""
    program = shutil.which(command[0], path=_path()) or command[0]
    said = subprocess.run(
        [program, *command[1:]], capture_output=True, text=True, errors="replace", check=True
    )
    return said.stdout


def _path() -> str:
    return "/usr/bin:/bin:/usr/sbin:/sbin"
