"""Sets of names, written as text."""


def word_set(text: str) -> frozenset[str]:
    """Give the words of a text."""
    return frozenset(text.split())
