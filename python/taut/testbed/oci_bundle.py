"""An OCI bundle: the folder from which a container runtime (runc, crun) starts one program.

https://github.com/opencontainers/runtime-spec/blob/v1.0.2/config.md: config.json says what the
container is, rootfs is its root, which holds nothing but mount points: the host's programs and
libraries are bound there, read-only, or what is in a root that is given. All mounts are made in the
container's own mount namespace, so that nobody else sees them and they end with it.
"""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from taut.core.files import write_json
from taut.records.documents.json_form import JsonObject
from taut.testbed.control_groups import is_unified

OCI_VERSION = "1.0.2"
_MOST_LINKS = 40
"""In one path: MAXSYMLINKS of the kernel (include/linux/namei.h)."""
_ROOT_NAMES = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_HOST_FILES = ("/usr", "/etc/alternatives", "/etc/ld.so.cache", "/etc/passwd", "/etc/group")
# As container engines mount them (runc spec); EAL finds its cores and NUMA nodes in /sys.
_KERNEL_MOUNTS = (
    ("proc", "/proc", "nosuid,noexec,nodev"),
    ("tmpfs", "/dev", "nosuid,strictatime,mode=755,size=65536k"),
    ("tmpfs", "/dev/shm", "nosuid,noexec,nodev,mode=1777,size=65536k"),  # noqa: S108
    ("sysfs", "/sys", "nosuid,noexec,nodev,ro"),
    ("tmpfs", "/tmp", "nosuid,nodev,mode=1777"),  # noqa: S108
    ("tmpfs", "/run", "nosuid,nodev,mode=755"),
)
# What a container does not see of the machine, as of runc spec.
_RIGHTS = ("bounding", "effective", "permitted")
_SHARES = 1024
"""Of a group that nobody set anything for."""
_MASKED = ("/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/sys/firmware")
_READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")


_CAPABILITIES = """
chown dac_override dac_read_search fowner fsetid kill setgid setuid setpcap linux_immutable
net_bind_service net_broadcast net_admin net_raw ipc_lock ipc_owner sys_module sys_rawio sys_chroot
sys_ptrace sys_pacct sys_admin sys_boot sys_nice sys_resource sys_time sys_tty_config mknod lease
audit_write audit_control setfcap mac_override mac_admin syslog wake_alarm block_suspend audit_read
perfmon bpf checkpoint_restore
"""
KNOWN_CAPABILITIES = frozenset(f"CAP_{word.upper()}" for word in _CAPABILITIES.split())
"""As capabilities(7) of Linux 5.9, the last that added one."""


