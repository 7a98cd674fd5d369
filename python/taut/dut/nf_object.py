"""Network functions of the user's: which words of `nf` name a shared object, and its file."""

from pathlib import Path


def object_of(word: str) -> Path | None:
    """Give the file that a word of `nf` names, by the rule of dataplane/nf/nf_load.c.

    None: it names one of taut-forward's own functions.
    """
    name = word.partition(":")[0]
    is_object = "/" in name or (name.endswith(".so") and name != ".so")
    return Path(name) if is_object else None


def seen_from(folder: Path, word: str) -> str:
    """Spell a word so that its file, given as seen from a folder, is found from any other."""
    path = object_of(word)
    if path is None:
        return word
    _, colon, values = word.partition(":")
    return f"{(folder / path).absolute()}{colon}{values}"
