"""What every cause has to hold: words, what helps, a colour that stands out in both themes."""

from taut.explain.cause import Cause
from taut.host.checks import CHECKS
from taut.report.palette import DARK, LIGHT

_LEAST_CONTRAST = 3.0
"""WCAG 2.2, 1.4.11: what carries meaning, against the page."""


def conforms(cause: Cause) -> None:
    """Ask all that follows."""
    says_what_it_is_and_what_helps(cause)
    stands_out(cause)


def says_what_it_is_and_what_helps(cause: Cause) -> None:
    """Reports and sentences have words for it, and a check of the host, or a person, helps."""
    name = cause.id
    assert cause.title, f"{name}: it has no title"
    assert cause.why.endswith("."), f"{name}: {cause.why!r} is no sentence"
    unknown = set(cause.remedies) - {check.id for check in CHECKS}
    assert not unknown, f"{name}: there are no checks {unknown}"
    assert cause.remedies or cause.ask, f"{name}: neither a check nor a person helps"
    is_once = len(set(cause.remedies)) == len(cause.remedies)
    assert is_once, f"{name}: a remedy stands twice in {cause.remedies}"


def stands_out(cause: Cause) -> None:
    """Its colour has a contrast of 3:1 with the page, in the light and in the dark theme."""
    for colour, theme in zip(cause.colour, (LIGHT, DARK), strict=True):
        found = contrast(colour, theme["@surface"])
        assert found >= _LEAST_CONTRAST, f"{cause.id}: {colour}: a contrast of {found:.1f}"


def contrast(a: str, b: str) -> float:
    """Give the contrast of two colours as WCAG 2.2 defines it: 1 to 21."""
    low, high = sorted((_luminance(a), _luminance(b)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
