"""Run the commands of tutorials, in order, as a reader would.

    devtools/tutorials.py write FOLDER PAGE...      put what they print into the pages
    devtools/tutorials.py compare FOLDER PAGE...    print it, and fail where a page has other lines

A page has its commands in blocks of `console`, each behind a `$`, with what it prints on standard
output below. A comment in front of a block, `<!-- compared: REGEX -->`, says which lines are the
same on every machine, numbers apart; others, as sentences about the numbers, are not. Without one
all lines are.

`taut` is the clone's. With --root ROOT it is what packages bring to that root, where FOLDER lies,
and blocks of `<!-- from packages, compared: REGEX -->` are run, too.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(
    r"^(?P<note><!-- (?P<packages>from packages, )?compared: (?P<compared>[^\n]*) -->\n)?"
    r"```console\n(?P<lines>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
# A number with its unit, or what stands for one that is not known.
NUMBER = re.compile(r"[+-]?\d[\d,.]*(?: ?(?:ns|µs|ms|s|min|h|%|kpkt/s|Mpkt/s|[kKMG]i?B)\b| %)?\*?")


@dataclass(frozen=True)
class Place:
    """Where commands are typed: a folder of this machine, or of another root that has packages."""

    folder: Path
    root: Path | None = None

    def argv(self, command: str) -> list[str]:
        """Give what runs a line of a shell there."""
        if self.root is None:
            return ["env", f"--chdir={self.folder}", "bash", "-c", command]
        return ["chroot", str(self.root), "env", f"--chdir={self.folder}", "bash", "-c", command]

    def environment(self) -> dict[str, str]:
        """Give what commands find set there: a terminal of 80 columns, and the clone's taut."""
        path = os.environ["PATH"] if self.root else f"{ROOT / 'bin'}:{os.environ['PATH']}"
        return {**os.environ, "COLUMNS": "80", "PATH": path}


@dataclass(frozen=True)
class Step:
    """A command of a page, and what the page says it prints."""

    command: str
    printed: tuple[str, ...]
    compared: re.Pattern[str] | None

    def same(self, printed: Sequence[str]) -> bool:
        """Whether these lines are those of the page, where they are compared."""
        return self.bare(printed) == self.bare(self.printed)

    def bare(self, lines: Sequence[str]) -> list[str]:
        """Give lines as they are compared: without numbers and widths.

        Of a table's columns as many are printed as fit, and that depends on how wide its numbers
        are: several numbers in a row, or percentiles as titles, are as one. What share of others a
        number is, in brackets, is said only of more than 0.
        """
        found = [kept for line in lines if (kept := self._kept(line)) and kept.strip()]
        bare = [NUMBER.sub("N", line).replace(" (N)", "").split() for line in found]
        return [" ".join(word for word, _ in groupby(words)) for words in bare]

    def _kept(self, line: str) -> str | None:
        """Give a line that is compared, or the part of it that the group `kept` names."""
        if self.compared is None:
            return line
        match = self.compared.search(line)
        return None if match is None else match.groupdict().get("kept") or line


def steps_of(block: re.Match[str]) -> list[Step]:
    """Give the commands of a block."""
    compared = re.compile(block["compared"]) if block["compared"] else None
    parts = re.split(r"^\$ ", block["lines"], flags=re.MULTILINE)[1:]
    lines = [part.splitlines() for part in parts]
    return [Step(first, tuple(rest), compared) for first, *rest in lines]


def is_run(block: re.Match[str], place: Place) -> bool:
    """Whether a block can be run there: packages are installed in a root of their own."""
    return block["packages"] is None or place.root is not None


def steps(text: str, place: Place) -> Iterator[Step]:
    """Give all commands of a page that can be run there, in order."""
    for block in BLOCK.finditer(text):
        if is_run(block, place):
            yield from steps_of(block)


def run(step: Step, place: Place) -> list[str]:
    """Give what a command prints, 80 columns wide; CalledProcessError where it fails."""
    done = subprocess.run(
        place.argv(step.command),
        env=place.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [line.rstrip() for line in done.stdout.splitlines()]


def written(text: str, place: Place) -> str:
    """Give a page with what its commands print here and now."""

    def printed(block: re.Match[str]) -> str:
        if not is_run(block, place):
            return block[0]
        lines = [
            line for step in steps_of(block) for line in (f"$ {step.command}", *run(step, place))
        ]
        return (block["note"] or "") + "\n".join(["```console", *lines, "```"])

    return BLOCK.sub(printed, text)


def differences(text: str, place: Place) -> Iterator[str]:
    """Run a page's commands and print what they do; give what differs from the page."""
    for step in steps(text, place):
        print(f"$ {step.command}", flush=True)
        try:
            lines = run(step, place)
        except subprocess.CalledProcessError as error:
            lines = error.stdout.splitlines()
            yield str(error)
        print("\n".join(lines), flush=True)
        yield from unified_diff(
            step.bare(step.printed), step.bare(lines), "the page", step.command, n=0, lineterm=""
        )


def main() -> int:
    """Give 1 where a page that is compared has other lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("write", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("pages", type=Path, nargs="+")
    parser.add_argument("--root", type=Path)
    asked = parser.parse_args()
    place = Place(asked.folder, asked.root)
    status = 0
    for page in asked.pages:
        if asked.what == "write":
            page.write_text(written(page.read_text(), place))
            continue
        for line in differences(page.read_text(), place):
            print(line, file=sys.stderr, flush=True)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
