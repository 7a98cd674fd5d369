"""A kernel is unpacked where QEMU can start it so, and left as it is elsewhere."""

import lzma
import struct
from pathlib import Path

import pytest

from taut.testbed.guest.unpacked import unpacked

PVH = struct.pack("<III4sI", 4, 4, 18, b"Xen", 0x1000000)
CONTENT = b"\x7fELF" + bytes(5000) + PVH + bytes(range(256))
N_SECTORS = 3


def kernel(folder: Path, stream: bytes, magic: bytes = b"HdrS", n_sectors: int = N_SECTORS) -> Path:
    """Make a kernel as the boot protocol has it: set-up, 16 bytes, the stream, the size."""
    setup = bytearray(((n_sectors or 4) + 1) * 512)
    setup[0x1F1] = n_sectors
    setup[0x202:0x206] = magic
    struct.pack_into("<II", setup, 0x248, 16, len(stream) + 4)
    image = folder / "vmlinuz-6.1"
    image.write_bytes(setup + bytes(16) + stream + struct.pack("<I", len(CONTENT)) + b"behind it")
    return image


def test_what_is_packed_by_xz_is_unpacked_once(tmp_path: Path) -> None:
    packed = kernel(tmp_path, lzma.compress(CONTENT))

    found = unpacked(packed)

    assert found == tmp_path / "vmlinux-6.1"
    assert found.read_bytes() == CONTENT
    packed.unlink()
    assert unpacked(packed) == found
    assert list(tmp_path.iterdir()) == [found]


def test_no_number_of_sectors_means_four(tmp_path: Path) -> None:
    assert unpacked(kernel(tmp_path, lzma.compress(CONTENT), n_sectors=0)).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("stream", "magic"),
    [
        (lzma.compress(CONTENT.replace(PVH, bytes(len(PVH)))), b"HdrS"),
        (b"\x02\x21\x4c\x18" + bytes(100), b"HdrS"),
        (lzma.compress(CONTENT)[:300], b"HdrS"),
        (lzma.compress(CONTENT), b"zImg"),
        (b"", b"HdrS"),
    ],
    ids=["no entry for PVH", "lz4", "cut off", "no kernel of x86", "nothing"],
)
def test_another_is_started_as_it_is(tmp_path: Path, stream: bytes, magic: bytes) -> None:
    packed = kernel(tmp_path, stream, magic)

    assert unpacked(packed) == packed
    assert list(tmp_path.iterdir()) == [packed]
