"""A guest's file system: an initramfs of busybox, taut's programs and what they are linked with.

What is the same for every guest of a kernel is made once and kept under a name that hashes all that
is in it. What one guest has besides (the files that network functions read) is a second, small
archive behind the first: the kernel unpacks one over the other.
"""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from taut.core.binaries import find_binary
from taut.core.errors import MissingToolError, TautError
from taut.testbed.guest.init import INIT
from taut.testbed.guest.kernel import Kernel

PROGRAMS = ("taut-forward", "taut-generate", "taut-trace", "taut-clock", "taut-inject")
_TOOLS = ("busybox", "cpio", "ldd")
# Of DPDK's drivers those a guest has hardware for.
_PLUG_INS = ("bus_pci", "bus_vdev", "mempool_ring", "net_virtio", "net_e1000", "net_ring")
_PLUG_INS_IN = Path("/usr/lib/x86_64-linux-gnu/dpdk")
_FOLDERS = ("proc", "sys", "dev", "run", "etc", "tmp", "out", "modules")
# As Debian has them: a library has one path, and is loaded once, by whatever name it is asked for.
_MERGED = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}
_LIBRARY = re.compile(r"^\t(?:\S+ => )?(/.+) \(0x[0-9a-f]+\)$", re.MULTILINE)
"""A line of ldd's that names a file."""
_LOADER_FOLDERS = tuple(
    f"{usr}/{name}" for usr in ("", "/usr") for name in ("lib/x86_64-linux-gnu", "lib", "lib64")
)
_KEPT = 4


def missing_tools() -> str | None:
    """Say what this machine lacks to make an image; None: nothing."""
    lacking = [name for name in _TOOLS if shutil.which(name) is None]
    if lacking:
        return f"no {', '.join(lacking)}; install busybox-static and cpio"
    return None


def missing_drivers() -> str | None:
    """Say how to install DPDK's drivers for the guest's cards, where there are none; None: some."""
    if _plug_ins():
        return None
    return f"DPDK's drivers are not in {_PLUG_INS_IN}/pmds-*; install libdpdk-dev"


def base_image(kernel: Kernel, cache: Path) -> Path:
    """Give the image of a kernel, made if what is in it has changed. The cache is held."""
    programs = [find_binary(name) for name in PROGRAMS]
    busybox = shutil.which("busybox")
    if busybox is None:
        raise MissingToolError(str(missing_tools()))
    plug_ins = _plug_ins()
    if not plug_ins:
        raise MissingToolError(f"guest: {missing_drivers()}")
    # That of busybox-static is linked with nothing, that of other packages is.
    libraries = linked([Path(busybox), *programs, *plug_ins])
    files = [Path(busybox), *programs, *plug_ins, *libraries, *kernel.modules]
    image = cache / f"{kernel.release}-{_digest(files)}.cpio"
    if not image.exists():
        with _building(cache) as folder:
            root = folder / "root"
            _fill(root, Path(busybox), programs, [*plug_ins, *libraries], kernel)
            _have_found(libraries, root)
            new = pack(root, folder / "image")
            new.rename(image)
        _forget_old(cache, kernel.release)
    os.utime(image)
    return image


@contextmanager
def _building(cache: Path) -> Iterator[Path]:
    """Give a folder to make an image in, without what a kill left of the one before."""
    # Of one name: the cache is held, so nobody else makes one.
    folder = cache / "new-image"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def with_files(base: Path, files: Sequence[Path], folder: Path) -> Path:
    """Give an image that has some files besides, and what shared objects of them are linked with.

    Each has the path it has here.
    """
    if not files:
        return base
    root = folder / "overlay"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    libraries = linked(files)
    for file in (*files, *libraries):
        _copy(file.absolute(), root)
    _have_found(libraries, root)
    more = pack(root, folder / "overlay.cpio")
    image = folder / "image.cpio"
    with image.open("wb") as out:
        for part in (base, more):
            with part.open("rb") as file_of_part:
                shutil.copyfileobj(file_of_part, out)
    return image


def pack(root: Path, image: Path) -> Path:
    """Make an initramfs of a folder. Not compressed: emulated, unpacking takes longer."""
    names = "\n".join(sorted(str(path.relative_to(root)) for path in root.rglob("*")))
    command = ["cpio", "--create", "--format=newc", "--quiet", "--owner=0:0"]
    with image.open("wb") as file:
        done = subprocess.run(
            command,
            cwd=root,
            input=names.encode(),
            stdout=file,
            stderr=subprocess.PIPE,
            check=False,
        )
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        why = said[-1] if said else f"cpio ended with exit status {done.returncode}"
        raise TautError(f"guest: {image}: not made: {why}; is its disk full?")
    return image


def _fill(
    root: Path, busybox: Path, programs: Sequence[Path], others: Sequence[Path], kernel: Kernel
) -> None:
    for name in (*_FOLDERS, *_MERGED.values()):
        (root / name).mkdir(parents=True)
    for name, target in _MERGED.items():
        (root / name).symlink_to(target)
    for program in (busybox, *programs):
        shutil.copy(program, root / "usr/bin" / program.name)
    for file in others:
        _copy(file, root)
    for module in kernel.modules:
        shutil.copy(module, root / "modules")
    (root / "modules/order").write_text("".join(f"{path.name}\n" for path in kernel.modules))
    (root / "init").write_text(INIT)
    (root / "init").chmod(0o755)


def _copy(file: Path, root: Path) -> None:
    """Copy a file to its place; what are links to it, or to its folders, here are links there."""
    for part in (*reversed(file.parents), file):
        target = root / str(part).lstrip("/")
        if part.is_symlink():
            pointed = part.readlink()
            target.parent.mkdir(parents=True, exist_ok=True)
            if not os.path.lexists(target):
                target.symlink_to(pointed)
            meant = os.path.normpath(part.parent / pointed / file.relative_to(part))
            _copy(Path(meant), root)
            return
    target.parent.mkdir(parents=True, exist_ok=True)
    if not os.path.lexists(target):
        shutil.copy(file, target)


def linked(files: Sequence[Path]) -> list[Path]:
    """Give what programs and plug-ins are linked with, wherever it lies."""
    said = subprocess.run(["ldd", *files], capture_output=True, text=True, check=False).stdout
    found = set(_LIBRARY.findall(said))
    return sorted(path for path in map(Path, found) if path.is_file() and path not in files)


def _have_found(libraries: Sequence[Path], root: Path) -> None:
    """Link libraries to where a loader looks that has no cache, variable or list of folders.

    It looks there last: none takes the place of one that taut's programs find elsewhere.
    """
    for path in libraries:
        link = root / "usr/lib" / path.name
        if str(path.parent) not in _LOADER_FOLDERS and not os.path.lexists(link):
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path)


def _plug_ins() -> list[Path]:
    """Give DPDK's drivers from the folder in which its libraries look for them."""
    folders = sorted(_PLUG_INS_IN.glob("pmds-*"))
    return [
        path
        for folder in folders[-1:]
        for name in _PLUG_INS
        for path in sorted(folder.glob(f"librte_{name}.so*"))
    ]


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256(INIT.encode())
    for file in files:
        digest.update(f"{file}\n".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _forget_old(cache: Path, release: str) -> None:
    """Keep the images that were used last: every build of taut's programs makes another."""
    kept = sorted(cache.glob(f"{release}-*.cpio"), key=lambda path: path.stat().st_mtime)
    for image in kept[:-_KEPT]:
        image.unlink(missing_ok=True)
