"""The word that was meant, where a known one is wanted."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Give the known word that is most like one; None: none is."""
    return next(iter(get_close_matches(word, list(known), n=1)), None)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """End a message with the nearest known word, or with all of them."""
    names = sorted(known)
    near = nearest(word, names)
    return f"; did you mean {near!r}?" if near else f"; known are {', '.join(names)}"
