import json
import os
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from host_tree import POLL, TreeWriter, put, snapshot, tree
from taut.cli.host.apply import print_applied
from taut.cli.host.undo import print_undo
from taut.cli.main import run_command
from taut.core.cpus import CpuSet
from taut.core.errors import InputError
from taut.experiment import leftovers
from taut.host.apply import ApplyReport, Outcome, Result, Wish, apply_changes
from taut.host.host import Host
from taut.host.inheriting import InheritingThread
from taut.host.journal import Journal
from taut.host.setting import Change
from taut.host.settings import FileSetting, PlacedFile, ThreadAffinity
from taut.host.state import HostState, HostStates, holders
from taut.host.undo import Touched, UndoReport, undo
from taut.testbed.core_locks import busy_cores, measuring_on
from taut.testbed.owner import pid_namespace
from terminal import Terminal

STAT_INTERVAL = "/proc/sys/vm/stat_interval"
FILES = {
    "/etc/machine-id": "me\n",
    "/proc/sys/kernel/random/boot_id": "now\n",
    "/sys/devices/system/cpu/online": "0-3\n",
    STAT_INTERVAL: "1\n",
}


APPLY = ["host", "apply", "--yes", "--role", "poll-core", "--cores", "2-3", "--only", "R06"]
LONG = FileSetting("/sys/devices/" + "pci0000:00/" * 12 + "power/control")
"""Wider than any terminal."""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """A tree in the place of this machine."""
    found = tree(tmp_path, FILES)
    for command in ("apply", "verify", "undo"):
        monkeypatch.setattr(f"taut.cli.host.{command}.Host", lambda: found)
    for command in ("apply", "undo"):
        monkeypatch.setattr(f"taut.cli.host.{command}.Writer", TreeWriter)
    monkeypatch.setattr(leftovers, "Writer", TreeWriter)
    # The cores of this machine are others': tests beside this one measure there.
    monkeypatch.setattr(leftovers, "refuse_others", lambda *_: None)
    monkeypatch.setattr(leftovers, "measuring_on", lambda *_, **__: nullcontext())
    monkeypatch.setattr("os.geteuid", lambda: 0)
    return found


def applied(host: Host) -> None:
    wish = Wish("R06-now", Change(FileSetting(STAT_INTERVAL, "number"), "120"))
    apply_changes(host, TreeWriter(host), [wish])


