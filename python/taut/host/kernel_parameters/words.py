"""Sets of names, written as text."""


def words(text: str) -> frozenset[str]:
    """Give the words of a text."""
    return frozenset(text.split())
