from pathlib import Path

import pytest

from taut.dut.drivers import snort, suricata
from taut.dut.drivers.testpmd import TestpmdDriver, TestpmdOptions
from taut.dut.installed import Found, Program, find, missing
from taut.dut.open_vswitch import PLAIN, WITH_DPDK

TOOL = Program(
    name="tool with parts",
    places=("tool", "tool-with-parts"),
    pattern=r"Tool ([\d.]+), parts ([\d.]+)",
    least=(7, 1),
    remedy="install tools",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    return tmp_path


def says(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\necho '{text}'\n")
    path.chmod(0o755)


def test_a_program_that_is_not_there_is_named_with_its_remedy(folder: Path) -> None:
    assert folder.is_dir()
    assert find(TOOL) is None
    assert missing(TOOL) == "tool with parts: program not found; install tools"


def test_one_that_is_built_without_the_part_is_passed_over(folder: Path) -> None:
    says(folder / "tool", "Tool 9.0")
    says(folder / "tool-with-parts", "Tool 7.10.2, parts 22.11")

    assert find(TOOL) == Found(str(folder / "tool-with-parts"), ("7.10.2", "22.11"))
    assert missing(TOOL) is None


def test_one_that_is_too_old_says_which_version_is_wanted(folder: Path) -> None:
    says(folder / "tool", "Tool 7.0.9, parts 22.11")

    assert missing(TOOL) == (
        f"tool with parts: {folder}/tool is version 7.0.9, 7.1 or newer wanted; install tools"
    )


def test_one_that_cannot_be_started_is_none(folder: Path) -> None:
    (folder / "tool").write_text("no program")
    (folder / "tool").chmod(0o755)

    assert find(TOOL) is None


@pytest.mark.parametrize("program", [WITH_DPDK, PLAIN, snort.PROGRAM, suricata.PROGRAM])
def test_a_package_is_told_with_the_distribution_that_has_it(program: Program) -> None:
    assert "Debian" in program.remedy


def test_so_is_testpmd_s(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder))

    assert TestpmdDriver().missing(TestpmdOptions()) == (
        "dpdk-testpmd: program not found; install it with DPDK (Debian: dpdk-dev)"
    )
