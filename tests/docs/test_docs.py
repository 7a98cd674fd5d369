"""The documents: what they link to, name and tell to type exists, and the example compiles."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from taut.cli.help import Context
from taut.cli.main import TAUT
from taut.experiment.spec import parse_spec
from taut.trim.packets import check_target

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
# `dataplane/nf/nf.h`, `python/taut/dut/driver.py`: real files, unless a part is in CAPITALS (NAME).
NAMED_PATH = re.compile(r"`((?:dataplane|python|tests|devtools|bench|examples)/[\w./*-]+)`")
# A line to type, in a page or the head of an example; what the shell puts in is a number of a
# process.
TYPED = re.compile(r"^(?:    bin/|# {5})(taut .*)$", re.MULTILINE)
# Where taut is installed, not built.
OF_INSTALLED = [ROOT / "docs/install.md", ROOT / "docs/pipeline.md"]
TYPED_THERE = re.compile(r"^    (taut .*)$", re.MULTILINE)
FROM_SHELL = re.compile(r"\$(?:!|\([^)]*\))")
README_LINES, IMAGE_BYTES = 60, 100_000
PLACEHOLDER = re.compile(r"\b(?:[A-Z]{3,}|ttl(?:_test)?)\b|_NAME")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = LINK.findall(page.read_text())

    missing = [target for target in targets if not (page.parent / target).exists()]

    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_files_exist(page: Path) -> None:
    paths = [path for path in NAMED_PATH.findall(page.read_text()) if not PLACEHOLDER.search(path)]

    missing = [path for path in paths if not any(ROOT.glob(path.rstrip("/")))]

    assert missing == []


def test_every_line_of_the_changelog_is_of_a_version() -> None:
    title, blank, version, *_ = (ROOT / "CHANGELOG.md").read_text().splitlines()

    assert (title, blank) == ("# Changelog", "")
    assert version.startswith("## ")


def typed() -> list[str]:
    """Every command line of taut that a page or an example tells to type, without its comment."""
    told = [*PAGES, *ROOT.glob("examples/*.toml")]
    found = [line for page in told for line in TYPED.findall(page.read_text())]
    found += [line for page in OF_INSTALLED for line in TYPED_THERE.findall(page.read_text())]
    words = [shlex.split(FROM_SHELL.sub("4242", line), comments=True) for line in found]
    return sorted({shlex.join(line) for line in words})


@pytest.mark.parametrize("line", typed())
def test_what_a_page_tells_to_type_is_understood(line: str) -> None:
    """Parsed alone: commands, options, values and types; nothing is started."""
    parsed(line)


def test_a_folder_for_a_container_gets_a_label_and_is_nobodys_home() -> None:
    """Without one SELinux keeps the container out; with one, all else out of a home."""
    mounted = re.findall(r'podman run .*-v "(.*?)"', (ROOT / "docs/install.md").read_text())

    assert mounted == ["$PWD/runs:/root:Z"]


@pytest.mark.parametrize("line", [line for line in typed() if "trim examples/" in line])
def test_an_experiment_that_a_page_tells_to_trim_can_be(line: str) -> None:
    asked = parsed(line).params

    check_target(parse_spec((ROOT / asked["spec"]).read_text()), asked["target"] or "p99.9")


def parsed(line: str) -> click.Context:
    """What a line's command is told; nothing is started."""
    told = line.partition(" '>' ")[0]  # a redirection is the shell's
    words = [word for word in shlex.split(told)[1:] if word != "&"]
    command: click.Command | None = TAUT
    while isinstance(command, click.Group):
        name = words.pop(0)
        command = command.get_command(Context(command), name)

    assert command is not None
    return command.make_context(name, words)


def test_the_readme_is_short_and_its_picture_small() -> None:
    text = (ROOT / "README.md").read_text()

    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", text)

    assert len(text.splitlines()) <= README_LINES
    assert len(pictures) == 1
    assert (ROOT / pictures[0]).stat().st_size < IMAGE_BYTES


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_example_network_function_compiles(tmp_path: Path) -> None:
    flags = subprocess.run(["pkg-config", "--cflags", "libdpdk"], capture_output=True, text=True)
    if flags.returncode != 0:
        pytest.skip("needs libdpdk-dev")
    text = (ROOT / "docs/architecture.md").read_text()
    example = tmp_path / "ttl.c"
    example.write_text(text.split("```c\n", 1)[1].split("```", 1)[0])

    own = [
        "-std=c17",
        "-D_GNU_SOURCE",
        "-fsyntax-only",
        "-Wall",
        "-Wextra",
        "-Wno-unused-parameter",
    ]
    folders = [f"-I{ROOT / 'dataplane' / name}" for name in ("nf", "base")]
    system = flags.stdout.replace("-I", "-isystem").split()
    result = subprocess.run(
        ["gcc", *own, "-Werror", *folders, *system, example], capture_output=True, text=True
    )

    assert result.returncode == 0, result.stderr
