"""Run the commands of tutorials, in order, as a reader would.

    devtools/tutorials.py FOLDER PAGE...    write what they print into the pages

A page has its commands in blocks of `console`, each behind a `$`, with what it prints on standard
output below. A comment in front of a block, `<!-- compared: REGEX -->`, says which lines are the
same on every machine, numbers apart; others, as sentences about the numbers, are not. Without one
all lines are.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(
    r"^(?:<!-- compared: (?P<compared>[^\n]*) -->\n)?```console\n(?P<lines>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
# A number with its unit, or what stands for one that is not known.
NUMBER = re.compile(r"[+-]?\d[\d,.]*(?: ?(?:ns|µs|ms|s|min|h|%|kpkt/s|Mpkt/s|[kKMG]i?B)\b| %)?\*?")


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
        """Give lines as they are compared: without numbers and widths."""
        found = [line for line in lines if self.compared is None or self.compared.search(line)]
        return [" ".join(NUMBER.sub("N", line).split()) for line in found if line.strip()]


def steps_of(block: re.Match[str]) -> list[Step]:
    """Give the commands of a block."""
    compared = re.compile(block["compared"]) if block["compared"] else None
    parts = re.split(r"^\$ ", block["lines"], flags=re.MULTILINE)[1:]
    lines = [part.splitlines() for part in parts]
    return [Step(first, tuple(rest), compared) for first, *rest in lines]


def steps(text: str) -> Iterator[Step]:
    """Give all commands of a page, in order."""
    for block in BLOCK.finditer(text):
        yield from steps_of(block)


def run(step: Step, folder: Path) -> list[str]:
    """Give what a command prints, 80 columns wide; CalledProcessError where it fails."""
    environment = {**os.environ, "COLUMNS": "80", "PATH": f"{ROOT / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", step.command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise subprocess.CalledProcessError(done.returncode, step.command, done.stdout, done.stderr)
    return done.stdout.splitlines()


def written(text: str, folder: Path) -> str:
    """Give a page with what its commands print here and now."""

    def printed(block: re.Match[str]) -> str:
        comment = f"<!-- compared: {block['compared']} -->\n" if block["compared"] else ""
        lines = [
            line for step in steps_of(block) for line in (f"$ {step.command}", *run(step, folder))
        ]
        return comment + "\n".join(["```console", *(line.rstrip() for line in lines), "```"])

    return BLOCK.sub(printed, text)


def main() -> int:
    """Write what commands print into the pages named on the command line."""
    folder, *pages = map(Path, sys.argv[1:])
    for page in pages:
        page.write_text(written(page.read_text(), folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
