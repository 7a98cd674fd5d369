"""Lines in a terminal of any width: everything that taut prints for people goes through here.

Lines break between words, and a number stays with its unit. Nothing is markup, no number is
coloured by itself.
"""

from rich.console import Console
from rich.text import Text

from taut.core.wrap import wrap

INDENT = "    "


def print_paragraph(
    console: Console, text: str, indent: str = "", hanging: str | None = None, style: str = ""
) -> None:
    """Print a text; `hanging` is the indent of all but the first line."""
    for line in wrap(text, console.width, indent, hanging):
        print_whole(console, line, style)


def print_note(console: Console, text: str) -> None:
    """Print what is said on stderr while taut works: in a log it stays one line, to be searched."""
    if console.is_terminal:
        print_paragraph(console, text, hanging=INDENT)
    else:
        print_whole(console, text)


def print_whole(console: Console, line: Text | str, style: str = "") -> None:
    """Print a line unbroken, whatever its length: a path or a command must stay whole to copy."""
    console.print(Text(line, style) if isinstance(line, str) else line, soft_wrap=True)