@pytest.mark.parametrize("command", ["apply", "undo"])
def test_without_root_nothing_is_written(
    host: Host,
    command: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    before = snapshot(host.root)

    assert run_command(["host", command]) == 2

    assert "needs root; run it with sudo" in capsys.readouterr().err
    assert snapshot(host.root) == before


def test_where_nobody_can_be_asked_yes_is_needed(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    before = snapshot(host.root)

    assert run_command(["host", "apply"]) == 2

    assert "--yes" in capsys.readouterr().err
    assert snapshot(host.root) == before


@pytest.mark.parametrize("cores", ["0-3", "9", "x"])
def test_cores_that_cannot_poll_are_refused(host: Host, cores: str) -> None:
    before = snapshot(host.root)

    assert run_command(["host", "apply", "--yes", "--cores", cores]) == 2
    assert snapshot(host.root) == before


def test_apply_verify_and_undo_go_round(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(APPLY) == 0
    assert host.read(STAT_INTERVAL) == "120"
    assert run_command(["host", "verify"]) == 0
    assert run_command(["host", "undo"]) == 0
    assert host.read(STAT_INTERVAL) == "1"
    assert run_command(["host", "undo"]) == 0

    said = capsys.readouterr().out
    assert "1 changes made" in said
    assert "1 of 1 changes in force" in said
    assert said.endswith("Nothing to undo.\n")


@pytest.mark.parametrize("words", [APPLY, ["host", "undo"]], ids=["apply", "undo"])
def test_a_host_on_which_somebody_measures_stays_as_it_is(
    words: list[str],
    host: Host,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def another_measures(cores: Iterable[int], advice: str) -> None:
        raise InputError(f"another measures on one of {list(cores)}; {advice}")

    applied(host)
    monkeypatch.setattr(leftovers, "refuse_others", another_measures)
    before = snapshot(host.root)

    assert run_command(words) == 2
    err = capsys.readouterr().err
    assert "another measures on one of [0, 1, 2, 3]; wait for its end (--wait)" in err
    assert snapshot(host.root) == before

    assert run_command([*words, "--wait"]) == 0


@pytest.mark.parametrize(
    ("words", "changes", "cores"),
    [
        ([*APPLY[:-3], "1020-1021", *APPLY[-2:]], "apply.apply_changes", (1020, 1021, 1022)),
        (["host", "undo"], "undo.undo_host", (8170, 8171, 8172)),
    ],
    ids=["apply", "undo"],
)
def test_no_measurement_begins_while_the_host_is_changed(
    words: list[str],
    changes: str,
    cores: CpuSet,
    host: Host,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No machine has these cores: no run of another test holds them."""
    held: list[CpuSet] = []

    def change(*given: Any, **options: Any) -> Any:
        held.append(busy_cores(cores))
        return original(*given, **options)

    original = {"apply.apply_changes": apply_changes, "undo.undo_host": undo}[changes]
    if "undo" in words:
        applied(host)
    put(host.root, "/sys/devices/system/cpu/online", f"{cores[0]}-{cores[-1]}\n")
    monkeypatch.setattr(leftovers, "measuring_on", measuring_on)
    monkeypatch.setattr(f"taut.cli.host.{changes}", change)

    assert run_command(words) == 0

    assert held == [cores]
    assert busy_cores(cores) == ()


def test_apply_takes_nothing_over_from_a_living_run(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    run = HostStates(host, TreeWriter(host), lambda: POLL, leftovers.holder_of("ab12"))
    with run:
        run.enter(HostState("one", only=("R06",)))

        assert run_command(APPLY) == 2
        assert f"run ab12 (pid {os.getpid()}) has changed" in capsys.readouterr().err

    assert host.read(STAT_INTERVAL) == "1"


def test_apply_puts_back_what_a_dead_run_left_and_its_own_changes_stay(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    dead = f"run ab12, pid 999999999, started 1, in {pid_namespace()}"
    HostStates(host, TreeWriter(host), lambda: POLL, dead).enter(HostState("one", only=("R06",)))

    assert run_command(APPLY) == 0
    assert "Left by a dead run: 1 settings of the host, put back." in capsys.readouterr().out
    leftovers.put_host_back(host)

    assert host.read(STAT_INTERVAL) == "120"
    assert holders(host) == []
    assert run_command(["host", "undo"]) == 0
    assert host.read(STAT_INTERVAL) == "1"


def test_undo_tells_of_a_kernel_that_came_since(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, ours = "/boot/loader/entries", "options ro nohz_full=2-3\n"
    put(host.root, f"{folder}/a.conf", "options ro\n")
    wish = Wish("boot", Change(PlacedFile(f"{folder}/a.conf"), ours))
    apply_changes(host, TreeWriter(host), [wish])
    put(host.root, f"{folder}/b.conf", ours)

    assert run_command(["host", "undo"]) == 0

    said = " ".join(capsys.readouterr().out.split())
    assert f"{folder}/b.conf was made since, with parameters of taut" in said
    assert "out of its options: nohz_full=2-3" in said
    assert "is in force after a reboot" not in said


def test_undo_names_what_somebody_else_changed(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    applied(host)
    put(host.root, STAT_INTERVAL, "7\n")

    assert run_command(["host", "verify"]) == 1
    assert run_command(["host", "undo"]) == 1
    said = capsys.readouterr()
    assert STAT_INTERVAL in said.err
    assert said.err.count("\n") == 1
    assert host.read(STAT_INTERVAL) == "7"

    assert run_command(["host", "undo", "--force"]) == 0
    assert host.read(STAT_INTERVAL) == "1"


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (
            {"/etc/default/grub": "", "/usr/sbin/update-grub": ""},
            "in force after a reboot; update-grub first.",
        ),
        ({"/boot/loader/entries/a.conf": "options quiet\n"}, "in force after a reboot."),
        ({}, "give its kernel what `taut host cmdline` prints."),
    ],
)
def test_apply_says_what_boot_configuration_still_needs(
    files: dict[str, str], words: str, host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    tree(host.root, files | {"/sys/devices/system/cpu/isolated": "\n"})
    apply = ["host", "apply", "--boot", "--yes", "--role", "poll-core", "--cores", "2-3"]

    assert run_command([*apply, "--only", "R06,K04-boot"]) == 0

    assert " ".join(capsys.readouterr().out.split()).endswith(words)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/etc/a", "in force after a reboot."),
        ("/etc/default/grub.d/90-taut.cfg", "in force after a reboot; update-grub first."),
    ],
)
def test_undo_of_boot_configuration_leaves_values_and_says_what_is_left_to_do(
    path: str, words: str, host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    applied(host)
    apply_changes(host, TreeWriter(host), [Wish("boot", Change(PlacedFile(path), "b\n"))])

    assert run_command(["host", "undo", "--boot"]) == 0

    said = " ".join(capsys.readouterr().out.split())
    assert said.endswith(words)
    assert not host.is_there(path)
    assert host.read(STAT_INTERVAL) == "120"
    assert run_command(["host", "undo", "--boot"]) == 0
    assert capsys.readouterr().out == "Nothing to undo.\n"


def test_undo_leaves_what_a_living_run_has_changed_unless_forced(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    run = HostStates(host, TreeWriter(host), lambda: POLL, leftovers.holder_of("ab12"))
    run.enter(HostState("one", only=("R06",)))

    assert run_command(["host", "undo"]) == 2
    err = capsys.readouterr().err
    assert f"run ab12 (pid {os.getpid()}) has changed settings" in err
    assert err.endswith("wait for that, or `taut host undo --force`\n")
    assert host.read(STAT_INTERVAL) == "120"
    assert run.read_in_force().lost == ()

    assert run_command(["host", "undo", "--boot"]) == 0
    assert host.read(STAT_INTERVAL) == "120"
    assert run_command(["host", "undo", "--force"]) == 0
    assert host.read(STAT_INTERVAL) == "1"
    assert run.read_in_force().lost == (STAT_INTERVAL,)


@pytest.mark.parametrize(
    ("options", "waits"),
    [((), []), (("--wait",), [True]), (("--boot", "--wait"), [])],
    ids=["at once", "after a wait", "of files"],
)
def test_a_forced_undo_waits_where_it_is_told_to(
    options: tuple[str, ...], waits: list[bool], host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    def hold(_: CpuSet, *, wait: bool, **__: object) -> AbstractContextManager[None]:
        asked.append(wait)
        return nullcontext()

    monkeypatch.setattr(leftovers, "measuring_on", hold)
    run = HostStates(host, TreeWriter(host), lambda: POLL, leftovers.holder_of("ab12"))
    run.enter(HostState("one", only=("R06",)))

    assert run_command(["host", "undo", "--force", *options]) == 0

    assert asked == waits
    assert host.read(STAT_INTERVAL) == ("120" if "--boot" in options else "1")


def test_undo_of_a_corrupt_journal_says_the_line_and_fails(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    applied(host)
    with Journal(host).path.open("a") as file:
        file.write("nonsense\n")

    assert run_command(["host", "undo"]) == 1

    assert "line 7 of the journal is corrupt" in capsys.readouterr().out
    assert host.read(STAT_INTERVAL) == "1"


def test_verify_gives_a_document(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    applied(host)

    assert run_command(["host", "verify", "--json"]) == 0

    (change,) = json.loads(capsys.readouterr().out)["changes"]
    assert (change["old"], change["now"], change["standing"]) == ("1\n", "120\n", "in force")


def test_no_word_of_a_verification_is_broken(host: Host, terminal: Terminal) -> None:
    put(host.root, LONG.path, "auto\n")
    apply_changes(host, TreeWriter(host), [Wish("R99-now", Change(LONG, "on"))])
    applied(host)
    put(host.root, STAT_INTERVAL, "7\n")

    terminal.assert_no_word_is_broken(lambda: run_command(["host", "verify"]))


def started(thread: int, cores: str) -> InheritingThread:
    return InheritingThread(ThreadAffinity(thread, "worker", 7), cores, "0-3")


def test_no_word_of_what_apply_and_undo_did_is_broken(terminal: Terminal) -> None:
    wish = Wish("R99-now", Change(LONG, "on"))
    results = [Result(wish, "auto", "on " * 20, outcome, "said so") for outcome in Outcome]
    touched = [Touched(LONG, "auto\n", "on\n", "somebody else did it"), Touched(LONG, None, "on")]
    undone = UndoReport(
        restored=[LONG],
        by_reboot=touched,
        gone=[LONG],
        strangers=touched,
        widened=[started(40_000, "0-1")],
        inheriting=[started(thread, "0") for thread in range(40_000, 40_012)],
        failed=touched,
        complaints=["line 7 of the journal is corrupt"],
        still_listed="/var/lib/taut/host/journal: Read-only file system",
    )

    kept = ApplyReport(results, unsettled="/var/lib/taut/host/journal cannot be written: no room")
    terminal.assert_no_word_is_broken(lambda: print_applied(Console(), kept))
    terminal.assert_no_word_is_broken(lambda: print_undo(Console(), undone))
