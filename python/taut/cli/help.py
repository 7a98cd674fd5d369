"""How help looks: `-h` everywhere, examples at the end, and no word broken at any width."""

from collections.abc import Iterable, Sequence

import click

from taut.core.wrap import wrap

_COLUMN = 26
"""The column in which descriptions begin; options with longer names have their own line."""


class Formatter(click.HelpFormatter):
    """Click's formatter that never breaks what users type: `R06,K23-now`, `--no-trace`."""

    def write_text(self, text: str) -> None:
        for i, paragraph in enumerate(text.split("\n\n")):
            self.write("\n" if i else "")
            for line in self._wrapped(paragraph, self.current_indent):
                self.write(f"{'':{self.current_indent}}{line}\n")

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = _COLUMN, col_spacing: int = 2
    ) -> None:
        """Write names, each with its description beside it."""
        rows = list(rows)
        longest = max((len(name) for name, _ in rows), default=0)
        column = self.current_indent + min(longest, col_max) + col_spacing
        for name, text in rows:
            lines = self._wrapped(text, column) or [""]
            head = f"{'':{self.current_indent}}{name}"
            if len(head) > column - col_spacing:
                self.write(f"{head}\n")
                head = ""
            self.write(f"{head:{column}}{lines[0]}".rstrip() + "\n")
            self.write("".join(f"{'':{column}}{line}\n" for line in lines[1:]))

    def _wrapped(self, text: str, indent: int) -> list[str]:
        return wrap(text, max(self.width - indent, 20))


class Context(click.Context):
    """A command line being read."""

    formatter_class = Formatter


SETTINGS = {"help_option_names": ["-h", "--help"]}


def write_examples(formatter: click.HelpFormatter, examples: Sequence[str]) -> None:
    """Write command lines as they are typed, whatever their width."""
    if examples:
        with formatter.section("Examples"):
            for line in examples:
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")
