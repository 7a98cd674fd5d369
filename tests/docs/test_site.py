"""The documents as a site and as man pages: built without a warning, searched offline."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from browser import dom_of, needs_browser
from taut.binaries.describe import describe
from taut.cli.help import Context
from taut.cli.main import TAUT
from taut.core.binaries import BINARIES
from taut.records.documents.described import Described

pytest.importorskip("sphinx")

from sphinx.search.en import SearchEnglish

ROOT = Path(__file__).parents[2]
QUESTIONS = {
    "how much load can my device carry": ("capacity", "carry load"),
    "what is a percentile's interval": ("measuring", "interval percentile"),
    "which packets are void": ("measuring", "void"),
    "what is an effective sample size": ("measuring", "effective blocks"),
    "who made a packet late": ("explain", "late stall"),
    "what do the grades of a cause mean": ("attribution", "grade counter"),
    "what is an SMI": ("attribution", "SMI"),
    "how do I undo what was applied": ("host", "undo journal"),
    "which kernel parameters isolate cores": ("host", "cmdline"),
    "what does trim keep": ("trim", "keep"),
    "what may a firewall's rule say": ("firewall", "nftables rule"),
    "what does the router answer to an expired TTL": ("router", "ICMP"),
    "how are two captures matched": ("matching", "duplicate orphan"),
    "how do I write a network function": ("functions", "shared object"),
    "how do I gate a pipeline": ("measure", "gate pipeline"),
    "how do I measure a program of mine": ("measure", "program testpmd"),
    "how do I read packets as a table": ("api", "Arrow polars"),
    "how fast is the matcher": ("benchmarks", "captures"),
    "where does a new device go": ("architecture", "driver"),
    "why are there no mocks of JSON documents": ("adr/0013-documents-are-dataclasses", "pydantic"),
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("html", tmp_path_factory.mktemp("site"))


def build(kind: str, folder: Path) -> Path:
    command = [sys.executable, ROOT / "devtools/documents.py", kind, "--out", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder / kind


def test_every_page_is_reached_from_the_first(built: Path) -> None:
    """What stands in no list is a warning of Sphinx; here: that all of docs/ was built."""
    pages = {path.relative_to(ROOT / "docs").with_suffix("") for path in ROOT.glob("docs/**/*.md")}

    there = {path.relative_to(built).with_suffix("") for path in built.rglob("*.html")}

    assert pages - there == {Path("README")}


def test_no_page_wants_a_network(built: Path) -> None:
    wanted = re.compile(r'<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)"')

    found = [found for page in built.rglob("*.html") for found in wanted.findall(page.read_text())]

    assert found == []


@pytest.mark.parametrize("question", QUESTIONS)
def test_search_finds_the_words_of_a_question(built: Path, question: str) -> None:
    page, words = QUESTIONS[question]
    index = json.loads(
        (built / "searchindex.js").read_text().removeprefix("Search.setIndex(").removesuffix(")")
    )
    stem = SearchEnglish({}).stem

    found = [
        {index["docnames"][i] for i in hits(index, stem(word.lower()))} for word in words.split()
    ]

    assert page in set.intersection(*found)


def hits(index: dict[str, dict[str, int | list[int]]], word: str) -> Iterator[int]:
    """The pages that hold a word, in their text or a title of theirs."""
    for table in ("terms", "titleterms"):
        found = index[table].get(word, [])
        yield from [found] if isinstance(found, int) else found


@needs_browser
def test_a_browser_searches_it_from_the_folder(built: Path, tmp_path: Path) -> None:
    dom = dom_of(built / "search.html", tmp_path, "?q=nftables")

    assert 'href="firewall.html' in dom


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("man", tmp_path_factory.mktemp("man"))


def test_every_command_and_program_has_a_man_page(manual: Path) -> None:
    pages = {path.stem for path in manual.glob("*.1")}

    commands = {f"taut-{name}" for name in TAUT.list_commands(Context(TAUT))}
    assert {"taut", "taut-host-audit", *commands, *BINARIES} <= pages


@pytest.mark.parametrize("program", BINARIES)
def test_the_man_page_of_a_program_has_every_option_and_member(program: str, manual: Path) -> None:
    page = (manual / f"{program}.1").read_text().replace("\\-", "-")
    told = describe(program, Described)
    members = (*told.network_functions, *told.transmit, *told.schedules)

    # A word of the command line that is no option stands there by what it is.
    names = [(f"--{option.name}", str(option.others.get("metavar"))) for option in told.options]
    missing = [name for name, word in names if name not in page and f"\\fB{word}" not in page]
    missing += [member.name for member in members if f"\\fB{member.name}" not in page]

    assert missing == []
