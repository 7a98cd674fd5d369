"""What commands print for people: at 60, 80 and 120 columns no word is broken, no line too long.

Of audit, plan, apply, verify, undo, cmdline, lint, effect and doctor their own tests say it.
"""

import os
import pty
import shutil
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from made_captures import made_pair, pcap_bytes, write_capture
from made_confusion import made_confusion
from made_run import VARIANTS, make_run
from made_trace import FLUSH, MadeTrace, held, normal, write_trial
from taut.analysis.results import analyse_run
from taut.binaries.noise import parse_noise
from taut.capture.native import MatchOptions
from taut.capture.pair_run import Pair, analyse_pairs
from taut.cli import explain_job
from taut.cli.host import noise as noise_module
from taut.cli.main import run_command
from taut.cli.progress import TerminalProgress
from taut.cli.quick_words import print_quick
from taut.cli.trim_words import print_candidates, print_trim
from taut.core.cpus import cpuset_cores
from taut.experiment import runner
from taut.explain.causes import CAUSES
from taut.explain.tell.result import Options
from taut.explain.trial import explain_trial
from taut.records.documents.json_form import parse
from taut.records.documents.published import PublishedTable
from taut.records.documents.trim import TrimDocument
from taut.records.rundir import RunDirectory
from taut.report.published import print_published
from taut.report.table import print_results
from taut.self_test.cause_report import Result, print_result
from taut.self_test.late_acts import Control
from taut.self_test.path_report import PathResults, print_paths
from taut.self_test.path_trials import PathResult
from taut.self_test.paths import PATHS
from taut.testbed.core_locks import busy_cores
from terminal import WIDE, WIDTHS, Terminal, assert_lines_fit

EXAMPLE = Path(__file__).parents[2] / "examples/first-look.toml"
LONG = "a device with a name of several words, and a path /sys/devices/system/cpu/cpu1/cpuidle"
# "(1,900 to 2,000 a row)" and "No room here for ...: the report has them."
NO_ROOM = r"\([\d,]+|to|a|row\)|No|room|here|for|the|report|has|them"
MS = 1_000_000