@dataclass(frozen=True)
class Bundle:
    """What a container is to be."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    root: Path | None  # a root file system; None: the host's programs and libraries
    read: Sequence[Path]  # bound at their own paths, read-only
    written: Sequence[Path]  # bound at their own paths
    capabilities: Sequence[str]
    netns: Path | None  # None: a network namespace of its own, with nothing in it
    cgroup: str | None  # below the root of each hierarchy; None: as the process that starts it
    cpus: str  # a list of cores for its cpuset; empty: no cpuset of its own
    lent: Mapping[Path, Path] = field(default_factory=dict)  # the host's files by paths in /run


def write_bundle(folder: Path, bundle: Bundle) -> None:
    """Write it to a new folder."""
    folder.mkdir(mode=0o700)
    root = folder / "rootfs"
    root.mkdir()
    bound: list[Path] = []
    if bundle.root is None:
        for name in _ROOT_NAMES:
            if (host := Path("/", name)).is_symlink():
                (root / name).symlink_to(host.readlink())
    else:
        image = bundle.root.resolve()
        bound += _laid_out(image, Path(), root, {*_missing(image, bundle)})
    write_json(folder / "config.json", _config(bundle, root, bound))


def _laid_out(image: Path, at: Path, root: Path, missing: Collection[Path]) -> Iterator[Path]:
    """Give what of a folder of an image is bound as it is; what else is in it is made here.

    A runtime makes the mount points that it misses. Somebody's image is not the place for them: a
    folder in which one is missing is made anew, and what the image has in it is bound there.
    """
    of_kernel = {where for _, where, _ in _KERNEL_MOUNTS}
    for entry in sorted((image / at).iterdir()):
        where = at / entry.name
        if entry.is_symlink():
            (root / where).symlink_to(entry.readlink())
        elif f"/{where}" in of_kernel:
            continue  # runc binds nothing there
        elif any(path.is_relative_to(where) for path in missing):
            (root / where).mkdir()
            yield from _laid_out(image, where, root, missing)
        else:
            yield where


def _missing(image: Path, bundle: Bundle) -> Iterator[Path]:
    """Give the mount points that an image lacks, seen from it."""
    in_memory = [where for kind, where, _ in _KERNEL_MOUNTS if kind == "tmpfs"]
    for path in (*bundle.read, *bundle.written):
        if any(path.is_relative_to(where) for where in in_memory):
            continue
        found = path_in(image, path)
        if found is not None and not found.exists():
            yield found.relative_to(image)


def path_in(image: Path, path: Path) -> Path | None:
    """Give where an absolute path leads that is seen from an image, whose own path is resolved.

    The path has no links in it: an absolute one begins at the image again, and `..` does not lead
    out of it. None: more links than the kernel follows. What is given need not be there.
    """
    found, n_links = image, 0
    left = [*reversed(path.parts[1:])]
    while left:
        part = left.pop()
        if part == "..":
            found = image if found == image else found.parent
        elif not (found / part).is_symlink():
            found /= part
        elif (n_links := n_links + 1) > _MOST_LINKS:
            return None
        else:
            target = (found / part).readlink()
            found = image if target.is_absolute() else found
            left += reversed(target.relative_to(target.anchor).parts)
    return found


def _config(bundle: Bundle, root: Path, bound: Sequence[Path]) -> JsonObject:
    rights: JsonObject = {key: list(bundle.capabilities) for key in _RIGHTS}
    return {
        "ociVersion": OCI_VERSION,
        "process": {
            "terminal": False,
            "user": {"uid": 0, "gid": 0},
            "args": list(bundle.argv),
            "env": [f"{name}={value}" for name, value in bundle.environment.items()],
            "cwd": "/",
            "noNewPrivileges": True,
            "capabilities": rights,
        },
        "root": {"path": str(root), "readonly": True},
        "hostname": "taut",
        "mounts": list(_mounts(bundle, bound)),
        "linux": _linux(bundle),
    }


def _mounts(bundle: Bundle, bound: Sequence[Path]) -> Iterator[JsonObject]:
    for inside in bound:
        source = Path(bundle.root or "/", inside).absolute()
        yield _mount(f"/{inside}", "none", str(source), f"rbind,{_read_only(source)},nosuid,nodev")
    for kind, where, options in _KERNEL_MOUNTS:
        yield _mount(where, kind, kind, options)
    for place, file in bundle.lent.items():
        yield _mount(str(place), "none", str(file), "rbind,ro,nosuid,nodev")
    for path, right in _bound(bundle):
        yield _mount(path, "none", path, f"rbind,{right},nosuid,nodev")


def _mount(where: str, kind: str, source: str, options: str) -> JsonObject:
    return {"destination": where, "type": kind, "source": source, "options": options.split(",")}


def _bound(bundle: Bundle) -> Iterator[tuple[str, str]]:
    """Give what is bound, an outer folder before what lies in it: a later mount hides earlier ones.

    What is written comes last: it may lie in what is only read.
    """
    host = [path for path in map(Path, _HOST_FILES) if path.exists()]
    host += [path for name in _ROOT_NAMES if (path := Path("/", name)).is_dir()]
    own = [] if bundle.root is not None else [path for path in host if not path.is_symlink()]
    for path in [*own, *sorted(set(bundle.read))]:
        yield str(path), _read_only(path)
    for path in sorted(set(bundle.written)):
        yield str(path), "rw"


def _read_only(source: Path) -> str:
    """`rro` (runc 1.1, crun 1.4, Linux 5.12) is what is mounted below a folder, too.

    Alone it would mean nothing to an older runtime; of a file crun 1.8 fails at it.
    """
    return "ro,rro" if source.is_dir() else "ro"


def _linux(bundle: Bundle) -> JsonObject:
    is_root = os.geteuid() == 0
    namespaces = ["pid", "ipc", "uts", "mount", *([] if is_root else ["user"])]
    network = {} if bundle.netns is None else {"path": str(bundle.netns)}
    return {
        "namespaces": [{"type": "network", **network}, *({"type": kind} for kind in namespaces)],
        "resources": {
            # No device but those every container has (null, zero, random, tty).
            "devices": [{"allow": False, "access": "rwm"}],
            **({} if bundle.cgroup is None else _cores(bundle)),
        },
        **({} if bundle.cgroup is None else {"cgroupsPath": bundle.cgroup}),
        **({} if is_root else {"uidMappings": _as_root(os.geteuid())}),
        **({} if is_root else {"gidMappings": _as_root(os.getegid())}),
        "maskedPaths": list(_MASKED),
        "readonlyPaths": list(_READ_ONLY),
    }


def _cores(bundle: Bundle) -> JsonObject:
    """Give a group its cores, and the share of them that taut's nice value stands for.

    Without it `nice -n -20 taut run` would leave a container behind what runs bare. In a unified
    hierarchy the kernel takes the nice value itself: of `shares` runtimes make a weight there by
    formulas that differ (runc before 1.3.2 made 39 of a nice value of 0, which is 100).
    """
    cpus: JsonObject = {"cpus": bundle.cpus} if bundle.cpus else {}
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    if is_unified():
        return {"cpu": cpus, "unified": {"cpu.weight.nice": str(nice)}}
    return {"cpu": {**cpus, "shares": shares_of(nice)}}


def shares_of(nice: int) -> int:
    """Give the share of a core that a nice value stands for, where groups are of version 1.

    The weights are the kernel's, 1.25 from one value to the next (kernel/sched/core.c,
    sched_prio_to_weight).
    """
    return round(_SHARES * 1.25**-nice)


def _as_root(own: int) -> list[JsonObject]:
    """Map one id: who starts the container is root in it."""
    return [{"containerID": 0, "hostID": own, "size": 1}]
