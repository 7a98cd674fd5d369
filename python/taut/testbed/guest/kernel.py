"""Debian's kernels for guests: fetched with apt once, unpacked into a cache, never installed."""

import fcntl
import lzma
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from taut.core.errors import MissingToolError, TautError
from taut.testbed.guest.unpacked import unpacked

_PACKAGES = {"amd64": "amd64", "cloud": "cloud-amd64", "rt": "rt-amd64"}
# In the order they are loaded: the channel to the host, then what gives a device to DPDK. 6.1 keeps
# virqfd in a module of its own, newer kernels do not.
_MODULES = (
    "drivers/virtio/virtio_ring.ko",
    "drivers/virtio/virtio.ko",
    "drivers/virtio/virtio_pci_modern_dev.ko",
    "drivers/virtio/virtio_pci_legacy_dev.ko",
    "drivers/virtio/virtio_pci.ko",
    "drivers/char/virtio_console.ko",
    "drivers/uio/uio.ko",
    "drivers/uio/uio_pci_generic.ko",
    "virt/lib/irqbypass.ko",
    "drivers/vfio/vfio.ko",
    "drivers/vfio/vfio_iommu_type1.ko",
    "drivers/vfio/vfio_virqfd.ko",
    "drivers/vfio/pci/vfio-pci-core.ko",
    "drivers/vfio/pci/vfio-pci.ko",
)

# The channel to the host, and what a device's ports are given to. Newer kernels have some built in.
_NEEDED = ("virtio_pci", "virtio_console", "uio_pci_generic", "vfio-pci")

# Of 400 MB of modules, those that a guest may load.
_KEPT = (
    "./boot/*",
    "*-amd64/vmlinuz",
    "*-amd64/config",
    "*/drivers/virtio/*",
    "*/drivers/char/virtio_console.ko*",
    "*/drivers/uio/uio*",
    "*/virt/lib/*",
    "*/drivers/vfio/*",
    # The driver of the cards that QEMU emulates, with which tests load it.
    "*/drivers/dca/*",
    "*/i2c/algos/i2c-algo-bit.ko*",
    "*/ethernet/intel/igb/*",
)
# Debian 13 has /usr/lib alone; since 6.19 the kernel and its configuration lie there, too.
_PLACED = (
    r"--transform=s,^\./usr/lib/,./lib/,",
    r"--transform=s,^\./lib/modules/\([^/]*\)/\(vmlinuz\|config\)$,./boot/\2-\1,",
)
_WHOLE = ".whole"
# Of the kernels of this process, by flavour and cache.
_CHOSEN: dict[tuple[str, Path], str] = {}
_NOT_HAD: dict[tuple[str, Path], str] = {}
# What tar says, and fails, for what a flavour does not have: the cloud's has no driver of a card.
_OF_MISSING = (": Not found in archive", ": Exiting with failure status due to previous errors")


@dataclass(frozen=True)
class Kernel:
    """One flavour of Debian's kernel, unpacked."""

    release: str
    image: Path
    config: Path
    modules: tuple[Path, ...]
    """In the order they are loaded."""


def cache_folder() -> Path:
    """Where kernels and images are kept: `$XDG_CACHE_HOME/taut/vm`, else below `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "taut" / "vm"


@contextmanager
def held_cache(cache: Path) -> Iterator[None]:
    """Hold the cache: of two runs that want the same the second waits for what the first makes."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def choose_package(flavour: str, cache: Path) -> str | None:
    """Name the package of a flavour's kernel, once for all guests of this process.

    It is Debian's current one; where apt knows of none, the newest that is kept; None: neither.
    What apt knows may change while a run measures, whose trials must have one kernel.
    """
    meta = _PACKAGES[flavour]
    chosen = _CHOSEN.get((meta, cache)) or _newest_package(meta) or _kept_package(meta, cache)
    if chosen is not None:
        _CHOSEN[meta, cache] = chosen
    return chosen


def settle_package(flavour: str, cache: Path) -> str | None:
    """Name the package of the kernel that guests will boot: what is chosen, fetched to be sure.

    None: there is none. Where it cannot be fetched, and none is kept, each guest says why.
    """
    with suppress(OSError, TautError), held_cache(cache):
        fetch_kernel(flavour, cache)
    return choose_package(flavour, cache)


def missing_kernel(flavour: str, cache: Path) -> str | None:
    """Say that a kernel can neither be fetched nor is kept, and the remedy; None: it can, or is."""
    if choose_package(flavour, cache) is not None:
        return None
    return (
        f"kernel {flavour}: apt knows no linux-image-{_PACKAGES[flavour]}, and {cache} has none; "
        "`apt-get update` first (Debian 12 or newer)"
    )


def fetch_kernel(flavour: str, cache: Path) -> Kernel:
    """Give the kernel that is chosen of a flavour, fetched if not kept.

    Where it cannot be had, what an older taut kept of it serves, if that will do; else the newest
    that is kept, now and from then on. Call it while the cache is held.
    """
    package = choose_package(flavour, cache)
    if package is None:
        raise MissingToolError(f"guest: {missing_kernel(flavour, cache)}")
    try:
        return _kernel_of(package, cache)
    except TautError as error:
        meta = _PACKAGES[flavour]
        kept = _kept_package(meta, cache)
        if kept is None or (cache / release_of(package) / _WHOLE).exists():
            raise
        kernel = _kernel_of(kept, cache)
        _CHOSEN[meta, cache] = kept
        _NOT_HAD[meta, cache] = f"{package}: {error}"
        return kernel


