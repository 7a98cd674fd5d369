"""The documents: what they link to and name exists, and the example compiles."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
# `dataplane/nf/nf.h`, `python/taut/dut/driver.py`: real files, unless a part is in CAPITALS (NAME).
NAMED_PATH = re.compile(r"`((?:dataplane|python|tests|devtools|bench|examples)/[\w./*-]+)`")
PLACEHOLDER = re.compile(r"\b(?:[A-Z]{3,}|ttl)\b|_NAME")


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
