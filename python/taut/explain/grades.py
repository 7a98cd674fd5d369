"""How sure a verdict is: its grade, and the "maybe" of a guess."""

from collections.abc import Mapping

from taut.explain import causes

GRADES = {
    "A": "seen and confirmed: the event was recorded, and its sender is proved by the event's own "
    "fields, or a counter agrees in number with the events recorded",
    "B": "seen: the event was recorded, and nothing else confirms it",
    "C": "by exclusion: nothing that was recorded explains it, or only several causes together do",
    "D": "maybe: a guess, or unknown; part of the evidence is missing",
}

_SAYS_NOTHING = (causes.UNKNOWN.id, causes.TRACE_LOST.id)


def is_guess(cause: str, grade: str) -> bool:
    """Whether a verdict is a guess, to be shown with "maybe"; "unknown" is not a guess.

    `cause` is an id, perhaps one that only another version of taut has.
    """
    return grade == "D" and cause not in _SAYS_NOTHING


def count_guesses(cause: str, n_by_grade: Mapping[str, int]) -> int:
    """Count the guesses among verdicts of one cause, which are given by grade."""
    return sum(n for grade, n in n_by_grade.items() if is_guess(cause, grade))


def title_words(title: str, n_guesses: int, n: int) -> str:
    """Give a cause's title, with "maybe" if all its verdicts are guesses, else how many are."""
    if not n_guesses:
        return title
    return f"maybe {title}" if n_guesses == n else f"{title} ({n_guesses:,} of {n:,}: maybe)"
