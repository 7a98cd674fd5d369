"""Build the site of the documents, or the man pages, from docs/ and the commands' own help.

    devtools/documents.py html|man [--out FOLDER] [--gallery FOLDER]

The pages of docs/ are copied, so that what is outside of it can stand beside them: how to take
part, the changelog, the manual (a page for each command and program), and the gallery: each
example, with its report where FOLDER has a run of its name (`make gallery` makes them). A warning
of Sphinx fails; a link that leads nowhere is one.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from manual import write_manual

ROOT = Path(__file__).parents[1]
BESIDE = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
LINK = re.compile(r"(!?\[[^]]*\])\((?!https?:|#)([^)#]+)(#[^)]*)?\)")
# The first lines of an example say what it asks.
COMMENT = re.compile(r"\A(?:#.*\n)+")


def main() -> int:
    """Give Sphinx's exit status."""
    asked = parse()
    source = asked.out / "source"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "docs", source, ignore=shutil.ignore_patterns("__pycache__"))
    for name, original in BESIDE.items():
        shutil.copyfile(ROOT / original, source / name)
    for page in source.rglob("*.md"):
        page.write_text(with_links(page.read_text(), page.relative_to(source)))
    write_manual(source / "commands")
    write_decisions(source / "adr")
    (source / "gallery.md").write_text("\n".join(gallery(asked.gallery)) + "\n")
    sphinx = (sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet")
    places = (source, asked.out / asked.kind)
    status = subprocess.run([*sphinx, "--builder", asked.kind, *places], check=False).returncode
    if asked.kind == "html":
        copy_reports(asked.gallery, asked.out / asked.kind / "reports")
    return status


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("html", "man"))
    parser.add_argument("--out", type=Path, default=ROOT / "build-html")
    parser.add_argument("--gallery", type=Path, default=ROOT / "build-gallery")
    return parser.parse_args()


def with_links(text: str, page: Path) -> str:
    """Give the text of a page (its place on the site) with the links as they lead there.

    A link to what is not on the site, as to a file of the source, becomes its words alone.
    """
    original = (ROOT / BESIDE.get(page.name, f"docs/{page}")).parent
    places = {ROOT / path: Path(name) for name, path in BESIDE.items()}
    places |= dict.fromkeys((ROOT / "README.md", ROOT / "docs/README.md"), Path("index.md"))
    places[ROOT / "docs/adr"] = Path("adr/index.md")

    def led(match: re.Match[str]) -> str:
        words, target, anchor = match.groups(default="")
        path = Path(os.path.normpath(original / target))
        place = places.get(path)
        if place is None and path.is_relative_to(ROOT / "docs"):
            place = path.relative_to(ROOT / "docs")
        if place is None:
            return words.lstrip("!").removeprefix("[").removesuffix("]")
        return f"{words}({os.path.relpath(place, page.parent)}{anchor})"

    return LINK.sub(led, text)


def write_decisions(folder: Path) -> None:
    """Write the list of decisions: each is a page with a title."""
    pages = sorted(folder.glob("[0-9]*.md"))
    listed = ["```{toctree}", ":maxdepth: 1", *(page.stem for page in pages), "```"]
    intro = "Those that were hard to make, one page each, with what it costs."
    (folder / "index.md").write_text("\n".join(["# Decisions\n", intro, "", *listed]) + "\n")


def gallery(runs: Path) -> Iterator[str]:
    """Give the lines of the gallery."""
    yield "# Gallery\n"
    yield "Every experiment of `examples/`: what it asks, the report of a short run of it where"
    yield "this site was built after `make gallery`, and its file.\n"
    for example in sorted((ROOT / "examples").glob("*.toml")):
        text = example.read_text()
        yield f"## {example.stem}\n"
        if (comment := COMMENT.match(text)) is not None:
            asks = comment[0].partition("\n#\n")[0]
            yield re.sub(r"^# ?", "", asks, flags=re.MULTILINE) + "\n"
        if report_of(runs, example.stem).is_file():
            yield f'<a href="reports/{example.stem}.html">Report of a short run</a>\n'
        yield f"```toml\n{text}```\n"


def report_of(runs: Path, name: str) -> Path:
    """Name the report of an example's run, which need not be there."""
    return runs / name / "report.html"


def copy_reports(runs: Path, folder: Path) -> None:
    """Copy the reports that the gallery links to."""
    for example in (ROOT / "examples").glob("*.toml"):
        report = report_of(runs, example.stem)
        if report.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(report, folder / f"{example.stem}.html")


if __name__ == "__main__":
    sys.exit(main())
