"""Whole files or none: written under a temporary name, synced, renamed."""

import json
import os
from pathlib import Path

from taut.core.errors import InputError


def write_json(path: Path, document: object) -> None:
    """Write a JSON document so that a crash leaves the old file or the new one, never a half.

    A name of a file may be any bytes: what Python has for those that are no UTF-8 is escaped.
    """
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    write_whole(path, text.encode(errors="backslashreplace").decode())


def write_whole(path: Path, text: str) -> None:
    """Write a text file so that a crash leaves the old file or the new one, never a half."""
    temporary = path.with_name(f".tmp-{path.name}")
    try:
        with temporary.open("w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        error.filename = str(path)  # Python does not name the file when the disk is full
        raise
    temporary.replace(path)


def refuse_odd_bytes(path: Path) -> None:
    """InputError: the path is no UTF-8. Only pyarrow minds, which takes no other for Parquet."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise InputError(
            f"{str(path)!r}: not UTF-8, so no Parquet file can be there; name another"
        ) from None
