"""Line and column of a key in a TOML text; tomllib gives them for syntax errors only."""

import re
from collections.abc import Sequence

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"\s*((?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*[A-Za-z0-9_\"'-]+)*)\s*=")

_WORD = re.compile(r"\s*(\"[^\"]*\"|'[^']*'|[^.]+)\s*")

Path = tuple[str | int, ...]


def find_position(text: str, loc: Sequence[str | int]) -> tuple[int, int] | None:
    """Give line and column, from 1, of `loc`, which names a place as pydantic does.

    Where the text does not have that key, the innermost table or key around it counts. None: the
    text has none of them (`loc` is from an override, or the whole document).
    """
    known = _positions(text)
    for n in range(len(loc), 0, -1):
        if tuple(loc[:n]) in known:
            return known[tuple(loc[:n])]
    return None


def _positions(text: str) -> dict[Path, tuple[int, int]]:
    """Find every table and key that begins a line; of inline tables, their keys as well."""
    found: dict[Path, tuple[int, int]] = {}
    n_entries: dict[str, int] = {}
    table: Path = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = _words(header[2])
            if header[1] == "[[":
                index = n_entries.get(header[2], -1) + 1
                n_entries[header[2]] = index
                table = (*table, index)
            elif len(table) > 1 and table[0] in n_entries:
                # [device.options] belongs to the last [[device]].
                table = (table[0], n_entries[str(table[0])], *table[1:])
            found.setdefault(table, (number, header.start(1) + 1))
        elif key := _KEY.match(line):
            path = (*table, *_words(key[1]))
            found.setdefault(path, (number, key.start(1) + 1))
            for inner in re.finditer(r"[{,]\s*([A-Za-z0-9_-]+)\s*=", line[key.end() :]):
                found.setdefault((*path, inner[1]), (number, key.end() + inner.start(1) + 1))
    return found


def _words(name: str) -> tuple[str, ...]:
    """Take a key apart at its dots, but for those between quotes."""
    return tuple(word.strip(" \"'") for word in _WORD.findall(name))
