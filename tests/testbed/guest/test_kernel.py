"""A kernel is kept as whole only where all of it was unpacked; apt and dpkg-deb are made."""

import lzma
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from taut.core.errors import MissingToolError, TautError
from taut.testbed.guest.kernel import (
    _NEEDED,
    _WHOLE,
    _kept_package,
    _newest_package,
    _unpack,
    choose_package,
    fetch_kernel,
    not_had,
)
from taut.testbed.placements.vm import VmOptions, VmPlacement

_IMAGE = "boot/vmlinuz-6.1"
_N_BYTES = 300_000
_RELEASE = "6.12.38+deb13-amd64"
_BUILT_IN = "".join(f"CONFIG_{name.upper().replace('-', '_')}=y\n" for name in _NEEDED)
_CONSOLE = "kernel/drivers/char/virtio_console.ko"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose programs are found first; the package has a kernel and no module.

    What apt-get fetches is in the folder `packages`, as tar.
    """
    made = tmp_path / "programs"
    made.mkdir()
    monkeypatch.setenv("PACKAGES", str(tmp_path / "packages"))
    monkeypatch.setenv("PATH", f"{made}:{os.environ['PATH']}")
    _make(made / "apt-cache", "exit 100")
    _make(made / "apt-get", 'shift; for name; do cp "$PACKAGES/$name" "$name.deb"; done')
    _make(made / "dpkg-deb", 'cat "$2"')
    _pack(tmp_path, "linux-image-6.1", {_IMAGE: os.urandom(_N_BYTES), "boot/config-6.1": b""})
    return made


def _make(program: Path, script: str) -> None:
    program.write_text(f"#!/bin/bash\n{script}\n")
    program.chmod(0o755)


def _pack(folder: Path, name: str, files: Mapping[str, bytes]) -> None:
    root = folder / "package"
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    (folder / "packages").mkdir(exist_ok=True)
    subprocess.run(["tar", "-cf", folder / "packages" / name, "-C", root, "."], check=True)
    shutil.rmtree(root)


def _know(programs: Path, package: str, *parts: str) -> None:
    """Have apt know a kernel, and the packages it consists of."""
    lines = [f"linux-image-amd64)\necho '  Depends: {package}'", ";;", f"{package})"]
    lines += [f"echo '  Depends: {part}'" for part in ("linux-base", *parts)]
    _make(programs / "apt-cache", "\n".join(['echo "$3"', 'case "$3" in', *lines, ";;", "esac"]))


def test_what_a_flavour_does_not_have_is_no_error(tmp_path: Path, programs: Path) -> None:
    folder = tmp_path / "6.1"

    _unpack("linux-image-6.1", folder)

    assert (folder / _IMAGE).stat().st_size == _N_BYTES
    assert (folder / _WHOLE).exists()


@pytest.mark.parametrize(
    ("program", "script", "says"),
    [
        ("tar", f"trap '' XFSZ; ulimit -f {_N_BYTES // 2048}; exec /bin/tar \"$@\"", "Wrote only"),
        ("tar", "kill -9 $$", "tar or dpkg-deb was ended"),
        ("tar", "head -c 200000 >/dev/null; kill -9 $$", "tar or dpkg-deb was ended"),
        ("dpkg-deb", f'head -c {_N_BYTES // 2} "$2"; kill -9 $$', "Unexpected EOF"),
        ("dpkg-deb", 'cat "$2"; exit 2', "tar or dpkg-deb was ended"),
    ],
    ids=["full disk", "tar killed", "tar killed later", "dpkg-deb killed", "dpkg-deb failed"],
)
def test_a_kernel_unpacked_in_part_is_not_kept_as_whole(
    program: str, script: str, says: str, tmp_path: Path, programs: Path
) -> None:
    folder = tmp_path / "6.1"
    _make(programs / program, script)

    with pytest.raises(TautError, match=f"linux-image-6.1: cannot be unpacked into .*{says}"):
        _unpack("linux-image-6.1", folder)

    assert not (folder / _WHOLE).exists()


def test_what_was_kept_stays_where_no_new_one_can_be_fetched(
    tmp_path: Path, programs: Path
) -> None:
    folder = tmp_path / "6.1"
    _unpack("linux-image-6.1", folder)
    _make(programs / "apt-get", "echo 'E: no network' >&2; exit 100")

    with pytest.raises(TautError, match="apt-get download: E: no network"):
        _unpack("linux-image-6.1", folder)

    assert (folder / _IMAGE).exists()
    assert (folder / _WHOLE).exists()


def test_no_apt_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(MissingToolError, match=r"no apt-get, .* fetch one on Debian and copy"):
        _unpack("linux-image-6.1", tmp_path / "6.1")


@pytest.mark.parametrize("tree", ["lib/modules", "usr/lib/modules"])
def test_modules_packed_by_xz_are_unpacked_once(tree: str, tmp_path: Path, programs: Path) -> None:
    """As Debian 13 has them, in /usr/lib; those of its kernels for Debian 12 are in /lib."""
    package = f"linux-image-{_RELEASE}"
    files = {
        f"boot/vmlinuz-{_RELEASE}": b"kernel",
        f"boot/config-{_RELEASE}": _BUILT_IN.encode(),
        f"{tree}/{_RELEASE}/{_CONSOLE}.xz": lzma.compress(b"console"),
    }
    _pack(tmp_path, package, files)
    _know(programs, package)

    kernel = fetch_kernel("amd64", tmp_path / "cache")

    assert [path.name for path in kernel.modules] == ["virtio_console.ko"]
    assert kernel.modules[0].read_bytes() == b"console"
    (programs / "apt-get").unlink()
    assert fetch_kernel("amd64", tmp_path / "cache") == kernel


@pytest.mark.parametrize("lacks", [False, True], ids=["has all", "lacks a driver"])
def test_a_kernel_that_an_older_taut_kept_serves_without_a_network(
    lacks: bool, tmp_path: Path, programs: Path
) -> None:
    package = f"linux-image-{_RELEASE}"
    config = f"boot/config-{_RELEASE}"
    _pack(tmp_path, package, {f"boot/vmlinuz-{_RELEASE}": b"", config: _BUILT_IN.encode()})
    _know(programs, package)
    kernel = fetch_kernel("amd64", tmp_path / "cache")
    (tmp_path / "cache" / _RELEASE / _WHOLE).write_text("./boot/*")
    _make(programs / "apt-get", "echo 'E: no network' >&2; exit 100")

    if not lacks:
        assert fetch_kernel("amd64", tmp_path / "cache") == kernel
        return
    kernel.config.write_text("")
    with pytest.raises(TautError, match="apt-get download: E: no network"):
        fetch_kernel("amd64", tmp_path / "cache")


def _pack_kernel(folder: Path, release: str) -> str:
    """Have apt-get fetch a kernel that needs no module; give its package."""
    config = {f"boot/config-{release}": _BUILT_IN.encode(), f"boot/vmlinuz-{release}": b""}
    _pack(folder, package := f"linux-image-{release}", config)
    return package


def test_all_guests_of_a_run_have_one_kernel_whatever_apt_comes_to_know(
    tmp_path: Path, programs: Path
) -> None:
    cache = tmp_path / "cache"
    _know(programs, _pack_kernel(tmp_path, "6.1.0-1-amd64"))
    first = fetch_kernel("amd64", cache)

    _know(programs, _pack_kernel(tmp_path, "6.1.0-2-amd64"))

    assert fetch_kernel("amd64", cache) == first
    assert choose_package("amd64", cache) == "linux-image-6.1.0-1-amd64"
    assert fetch_kernel("amd64", tmp_path / "other").release == "6.1.0-2-amd64"


def test_without_a_network_a_kept_kernel_serves_instead_of_a_newer_one(
    tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    _know(programs, _pack_kernel(tmp_path, "6.1.0-1-amd64"))
    kept = fetch_kernel("amd64", cache)
    monkeypatch.setattr("taut.testbed.guest.kernel._CHOSEN", {})  # as in another run
    _know(programs, "linux-image-6.1.0-2-amd64")

    assert fetch_kernel("amd64", cache) == kept
    said = "cp: cannot stat"
    assert f"linux-image-6.1.0-2-amd64: guest: apt-get download: {said}" in str(
        not_had("amd64", cache)
    )

    # Also when the network is there again: the run has begun.
    _pack_kernel(tmp_path, "6.1.0-2-amd64")
    assert fetch_kernel("amd64", cache) == kept


def test_results_name_the_kernel_that_guests_boot_from_the_first_on(
    tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manifest is written before the first guest, which may have to take an older kernel."""
    cache = tmp_path / "cache"
    _know(programs, _pack_kernel(tmp_path, "6.1.0-1-amd64"))
    fetch_kernel("amd64", cache)
    monkeypatch.setattr("taut.testbed.guest.kernel._CHOSEN", {})  # as in another run
    monkeypatch.setattr("taut.testbed.placements.vm.cache_folder", lambda: cache)
    _know(programs, "linux-image-6.1.0-2-amd64")

    before = VmPlacement().version(VmOptions())
    booted = fetch_kernel("amd64", cache)

    assert str(before).endswith(f"kernel amd64 {booted.release}")
    assert VmPlacement().version(VmOptions()) == before


