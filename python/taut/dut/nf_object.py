"""Files in the words of `nf`: shared objects of the user's, and what taut's functions read."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from taut.core.errors import InputError
from taut.core.files import whole_path

FILES: Mapping[str, frozenset[str]] = {
    "router": frozenset({"routes", "neighbours", "addresses"}),
    "firewall": frozenset({"rules"}),
}
"""Options of taut's own functions that name a file; tests/seam holds them to --describe."""


def object_of(word: str) -> Path | None:
    """Give the file that a word of `nf` names, by the rule of dataplane/nf/nf_load.c.

    None: it names one of taut-forward's own functions.
    """
    name = word.partition(":")[0]
    is_object = "/" in name or (name.endswith(".so") and name != ".so")
    return Path(name) if is_object else None


def files_of(word: str) -> Iterator[Path]:
    """Give every file that a word names, but for those that a shared object may read."""
    path = object_of(word)
    if path is not None:
        yield path
    for part in word.partition(":")[2].split(","):
        key, _, value = part.partition("=")
        if value and _is_file(word, key):
            yield Path(value)


def seen_from(folder: Path, word: str) -> str:
    """Spell a word so that its files, given as seen from a folder, are found from any other.

    InputError for one that would then have a comma, which ends it there.
    """
    path = object_of(word)
    name, colon, values = word.partition(":")
    if path is not None:
        return f"{whole_path(folder, path)}{colon}{values}"
    return name + colon + ",".join(_part_seen_from(folder, word, p) for p in values.split(","))


def file_seen_from(folder: Path, path: str) -> str:
    """Spell the path of a file that taut-forward is told among its options, as `seen_from`."""
    seen = whole_path(folder, path)
    if "," in seen:
        raise InputError(f"{seen}: a comma ends a path here; put the file where there is none")
    return seen


def _part_seen_from(folder: Path, word: str, part: str) -> str:
    key, equals, value = part.partition("=")
    if not value or not _is_file(word, key):
        return part
    return f"{key}{equals}{file_seen_from(folder, value)}"


def _is_file(word: str, key: str) -> bool:
    return key in FILES.get(word.partition(":")[0], ())
