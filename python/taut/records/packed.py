"""A packed run: a ZIP archive of a run directory's files, each with its SHA-256 in pack.json.

Parquet and pictures are stored, as they are compressed already, the rest is deflated. Times, owners
and the order of a folder do not get in, so that the same run is the same bytes wherever it lies; as
long as the same zlib deflates. Hidden files, so also what is written at the moment, stay out.

The sums tell damage, not forgery: whoever changes a file can change its sum, too. So nothing of a
packed run is believed: no name, which may lead out of the folder, no kind and no size.
"""

import errno
import json
import os
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath

from taut.core.errors import InputError
from taut.core.files import whole
from taut.core.version import taut_version
from taut.records.documents.json_form import JsonObject, parse, plain, read_object
from taut.records.documents.pack import PACK_FILE, PACK_FORMAT, LeftOut, PackDocument, PackedFile
from taut.records.tables import EVENTS, GAPS, HEADS, PACKETS, STAMPS, TRIALS

RECORDS = frozenset((PACKETS, GAPS, STAMPS, EVENTS, HEADS))
"""What was recorded one by one, in a trial's folder; an analysis leaves all else."""

_STORED = {".parquet", ".png"}
_BLOCK = 1 << 20
_MODE = stat.S_IFREG | 0o644
_EPOCH = (1980, 1, 1, 0, 0, 0)
_PACK_MOST = 64 << 20
_ENCRYPTED = 1
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError),
    *(NotImplementedError, RuntimeError, ValueError),
)


def write_packed(run: Path, out: Path, *, without_records: bool = False) -> PackDocument:
    """Pack a run directory; `out` is the old file or the new one, never a half.

    InputError: something in the run is no file, or its name cannot be packed.
    """
    chosen: list[str] = []
    left_out: list[str] = []
    for name in _names(run):
        is_record = name.startswith(f"{TRIALS}/") and PurePosixPath(name).name in RECORDS
        (left_out if without_records and is_record else chosen).append(name)
    with whole(out) as temporary:
        with zipfile.ZipFile(temporary, "w") as archive:
            document = PackDocument(
                taut=taut_version(),
                run=run.resolve().name,
                files=tuple(_add(archive, run / name, name) for name in chosen),
                left_out=LeftOut(len(left_out), sum((run / n).stat().st_size for n in left_out))
                if without_records
                else None,
            )
            archive.writestr(_entry(PACK_FILE), json.dumps(plain(document), indent=1) + "\n")
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
    return document


def _names(run: Path) -> list[str]:
    """List a run's files, in the order of their names."""
    found = []
    for folder, folders, files in os.walk(run, onerror=_raised):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in (*folders, *files):
            path = Path(folder, name)
            is_file = name in files
            if name.startswith("."):
                continue
            if not (stat.S_ISREG if is_file else stat.S_ISDIR)(path.lstat().st_mode):
                raise InputError(f"{path}: no file but a link or a device; take it out of the run")
            if is_file:
                found.append(path.relative_to(run).as_posix())
                if not _is_plain(found[-1]) or found[-1] == PACK_FILE:
                    raise InputError(f"{str(path)!r}: cannot be packed by this name; rename it")
    return sorted(found)


def _raised(error: OSError) -> None:
    raise error


def _is_plain(name: str) -> bool:
    """Whether a name leads to a file of the folder on every system, and to none that is hidden."""
    is_text = name.isprintable() and "\\" not in name  # no half of a surrogate is printable
    parts = PurePosixPath(name).parts
    return is_text and "/".join(parts) == name and not any(part[0] in "./" for part in parts)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.create_system, entry.external_attr = 3, _MODE << 16
    is_stored = PurePosixPath(name).suffix in _STORED
    entry.compress_type = zipfile.ZIP_STORED if is_stored else zipfile.ZIP_DEFLATED
    return entry


def _add(archive: zipfile.ZipFile, path: Path, name: str) -> PackedFile:
    digest, size = sha256(), 0
    # Of the 64-bit form whatever its size: it may grow while it is read.
    with path.open("rb") as file, archive.open(_entry(name), "w", force_zip64=True) as packed:
        while block := file.read(_BLOCK):
            digest.update(block)
            size += packed.write(block)
    return PackedFile(name, size, digest.hexdigest())


