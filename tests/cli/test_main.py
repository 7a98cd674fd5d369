"""The front door: exit status and one line for everything that is wrong."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from taut.cli import main as module
from taut.cli.main import SECTIONS, run_command
from taut.core.errors import InterruptedRun, MissingToolError, TautError
from taut.testbed import core_locks


def fails_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> int:
    def fail(*_: object, **__: object) -> int:
        raise error

    monkeypatch.setattr(module.TAUT, "main", fail)
    return run_command(["run"])


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (TautError("x"), 1),
        (MissingToolError("x"), 2),
        (InterruptedRun("x"), 130),
        (KeyboardInterrupt(), 130),
    ],
)
def test_each_error_has_its_exit_status_and_one_line(
    error: BaseException,
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    assert fails_with(error, monkeypatch) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("taut: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOENT, "make its folder, or name another"),
        (errno.EBUSY, "name another"),
        (errno.ENXIO, "name another"),
    ],
)
def test_a_file_the_machine_does_not_write_is_2_and_one_line(
    number: int, remedy: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    assert fails_with(OSError(number, os.strerror(number), "/proc/x"), monkeypatch) == 2

    assert capsys.readouterr().err == f"taut: /proc/x: {os.strerror(number)}; {remedy}\n"


def test_an_option_that_wants_a_file_takes_no_disk(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(Path, "is_block_device", lambda _: True)

    assert run_command(["check", "run", "--junit", "sda"]) == 2

    assert capsys.readouterr().err == "taut: --junit sda: a disk; name a file\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["rnu"], "unknown command 'rnu'; did you mean 'run'?"),
        (["zzz"], "`taut -h` lists them all"),
        (["host", "aduit"], "unknown command 'aduit'; did you mean 'audit'?"),
        (["--verbose"], "no such option '--verbose'; did you mean '--version'? see `taut -h`"),
        (["run", "--bla"], "run: no such option '--bla'; see `taut run -h`"),
        (["run", "--dry-rnu"], "did you mean '--dry-run'? see `taut run -h`"),
        (["run"], "run: missing argument 'SPEC'; see `taut run -h`"),
        (["host", "effect", "R24", "--repetitions", "x"], "host effect: "),
        (["run", "nothing.toml"], "nothing.toml: no such file"),
        (["reproduce", "debs2"], "did you mean 'debs20'"),
    ],
)
def test_wrong_usage_is_2_and_one_line(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
):
    assert run_command(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert expected in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["help"], ["-h"], ["--help"]])
def test_help_names_every_command_in_its_section(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
):
    assert run_command(arguments) == 0
    out = capsys.readouterr().out
    for title, commands in SECTIONS.items():
        section = out.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
        assert [line.split()[0] for line in section.splitlines() if line[2] != " "] == [*commands]


def test_version(capsys: pytest.CaptureFixture[str]):
    assert run_command(["--version"]) == 0
    assert capsys.readouterr().out.startswith("taut ")


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("utf-8", "1 → 2 µs"),
        ("iso-8859-1", "1 ? 2 µs"),
        ("iso-8859-2", "1 ? 2 ?s"),
        ("ascii", "1 ? 2 ?s"),
    ],
)
def test_what_a_terminal_has_no_code_for_ends_nothing(encoding: str, shown: str):
    code = (
        "from rich.console import Console; from taut.cli import main as module;"
        "module.run_command = lambda _: Console().print('1 → 2 µs'); module.main([])"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )

    assert done.stdout.decode(encoding) == f"{shown}\n", done.stderr


@pytest.mark.parametrize(
    ("words", "cores"),
    [
        ("report runs/a", {2, 4}),
        ("analyze a.pcap b.pcap", {2, 4}),
        ("run a.toml", {2, 3, 4}),
        ("explain --self-test", {2, 3, 4}),
    ],
)
def test_what_only_reads_leaves_cores_to_who_measures(
    words: str, cores: set[int], monkeypatch: pytest.MonkeyPatch
):
    mine = {2, 3, 4}
    monkeypatch.setattr(core_locks, "_name", lambda core: f"\0test-{os.getpid()}-{core}".encode())
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(mine))
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, to: (mine.clear(), mine.update(to)))
    monkeypatch.setattr(module, "run_command", lambda _: 0)

    with core_locks.measuring_on([3]), pytest.raises(SystemExit):
        module.main(words.split())

    assert mine == cores


def test_that_it_cannot_leave_cores_ends_no_command(monkeypatch: pytest.MonkeyPatch):
    def forbidden(*_: object) -> None:
        raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr(core_locks, "leave_measured", forbidden)
    monkeypatch.setattr(module, "run_command", lambda _: 7)

    with pytest.raises(SystemExit, match="7"):
        module.main(["runs"])


HEAVY = ("numpy", "pyarrow", "duckdb", "scipy", "altair", "vl_convert", "jinja2", "pyroute2")
# What works on a run, an experiment or this machine; a help needs none of it.
WORKS = ("analysis", "explain", "experiment", "report", "host.checks", "testbed", "trim")
LIGHT = (*HEAVY, "rich", "pydantic", *(f"taut.{name}" for name in WORKS))
MEASURING = (
    *("quick", "init", "run", "reproduce", "analyze"),
    *("explain", "report", "compare", "trend", "trim", "schema"),
)


@pytest.mark.parametrize(
    ("command", "unwanted"),
    [
        ("", (*LIGHT, "typer")),
        ("host", (*LIGHT, "typer")),
        *((name, LIGHT) for name in (*MEASURING, "doctor", "completion", "host effect")),
        *((f"host {name}", HEAVY) for name in ("audit", "plan", "apply", "cmdline")),
        *((f"host {name}", (*HEAVY, "taut.host.checks")) for name in ("verify", "undo", "lint")),
    ],
)
def test_help_loads_no_heavy_library(command: str, unwanted: tuple[str, ...]):
    words = [*command.split(), "--help"]
    code = (
        f"import sys; from taut.cli.main import run_command; run_command({words});"
        f"print([name for name in {unwanted} if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("taut.cli.run_job", ("scipy", "duckdb", "altair", "jinja2", "pyroute2")),
        ("taut.analysis.results", ("scipy", "duckdb", "altair", "jinja2", "pyroute2", "rich")),
        ("taut.report.html", ("scipy", "duckdb", "pyroute2", "pydantic", "taut.experiment")),
    ],
)
def test_work_loads_what_it_needs_when_it_needs_it(module: str, unwanted: tuple[str, ...]):
    code = (
        f"import sys; import {module};print([name for name in {unwanted} if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert done.stdout.splitlines() == ["[]"], done.stderr
