"""A kernel is kept as whole only where all of it was unpacked; apt-get and dpkg-deb are made."""

import os
import subprocess
from pathlib import Path

import pytest

from taut.core.errors import TautError
from taut.testbed.guest.kernel import _WHOLE, _unpack

_IMAGE = "boot/vmlinuz-6.1"
_N_BYTES = 300_000
_ALL = 'cat "$ARCHIVE"'


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose programs are found first; the package has a kernel and no module."""
    image = tmp_path / "package" / _IMAGE
    image.parent.mkdir(parents=True)
    image.write_bytes(os.urandom(_N_BYTES))
    archive = tmp_path / "archive.tar"
    subprocess.run(["tar", "-cf", archive, "./boot"], cwd=tmp_path / "package", check=True)
    made = tmp_path / "programs"
    made.mkdir()
    monkeypatch.setenv("ARCHIVE", str(archive))
    monkeypatch.setenv("PATH", f"{made}:{os.environ['PATH']}")
    _make(made / "apt-get", "touch kernel.deb")
    _make(made / "dpkg-deb", _ALL)
    return made


def _make(program: Path, script: str) -> None:
    program.write_text(f"#!/bin/bash\n{script}\n")
    program.chmod(0o755)


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
        ("dpkg-deb", f'head -c {_N_BYTES // 2} "$ARCHIVE"; kill -9 $$', "Unexpected EOF"),
        ("dpkg-deb", f"{_ALL}; exit 2", "tar or dpkg-deb was ended"),
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