def test_a_kernel_may_be_several_packages(tmp_path: Path, programs: Path) -> None:
    """As since 6.19, which has the kernel and its configuration beside the modules."""
    release = "7.3.4+deb13-amd64"
    of_kind = {
        "image": {"usr/share/doc/x": b""},
        "base": {f"usr/lib/modules/{release}/config": _BUILT_IN.encode()},
        "binary": {f"usr/lib/modules/{release}/vmlinuz": b"kernel"},
        "modules": {f"usr/lib/modules/{release}/{_CONSOLE}.xz": lzma.compress(b"console")},
    }
    for kind, files in of_kind.items():
        _pack(tmp_path, f"linux-{kind}-{release}", files)
    _know(programs, *(f"linux-{kind}-{release}" for kind in of_kind))

    kernel = fetch_kernel("amd64", tmp_path / "cache")

    assert kernel.release == release
    assert kernel.image.read_bytes() == b"kernel"
    assert kernel.config.read_text() == _BUILT_IN
    assert [path.read_bytes() for path in kernel.modules] == [b"console"]


def test_a_kernel_without_the_channel_to_the_host_is_refused(
    tmp_path: Path, programs: Path
) -> None:
    package = f"linux-image-{_RELEASE}"
    config = _BUILT_IN.replace("CONFIG_VIRTIO_CONSOLE=y", "CONFIG_VIRTIO_CONSOLE=m")
    files = {f"boot/vmlinuz-{_RELEASE}": b"", f"boot/config-{_RELEASE}": config.encode()}
    _pack(tmp_path, package, files)
    _know(programs, package)

    with pytest.raises(TautError) as caught:
        fetch_kernel("amd64", tmp_path / "cache")

    assert str(caught.value) == (
        f"guest: {package}: has no driver virtio_console; choose another kernel (option `kernel` of"
        " the placement vm): amd64, cloud, rt"
    )


@pytest.mark.parametrize("release", ["6.1.0-57-amd64", _RELEASE, "10.0.1+deb15-amd64"])
def test_the_newest_kernel_is_of_any_version(release: str, programs: Path) -> None:
    _know(programs, f"linux-image-{release}")

    assert _newest_package("amd64") == f"linux-image-{release}"


@pytest.mark.parametrize(
    ("meta", "release"),
    [
        ("amd64", _RELEASE),
        ("cloud-amd64", "6.12.38+deb13-cloud-amd64"),
        ("rt-amd64", "7.3.4+deb13-rt-amd64"),
    ],
)
def test_a_kept_kernel_is_found_by_its_flavour(meta: str, release: str, tmp_path: Path) -> None:
    kept = (_RELEASE, "6.12.38+deb13-cloud-amd64", "7.3.4+deb13-rt-amd64")
    for number, name in enumerate(kept):
        (tmp_path / name).mkdir()
        (tmp_path / name / _WHOLE).touch()
        os.utime(tmp_path / name / _WHOLE, (number, number))

    assert _kept_package(meta, tmp_path) == f"linux-image-{release}"
