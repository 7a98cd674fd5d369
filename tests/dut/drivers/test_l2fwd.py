from pathlib import Path

import pytest

from taut.dut import dpdk
from taut.dut.drivers import l2fwd
from taut.dut.drivers.l2fwd import L2fwdDriver, L2fwdOptions, _argv, find_l2fwd
from taut.host.situation import Waiting
from taut.records.documents.trial import Holds
from taut.testbed.link import Link
from taut.testbed.scope import RunScope


def test_a_named_program_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "l2fwd"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("TAUT_L2FWD", str(program))

    assert find_l2fwd() == program


@pytest.mark.parametrize(
    ("is_clone", "remedy"),
    [(True, "run `make l2fwd`"), (False, "build it as docs/install.md says,")],
)
def test_a_missing_program_says_how_to_build_it(
    is_clone: bool, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAUT_L2FWD", str(tmp_path / "nothing"))
    monkeypatch.setattr(l2fwd, "is_clone", lambda: is_clone)

    missing = L2fwdDriver().missing(L2fwdOptions())

    assert missing == f"l2fwd: program not found; {remedy} or set TAUT_L2FWD"


def test_its_device_polls() -> None:
    assert L2fwdDriver().waits(L2fwdOptions()) is Waiting.POLLS


@pytest.mark.parametrize(
    ("says", "version"),
    [
        ("EAL: RTE Version: 'DPDK 25.11.0-rc2'", "DPDK 25.11.0-rc2"),
        ("unknown option", "libdpdk 22.11"),
    ],
)
def test_its_version_is_the_program_s_own(
    says: str, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "l2fwd"
    path.write_text(f'#!/bin/sh\necho "$@:" "{says}" >&2\nexit 1\n')
    path.chmod(0o755)
    monkeypatch.setenv("TAUT_L2FWD", str(path))
    monkeypatch.setattr(dpdk, "dpdk_version", lambda: "22.11")

    assert L2fwdDriver().version() == version


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that says its words, and is ready."""
    path = tmp_path / "l2fwd"
    path.write_text('#!/bin/sh\necho "$0 $@ L2FWD: entering main loop"\nexec sleep 1000\n')
    path.chmod(0o755)
    monkeypatch.setenv("TAUT_L2FWD", str(path))
    return path


def test_cards_take_frames_of_any_station(program: Path, scope: RunScope, tmp_path: Path) -> None:
    links = [Link("pci", "pci:g", f"pci:0000:01:00.{n}") for n in range(2)]

    with L2fwdDriver().running(links, (0,), L2fwdOptions(), tmp_path, scope) as dut:
        dut.stop()

    _, own = (tmp_path / "l2fwd.log").read_text().split(" -- ")
    assert "-P" in own.split()


def test_a_core_beyond_dpdk_s_numbers_is_one_of_its_lcores() -> None:
    links = [Link("memif", "memif:g", "memif:d", socket=Path("/run/x.sock"))] * 2

    argv = _argv(Path("l2fwd"), links, 130, L2fwdOptions(), [])

    assert argv[1].startswith("--lcores=")
    assert argv[1].endswith("@130")
    assert "-l" not in argv


@pytest.mark.usefixtures("program")
def test_it_says_what_its_buffer_holds_back(scope: RunScope, tmp_path: Path) -> None:
    links = [Link("memif", "memif:g", "memif:d", socket=tmp_path / "x.sock")] * 2

    with L2fwdDriver().running(links, (0,), L2fwdOptions(), tmp_path, scope) as dut:
        stats = dut.stop()

    assert stats is not None
    assert stats.holds == Holds(packets=32, drain_ns=100_000)