Analysed = tuple[RunDirectory, dict[str, Any]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of four devices, small; one has a trial that failed."""
    folder = tmp_path_factory.mktemp("runs")
    small = [replace(v, trial=replace(v.trial, n_packets=2_000, n_cold=100)) for v in VARIANTS]
    states = [replace(small[3], host=f"without {word}") for word in ("isolation", "steering")]
    for name, variants in (("first", small), ("second", small[:2]), ("states", states)):
        make_run(folder / name, tuple(variants), repetitions=1, failed=name == "first")
    return folder


@pytest.fixture(scope="module")
def analysed(runs: Path) -> dict[str, Analysed]:
    """The same runs, by name: an analysis of some trials starts processes."""
    found = [RunDirectory(path) for path in sorted(runs.iterdir())]
    return {run.path.name: (run, analyse_run(run)) for run in found}


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One shootdown in a trial that was traced."""
    path = tmp_path_factory.mktemp("traced")
    start, end = 10 * MS, 10 * MS + 60_000
    trace = MadeTrace().call(start + 1_000, end - 2_000, FLUSH, sent_at=start)
    rows = held(normal(3_000), start, end)
    write_trial(path, rows, [(start, end, "forwarder")], trace, {"status": "whole"})
    (path / "manifest.json").write_text("{}")
    return path


@pytest.mark.parametrize("name", ["first", "second", "states"])
@pytest.mark.parametrize("details", [False, True])
def test_a_result(
    analysed: dict[str, Analysed], terminal: Terminal, name: str, *, details: bool
) -> None:
    run, document = analysed[name]

    def shown() -> None:
        report = run.path / "report.html"
        print_results([(run, document)], Console(), report, details=details)

    terminal.assert_fits(shown, NO_ROOM)


def test_quick(analysed: dict[str, Analysed], terminal: Terminal) -> None:
    _, document = analysed["first"]

    terminal.assert_fits(lambda: print_quick(document, Path("runs/quick/report.html"), Console()))


@pytest.mark.usefixtures("analysed")
def test_compare(runs: Path, terminal: Terminal) -> None:
    pair = [str(runs / name) for name in ("first", "second")]

    terminal.assert_fits(lambda: run_command(["compare", *pair]))


@pytest.mark.usefixtures("analysed")
def test_trend(runs: Path, terminal: Terminal) -> None:
    pair = [str(runs / name) for name in ("first", "second")]

    terminal.assert_fits(lambda: run_command(["trend", *pair]))


@pytest.mark.usefixtures("analysed")
def test_runs(runs: Path, terminal: Terminal) -> None:
    terminal.assert_no_word_is_broken(lambda: run_command(["runs", str(runs)]))


@pytest.mark.parametrize("more", [[], ["--details"]])
def test_explain_a_run(traced: Path, terminal: Terminal, more: Sequence[str]) -> None:
    terminal.assert_fits(lambda: run_command(["explain", str(traced), *more]))


def test_explain_a_process(
    traced: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = RunDirectory(traced).trials()[0]
    found = replace(explain_trial(trial.path, Options()), packets=None)
    monkeypatch.setattr(explain_job, "threads_on", lambda *_: {})
    monkeypatch.setattr(explain_job, "explain_window", lambda *_: [found])

    terminal.assert_fits(lambda: run_command(["explain", "999999999"]))


def test_a_dry_run(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is free on the disk, and who measures on the cores, may change between two of them."""
    free, busy = shutil.disk_usage(EXAMPLE), busy_cores(cpuset_cores())
    monkeypatch.setattr(shutil, "disk_usage", lambda _: free)
    monkeypatch.setattr(runner, "busy_cores", lambda _: busy)

    terminal.assert_no_word_is_broken(lambda: run_command(["run", str(EXAMPLE), "--dry-run"]))


@pytest.mark.smoke
@pytest.mark.beside
def test_captures(tmp_path: Path, terminal: Terminal) -> None:
    pair = made_pair(2_000)
    sides = [
        write_capture(tmp_path / f"{name}.pcap", pcap_bytes(frames))
        for name, frames in (("before", pair.ingress), ("after", pair.egress))
    ]
    run = analyse_pairs([Pair("device", *sides)], tmp_path / "run", MatchOptions())
    analysed = [(run, analyse_run(run))]

    terminal.assert_fits(lambda: print_results(analysed, Console()), NO_ROOM)


def test_published_beside_measured(terminal: Terminal) -> None:
    rows = [["eager", "1.5 µs", LONG], ["buffered", "100 µs", "within"]]
    columns = ["device", "published", "what the paper says of it"]
    document = {"title": LONG, "columns": columns, "rows": rows, "note": LONG, "outcome": LONG}
    of = parse(PublishedTable, document, "made")

    terminal.assert_no_word_is_broken(lambda: print_published([of], Console(), details=True))


def trim_document(**changes: Any) -> TrimDocument:
    remedy = {"remedy": "R24-now", "summary": LONG, "cause": LONG, "cost": LONG, "risk": LONG}
    remedy |= {"check": "R24", "share": 0.5, "severity": "major"}
    more = {"when": "now", "lines": [LONG], "decision": "kept: shown to help", "without_it": None}
    cell = {"cell": "eager, 100 kpkt/s, 64 B", "before": 1_500, "after": 900}
    cause = {"cause": "timer", "title": LONG, "before": 0.9, "after": 0.1}
    document = {
        "verdict": "helps",
        "sentence": LONG,
        "target": "p99.9",
        "cells": [cell],
        "causes": [cause],
        "remedies": [remedy | more],
        "notes": [LONG],
        "cores": "1",
        "kept": ["R24-now"],
        "in_force": False,
        "figure": LONG,
        "method": LONG,
        "took_s": 1.0,
        **dict.fromkeys(("effect", "effect_with_void", "confirmed")),
    }
    return parse(TrimDocument, document | changes, "made")


@pytest.mark.parametrize("is_dry", [False, True])
@pytest.mark.parametrize("by", ["packets", "stalls"])
def test_trim(terminal: Terminal, by: str, *, is_dry: bool) -> None:
    document = trim_document(by=by)
    report = Path("runs/trim/report.html")

    terminal.assert_no_word_is_broken(
        lambda: print_trim(document, Console(), report, is_dry=is_dry)
    )


def test_what_could_help_is_told_by_the_titles_of_causes(terminal: Terminal) -> None:
    [remedy] = trim_document().remedies
    candidates = [replace(remedy, cause=cause.id) for cause in CAUSES]

    def shown() -> None:
        print_candidates(candidates, Console())

    terminal.assert_no_word_is_broken(shown)
    text = terminal.printed(shown, WIDE)
    assert all(f"now; helps against: {cause.title}\n" in text for cause in CAUSES)


@pytest.mark.parametrize("n_cores", [1, 16])
def test_noise(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, n_cores: int) -> None:
    core = {
        "samples": 1_000_000_000,
        "duration_ns": 10**10,
        "period_ns": {"min": 7, "p99.9999": 5000},
        "over": [{"threshold_ns": 100_000, "gaps": 123_456}],
        "gaps": {"n": 40, "total_ns": 50_000_000, "not_logged": 12},
        "worst": {"ns": 123_000, "at_ns": 1_500_000_000},
    }
    cores = [core | {"core": n} for n in range(n_cores)]
    found = parse_noise({"stop": "d", "threshold_ns": 1000, "priority": 0, "cores": cores})
    monkeypatch.setattr(noise_module, "measure_noise", lambda _: found)
    monkeypatch.setattr(noise_module, "measuring_on", lambda *_, **__: nullcontext())

    terminal.assert_fits(lambda: run_command(["host", "noise"]))


def test_self_test(terminal: Terminal) -> None:
    act = made_confusion("fair-hog")
    paths = PathResults(
        [PathResult(PATHS[0], 1_500, Control(300, 40, {"stopped": 3}), (act,), {"quota": LONG})],
        {"l2fwd": LONG},
    )
    caused = made_confusion("fifo-preemption")
    result = Result(0, 2_000, {"timer": 6}, 10.0, (caused,), {"stopped": LONG}, (0.1, 0.2))

    terminal.assert_fits(lambda: print_paths(Console(), paths))
    terminal.assert_fits(lambda: print_result(Console(), result))


Said = Callable[[Callable[[], Any]], str]


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Said:
    """Give what is written to stderr where that is a terminal."""

    def written(run: Callable[[], Any]) -> str:
        ours, theirs = pty.openpty()
        with os.fdopen(theirs, "w") as stream, monkeypatch.context() as patch:
            patch.setattr("sys.stderr", stream)
            run()
        # Closed at the other end, it is read to its end, and then it is an error.
        with os.fdopen(ours, "rb", buffering=0) as stream, suppress(OSError):
            text = b""
            while part := stream.read(4096):
                text += part
        return text.decode().replace("\r\n", "\n")

    return written


@pytest.mark.parametrize("width", WIDTHS)
def test_what_is_said_while_a_run_works(
    on_terminal: Said, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))

    def say() -> None:
        progress = TerminalProgress(Console(stderr=True, no_color=True))
        progress.warned(f"{LONG}, {LONG}")
        progress.noted(LONG)

    text = on_terminal(say)

    assert text.split() == ["warning:", *f"{LONG}, {LONG} {LONG}".split()]
    assert_lines_fit(text, width)


@pytest.mark.parametrize("width", [*WIDTHS, WIDE])
def test_an_error(on_terminal: Said, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))

    text = on_terminal(lambda: run_command(["report", "no/such/run/anywhere/on/this/machine/x"]))

    assert text.startswith("taut: no/such/run/anywhere/on/this/machine/x: ")
    assert_lines_fit(text, width)
    assert width < WIDE or text.count("\n") == 1
