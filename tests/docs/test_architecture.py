"""docs/architecture.md is true to the last name: folders, files, words of the source, rules."""

import re
import tomllib
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

from check_files import MAY_INCLUDE
from taut.records.documents.catalogue import CATALOGUE
from taut.testbed.links import LINKS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "architecture.md").read_text()
HALVES = (ROOT / "dataplane", ROOT / "python" / "taut")
FOLDERS = ("dataplane", "python", "devtools", "tests", "bench", "include", "examples", "docs")
FENCED = re.compile(r"^```\n(.*?)^```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
# `driver.py`, `host/checks/`, `dataplane/nf/*.c`; of the tree also `boot/`.
FILE = re.compile(r"(?<![\w/.~-])(?:[\w*-]+/)*(?:[\w*-]+\.(?:py|[ch]|md|toml|build|txt|j2)|\w+/)")
WORD = re.compile(r"(?<![\w$/.-])[A-Za-z_]\w{2,}(?![\w.*/-])")
# What the recipes call a member that is not there yet, and what the machine is asked for.
EXAMPLES = re.compile(r"\b(?:[A-Z]{3,}|ttl)\b|_NAME|<topic>|ttl_test|ttID|^(?:build-fuzz|/|~)")
FOREIGN = {"setpriv", "pdeathsig", "extern"}


@cache
def paths() -> frozenset[str]:
    """Every file and folder of the project that the page may mean, a folder with a slash."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    return frozenset(
        f"/{path.relative_to(ROOT)}{'/' if path.is_dir() else ''}"
        for path in (*found, *ROOT.iterdir(), *(ROOT / folder for folder in FOLDERS))
        if "__pycache__" not in path.parts
    )


@cache
def words() -> frozenset[str]:
    """Every word of the source, its meson files and its recipes."""
    files = [ROOT / path[1:] for path in paths() if not path.startswith(("/docs/", "/tests/data"))]
    kinds = {".py", ".c", ".h", ".build", ".toml", ".txt", ".json"}
    texts = [path.read_text() for path in files if path.suffix in kinds or path.name == "Makefile"]
    return frozenset(word for text in texts for word in re.findall(r"\w+", text))


def names(pattern: re.Pattern[str], texts: list[str]) -> set[str]:
    """What the page names so, without the examples of its recipes."""
    said = [text for text in texts if not EXAMPLES.search(text)]
    return {name for text in said for name in pattern.findall(text)}


def test_every_file_and_folder_it_names_exists() -> None:
    lines = [line for block in FENCED.findall(TEXT) for line in block.splitlines()]
    named = names(FILE, [*SPAN.findall(FENCED.sub("", TEXT)), *lines])

    missing = [name for name in named if not any(fnmatch(path, f"*/{name}") for path in paths())]

    assert len(named) > 100
    assert missing == []


def test_every_word_it_quotes_is_one_of_the_source() -> None:
    quoted = names(WORD, SPAN.findall(FENCED.sub("", TEXT)))

    assert len(quoted) > 30
    assert quoted - words() - FOREIGN == set()


def test_its_tree_has_every_folder() -> None:
    tree = FENCED.findall(TEXT)[0]
    parts = [path for half in HALVES for path in half.iterdir() if (path / "__init__.py").exists()]
    parts += [path for path in HALVES[0].iterdir() if (path / "meson.build").exists()]
    top = [path.name for path in ROOT.iterdir() if path.name in FOLDERS]

    missing = [name for name in (*(p.name for p in parts), *top) if f"{name}/" not in tree]

    assert len(parts) > 25
    assert missing == []


def test_its_figures_have_every_link_document_and_fuzz_target() -> None:
    [links] = re.findall(r"testbed/links: ([\w, ]*\w)", TEXT)
    [run] = re.findall(r"^RUN/manifest.*?^```", TEXT, re.MULTILINE | re.DOTALL)
    documents = re.compile(r"(\w+\.json) of (?:a run\b|each trial|a trial of captures)")
    kept = {found[1] for document in CATALOGUE if (found := documents.match(document.where))}
    targets = re.findall(r"'(fuzz_\w+)'", (ROOT / "dataplane/fuzz/meson.build").read_text())

    assert links.split(", ") == list(LINKS)
    assert len(kept) > 8
    assert kept - set(re.findall(r"\w+\.json", run)) == set()
    assert targets != []
    damaged = TEXT.partition("\n## Damaged input\n")[2].partition("\nInputs counted")[0]
    assert set(targets) - set(re.findall(r"fuzz_\w+", damaged)) == set()


def test_its_layers_are_those_that_lint_holds() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = next(of["layers"] for of in contracts["contracts"] if of.get("containers") == ["taut"])

    assert f"\n{' > '.join(layers)}\n" in TEXT


def test_its_table_of_c_programs_is_the_one_that_lint_holds() -> None:
    [block] = [block for block in FENCED.findall(TEXT) if "programs:" in block]
    said = {name: set(rest.split()) for name, rest in re.findall(r"(\w+) += (.+)", block)}
    said["capture"] = said.pop("match") - {"capture"}

    assert said == {name: allowed for name, (allowed, _) in MAY_INCLUDE.items() if name in said}
    programs = {path.parent.name for path in (ROOT / "dataplane").glob("*/main.c")}
    assert set(said) == programs
