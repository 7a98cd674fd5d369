import json
import os
import re
import signal
from collections import Counter
from io import StringIO
from itertools import cycle
from pathlib import Path

import pytest
from rich.console import Console

from host_tree import POLL, put, tree
from taut.cli.host.audit import print_audit
from taut.cli.main import run_command
from taut.host.audit import Audit, Row
from taut.host.check import Finding, Severity, State, failed
from taut.host.checks import CHECKS
from terminal import WIDE, WIDTHS

LONG = "/sys/kernel/debug/" + "a-folder.with_a:long,name/" * 6
"""Wider than any terminal of these tests, with all that others break lines at."""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A copied machine of two cores."""
    put(tmp_path, "/sys/devices/system/cpu/online", "0-1\n")
    put(tmp_path, "/proc/sys/vm/stat_interval", "1\n")
    return tmp_path


@pytest.fixture
def everything(tmp_path: Path) -> Audit:
    """Every check that can fail has failed at something long; the rest are in the other states."""
    host = tree(tmp_path, {})
    others = cycle(state for state in State if state is not State.FAIL)
    rows = []
    for check in CHECKS:
        if check.fault:
            finding = failed(f"1.5 µs at {LONG}; {LONG}={LONG}", f"{LONG} or none")
            rows.append(Row(check, finding, check.propose(host, POLL)))
        else:
            rows.append(Row(check, Finding(next(others), LONG, f"no {LONG}", f"to read {LONG}")))
    return Audit(POLL, rows)


def test_the_document_has_every_check_with_one_of_four_states(
    machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["host", "audit", "--root", str(machine), "--cores", "1", "--json"]) == 0

    document = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in document["checks"]] == [check.id for check in CHECKS]
    assert sum(document["counts"].values()) == len(CHECKS)
    assert document["cores"] == "1"


def test_what_failed_is_a_paragraph_titled_by_the_fault(
    machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["host", "audit", "--root", str(machine)]) == 0

    paragraphs = capsys.readouterr().out.split("\n\n")
    (found,) = (p for p in paragraphs if "R06" in p.splitlines()[0])
    assert found.startswith("Memory statistics are folded too often (major, R06)\n    Why: ")
    assert "    Found: /proc/sys/vm/stat_interval = 1\n" in found
    assert found.endswith("    R06-now: write 120 to /proc/sys/vm/stat_interval")


@pytest.mark.parametrize("width", WIDTHS)
def test_no_word_is_broken_at_any_width(everything: Audit, width: int) -> None:
    """The words are those of a terminal without end, in their order, and no line is too long."""
    for show_all in (False, True):
        narrow, wide = (_printed(everything, w, show_all=show_all) for w in (width, WIDE))

        assert narrow.split() == wide.split()
        for line in narrow.splitlines():
            assert len(line) <= width or len(line.split()) == 1


def test_every_finding_is_told_and_the_worst_comes_first(everything: Audit) -> None:
    heads = re.findall(r"^(\S.*) \((\w+), (\w+)\)$", _printed(everything, WIDE), re.MULTILINE)

    severities = [Severity[severity.upper()] for _, severity, _ in heads]
    assert severities == sorted(severities, reverse=True)
    failures = {row.check.id: row.check.fault for row in everything.of(State.FAIL)}
    assert {name: title for title, _, name in heads} == failures


def test_the_counts_are_those_of_what_is_told(everything: Audit) -> None:
    text = _printed(everything, WIDE, show_all=True)

    heads = Counter(re.findall(r"^\S.* \(([\w ]+), \w+\)$", text, re.MULTILINE))
    summary = text.splitlines()[-1]
    told = {word: int(n) for n, word in re.findall(r"(\d+) ([a-z ]+)", summary)}
    failed_ones = [heads.pop(severity.name.lower()) for severity in Severity]
    assert [told[severity.name.lower()] for severity in Severity] == failed_ones
    assert told["failed "] == sum(failed_ones)
    assert {word: told[word] for word in heads} == heads
    assert told["checks"] == len(CHECKS) == sum(failed_ones) + heads.total()


def test_a_failure_of_another_kind_has_its_own_title(tmp_path: Path) -> None:
    finding = failed("mce=off", "on", fault="Uncorrected errors go unnoticed")

    text = _printed(Audit(POLL, [Row(CHECKS[0], finding)]), 80)

    assert "\nUncorrected errors go unnoticed (critical, HW01)\n" in text


def test_all_cores_are_refused(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["host", "audit", "--root", str(machine), "--cores", "0-1"]) == 2
    assert "housekeeping" in capsys.readouterr().err


def test_this_machine_can_be_audited(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["host", "audit", "--watch", "0.1s", "--json"]) == 0

    document = json.loads(capsys.readouterr().out)
    assert document["watched_s"] >= 0.1


def _printed(found: Audit, width: int, *, show_all: bool = False) -> str:
    console = Console(file=StringIO(), width=width)
    print_audit(console, found, show_all=show_all)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_a_trace_lets_it_clean_up(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleaned = []

    def recording(*_: object, **__: object) -> Audit:
        try:
            os.kill(os.getpid(), number)
        except KeyboardInterrupt:
            cleaned.append(number)
            raise
        return Audit(POLL, [])

    monkeypatch.setattr("taut.cli.host.audit.run_audit", recording)
    before = signal.signal(number, lambda *_: None)
    try:
        assert run_command(["host", "audit", "--trace"]) == 130
    finally:
        signal.signal(number, before)

    assert cleaned == [number]