def not_had(flavour: str, cache: Path) -> str | None:
    """Name the kernel for which an older one serves, and what went wrong; None: none."""
    return _NOT_HAD.get((_PACKAGES[flavour], cache))


def release_of(package: str) -> str:
    """Give the release of the kernel that a package has."""
    return package.removeprefix("linux-image-")


def _kernel_of(package: str, cache: Path) -> Kernel:
    release = release_of(package)
    folder = cache / release
    whole = folder / _WHOLE
    failed: TautError | None = None
    if not whole.exists() or whole.read_text() != " ".join(_KEPT):
        try:
            _unpack(package, folder)
        except TautError as error:
            if not whole.exists():
                raise
            failed = error
    tree = folder / f"lib/modules/{release}/kernel"
    wanted = (tree / name for name in _MODULES)
    kernel = Kernel(
        release,
        unpacked(folder / f"boot/vmlinuz-{release}"),
        folder / f"boot/config-{release}",
        tuple(path for path in wanted if path.exists()),
    )
    if lacking := _lacking(kernel):
        raise failed or TautError(
            f"guest: {package}: has no driver {', '.join(lacking)}; choose another kernel "
            f"(option `kernel` of the placement vm): {', '.join(_PACKAGES)}"
        )
    return kernel


def _lacking(kernel: Kernel) -> list[str]:
    """Name the drivers that are neither modules nor built in."""
    loaded = {path.stem for path in kernel.modules}
    config = kernel.config.read_text().splitlines()
    return [
        name
        for name in _NEEDED
        if name not in loaded and f"CONFIG_{name.upper().replace('-', '_')}=y" not in config
    ]


def _unpack(package: str, folder: Path) -> None:
    """Fetch a package and keep of it the kernel and the drivers that a guest may load.

    What was kept stays until the new one is whole.
    """
    new = folder.with_name("new-kernel")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    # Since 6.19 a kernel is several packages, all with its release in their names.
    release = package.removeprefix("linux-image")
    parts = [word for word in _depends(package) if word.endswith(release)]
    _run(["apt-get", "download", *{package, *parts}], new)
    for archive in sorted(new.glob("*.deb")):
        _extract(archive, package, new)
        archive.unlink()
    if not all(list(new.glob(f"boot/{name}-*")) for name in ("vmlinuz", "config")):
        raise TautError(f"guest: {package}: holds no kernel")
    for packed in sorted(new.rglob("*.ko.xz")):
        packed.with_suffix("").write_bytes(lzma.decompress(packed.read_bytes()))
        packed.unlink()
    (new / _WHOLE).write_text(" ".join(_KEPT))
    shutil.rmtree(folder, ignore_errors=True)
    new.rename(folder)


def _extract(archive: Path, package: str, folder: Path) -> None:
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE) as deb:
        tar = subprocess.run(
            ["tar", "-x", "--warning=none", "--wildcards", *_PLACED, *_KEPT],
            cwd=folder,
            env={**os.environ, "LC_ALL": "C"},
            stdin=deb.stdout,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    said = [line for line in tar.stderr.splitlines() if not line.endswith(_OF_MISSING)]
    if said or tar.returncode not in (0, 2) or deb.returncode != 0:
        why = said[0] if said else "tar or dpkg-deb was ended, maybe for want of memory"
        raise TautError(f"guest: {package}: cannot be unpacked into {folder}: {why}")


def _newest_package(meta: str) -> str | None:
    """Name the package that a meta package stands for today; None where apt does not know it."""
    words = _depends(f"linux-image-{meta}")
    return next((word for word in words if re.match(r"linux-image-\d", word)), None)


def _depends(package: str) -> list[str]:
    """Name what a package depends on, and itself; nothing where apt does not know it."""
    command = ["apt-cache", "depends", "--important", package]
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return []
    return [line.split()[-1] for line in said.splitlines() if line.strip()]


def _kept_package(meta: str, cache: Path) -> str | None:
    """Name the newest kernel of a flavour that is kept."""
    # `amd64` is the end of the other flavours' names, too.
    others = tuple(f"-{other}" for other in _PACKAGES.values() if other.endswith(f"-{meta}"))
    kept = [path.parent for path in cache.glob(f"*-{meta}/{_WHOLE}")]
    plain = [folder for folder in kept if not folder.name.endswith(others)]
    newest = max(plain, key=lambda folder: (folder / _WHOLE).stat().st_mtime, default=None)
    return None if newest is None else f"linux-image-{newest.name}"


def _run(command: Sequence[str], folder: Path) -> None:
    try:
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise MissingToolError(
            f"guest: no {command[0]}, with which Debian's kernels are fetched; fetch one on Debian "
            f"and copy {folder.parent}"
        ) from None
    if ended.returncode != 0:
        said = ended.stderr.strip().splitlines()
        raise TautError(f"guest: {command[0]} {command[1]}: {said[-1] if said else 'failed'}")
