"""Whole files or none: written under a temporary name, synced, renamed."""

import json
import os
from pathlib import Path


def write_json(path: Path, document: object) -> None:
    """Write a JSON document so that a crash leaves the old file or the new one, never a half."""
    write_whole(path, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def write_whole(path: Path, text: str) -> None:
    """Write a text file so that a crash leaves the old file or the new one, never a half."""
    temporary = path.with_name(f".tmp-{path.name}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        error.filename = str(path)  # of a full disk Python does not say what was written
        raise
    temporary.replace(path)
