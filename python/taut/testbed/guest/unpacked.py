"""A kernel without the program that unpacks it: emulated, unpacking takes longer than the rest.

QEMU starts an unpacked kernel that has an entry for it (PVH). How the packed one lies in its file
says the boot protocol of x86 (Documentation/arch/x86/boot.rst: payload_offset).
"""

import lzma
import re
import struct
from pathlib import Path

_SECTOR = 512
_SETUP_SECTORS, _MAGIC, _PAYLOAD = 0x1F1, 0x202, 0x248
# ELF's note XEN_ELFNOTE_PHYS32_ENTRY (18), of four or eight bytes, named "Xen".
_PVH_ENTRY = re.compile(rb"\x04\0\0\0[\x04\x08]\0\0\0\x12\0\0\0Xen\0")


def unpacked(packed: Path) -> Path:
    """Give the kernel unpacked, made beside the packed one if it is not there yet.

    The packed one itself where it is not packed by xz, as Debian's are, or cannot be started so.
    The cache is held.
    """
    found = packed.with_name(packed.name.replace("vmlinuz", "vmlinux"))
    if found == packed or found.exists():
        return found
    content = _content(packed.read_bytes())
    if content is None or not _PVH_ENTRY.search(content):
        return packed
    new = found.with_name(f"{found.name}.new")
    new.write_bytes(content)
    return new.rename(found)


def _content(image: bytes) -> bytes | None:
    """Unpack; None: it is no kernel of x86, or is packed by something else."""
    if image[_MAGIC : _MAGIC + 4] != b"HdrS":
        return None
    start, length = struct.unpack_from("<II", image, _PAYLOAD)
    # None said means four, and a first one besides.
    start += ((image[_SETUP_SECTORS] or 4) + 1) * _SECTOR
    unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ)
    try:
        # The size of the whole stands behind the stream.
        content = unpacker.decompress(image[start : start + length])
    except lzma.LZMAError:
        return None
    return content if unpacker.eof else None