@dataclass(frozen=True)
class Packed:
    """A packed run that is open: names, kinds and sizes are checked, contents not yet."""

    path: Path
    document: PackDocument
    archive: zipfile.ZipFile

    def extract(self, folder: Path) -> None:
        """Write the files into a folder that is empty; InputError: one is damaged."""
        for file in self.document.files:
            path = folder / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            digest = sha256()
            with path.open("xb") as out:
                for block in self._blocks(file.path):
                    digest.update(block)
                    out.write(block)
            if digest.hexdigest() != file.sha256:
                raise _damaged(self.path, f"{file.path} has another SHA-256 than {PACK_FILE} says")

    def _blocks(self, name: str) -> Iterator[bytes]:
        with _reading(self.path), self.archive.open(name) as file:
            while block := file.read(_BLOCK):
                yield block


@contextmanager
def open_packed(path: Path) -> Iterator[Packed]:
    """Open a packed run; InputError: it is none, damaged, of a newer taut, or leads elsewhere."""
    if not path.is_file():
        what = "a folder" if path.is_dir() else "no such file"
        raise InputError(f"{path}: {what}; give a file that `taut pack` wrote")
    with path.open("rb") as file:
        if file.read(4) != b"PK\3\4":
            raise InputError(f"{path}: no packed run; `taut pack RUN` writes one")
        with _reading(path):
            archive = zipfile.ZipFile(file)
        with archive:
            with _reading(path):
                document = _document(archive, path)
                _check(archive, document, path)
            yield Packed(path, document, archive)


def check_room(document: PackDocument, out: Path) -> None:
    """InputError: the disk has less room than the run takes."""
    there = next(folder for folder in (out, *out.absolute().parents) if folder.is_dir())
    free = shutil.disk_usage(there).free
    if document.n_bytes > free:
        sizes = (f"{n / 1e6:,.0f} MB" for n in (document.n_bytes, free))
        raise InputError(
            "{}: the run takes {}, and {} are free; make room, or name another".format(out, *sizes)
        )


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """InputError where the archive cannot be read: damage may show as any of these."""
    try:
        yield
    except _BROKEN as error:
        raise _damaged(path, str(error) or type(error).__name__) from None
    except OSError as error:
        if error.errno != errno.EINVAL:  # a place before the file's beginning
            raise
        raise _damaged(path, str(error)) from None


def _damaged(path: Path, why: str) -> InputError:
    return InputError(f"{path}: damaged or cut off ({why}); copy it again")


def _document(archive: zipfile.ZipFile, path: Path) -> PackDocument:
    try:
        entry = archive.getinfo(PACK_FILE)
    except KeyError:
        raise InputError(
            f"{path}: no packed run: there is no {PACK_FILE} in it; `taut pack RUN` writes one"
        ) from None
    if entry.file_size > _PACK_MOST:
        raise _damaged(path, f"{PACK_FILE} is too long")
    found: JsonObject = read_object(archive.read(entry).decode()) or {}
    newest = found.get("format")
    if isinstance(newest, int) and newest > PACK_FORMAT:
        raise InputError(
            f"{path}: format {newest}, packed by taut {found.get('taut')}; "
            f"this one reads as far as {PACK_FORMAT}: update taut"
        )
    return parse(PackDocument, found, f"{path}: {PACK_FILE}")


def _check(archive: zipfile.ZipFile, document: PackDocument, path: Path) -> None:
    """InputError: there is another file in it than pack.json says, or of another kind or size."""
    said = {file.path: file.size for file in document.files}
    for name in said:
        above = {str(folder) for folder in PurePosixPath(name).parents}
        if not _is_plain(name) or name == PACK_FILE or above & said.keys():
            raise InputError(f"{path}: {name!r} is no name of a file in a run; unpack none of it")
    if len(said) != len(document.files):
        raise _damaged(path, f"{PACK_FILE} names a file twice")
    found = archive.namelist()
    odd = set(found) ^ {*said, PACK_FILE}
    if odd or len(found) != len(set(found)):
        raise _damaged(path, f"its files are not those of {PACK_FILE}: {min(odd or found)!r}")
    for entry in archive.infolist():
        _check_kind(entry, path)
        if entry.file_size != said.get(entry.filename, entry.file_size):
            raise _damaged(path, f"{entry.filename} is of another size than {PACK_FILE} says")


def _check_kind(entry: zipfile.ZipInfo, path: Path) -> None:
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
        raise InputError(f"{path}: {entry.filename} is a link or a device; unpack none of it")
    is_known = entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    if not is_known or entry.flag_bits & _ENCRYPTED:
        raise _damaged(path, f"{entry.filename} is compressed or encrypted another way")
