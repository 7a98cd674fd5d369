"""Lines of words for any width: they break between words, never in one.

A word wider than the line (a path) stands alone on its own, whole, so that it can be copied.
"""

import re
import textwrap

# A number and its unit are one word: `1.5 µs`, `95 %`, `10 kpkt/s`.
_BEFORE_UNIT = re.compile(
    r"(?<=\d) (?=(?:%|[mnµ]?s|min|h|[kMG]?(?:pkt/s|bit/s)|(?:[kKMG]i?)?B|bytes)(?!\w))"
)
_UNBREAKABLE = "\N{NO-BREAK SPACE}"


def wrap(text: str, width: int, indent: str = "", hanging: str | None = None) -> list[str]:
    """Break a text into lines; `hanging` is the indent of all but the first."""
    lines = textwrap.wrap(
        _BEFORE_UNIT.sub(_UNBREAKABLE, text),
        width,
        initial_indent=indent,
        subsequent_indent=indent if hanging is None else hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_UNBREAKABLE, " ") for line in lines]
