"""What a command prints in terminals of several widths."""

import re
from collections import Counter
from collections.abc import Callable

import pytest

WIDTHS = (60, 80, 120)
WIDE = 100_000
# Printed to be copied: a path or a command in one piece.
COPIED = ("Report: ", "All windows: ", "A: ", "B: ")
UNIT_ALONE = re.compile(r"\d\n *(?:%|[mnµ]?s|min|[kMG]?(?:pkt/s|bit/s)|[kMG]?B)\b")


class Terminal:
    """One whose width a test sets."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def printed(self, run: Callable[[], object], width: int) -> str:
        """Give what is printed at a width."""
        self._monkeypatch.setenv("COLUMNS", str(width))
        self._capsys.readouterr()
        run()
        return self._capsys.readouterr().out

    def assert_no_word_is_broken(self, run: Callable[[], object]) -> None:
        """The words are those of a terminal without end, and only one word alone is too long."""
        words = Counter(self.printed(run, WIDE).split())
        assert words
        for width in WIDTHS:
            text = self.printed(run, width)
            assert Counter(text.split()) == words, width
            assert_lines_fit(text, width)

    def assert_fits(self, run: Callable[[], object], leaves_out: str | None = None) -> None:
        """No word is broken, none is new, none missing.

        A table that does not fit is told in paragraphs: with commas, its titles in every one.
        `leaves_out`: columns may be missing; it matches the words that say so.
        """
        words = _words(self.printed(run, WIDE))
        assert words
        for width in WIDTHS:
            text = self.printed(run, width)
            new, missing = _words(text) - words, words - _words(text)
            broken = [word for word in new if not re.fullmatch(leaves_out or "", word)]
            assert not broken, (width, broken)
            assert leaves_out or not missing, (width, missing)
            assert_lines_fit(text, width)


def assert_lines_fit(text: str, width: int) -> None:
    """A number stays with its unit, and only what cannot be broken is longer than the line."""
    assert not UNIT_ALONE.search(text), (width, text)
    for line in text.splitlines():
        is_whole = len(line.split()) == 1 or line.startswith(COPIED)
        assert len(line) <= width or is_whole, (width, line)


def _words(text: str) -> set[str]:
    return {word.rstrip(",:;.") for word in text.split()}
