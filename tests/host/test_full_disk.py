"""A journal for which there is no room, or that can be read only, leaves no change on the host."""

import errno
import os
from pathlib import Path
from typing import IO, Any

import pytest

from host_tree import TreeWriter
from taut.core.errors import TautError
from taut.host.apply import Outcome, apply_changes
from taut.host.journal import Journal
from undone_machine import CHANGES, machine, machine_files, take_back, wishes

N_LINES = 3 * len(CHANGES) + 1
"""What a whole apply adds: `writing`, `wrote` and once more `wrote` of each change; `settled`."""


def fill_after(n_lines: int, patched: pytest.MonkeyPatch) -> None:
    """Have the disk full after so many lines of a journal: the next ones lose their last byte."""
    write = os.write
    left = [None] * n_lines

    def short(descriptor: int, data: bytes) -> int:
        is_journal = Path(f"/proc/self/fd/{descriptor}").readlink().name == "journal"
        if is_journal and not left:
            return write(descriptor, data[:-1])
        if is_journal:
            left.pop()
        return write(descriptor, data)

    patched.setattr(os, "write", short)


def test_an_apply_that_fills_the_disk_takes_back_what_it_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(N_LINES + 1):
        root = tmp_path / str(n)
        host, before = machine(root)

        with monkeypatch.context() as patched:
            fill_after(n, patched)
            report = apply_changes(host, TreeWriter(host), wishes())

        if n == N_LINES:
            assert report.is_good
            break
        assert report.results[-1].outcome is Outcome.FAILED, n
        assert report.results[-1].note.endswith("cannot be written: No space left on device")
        assert report.undone is not None
        assert report.undone.is_good, (n, report.undone)
        assert machine_files(root) == before, n
        assert take_back(host).was_empty


def test_an_apply_that_leaves_what_it_made_calls_nothing_failed_that_is_in_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, before = machine(tmp_path)

    with monkeypatch.context() as patched:
        fill_after(N_LINES - 1, patched)
        report = apply_changes(host, TreeWriter(host), wishes(), keep_going=True)

    assert all(result.outcome is Outcome.IN_FORCE for result in report.results)
    assert report.unsettled.endswith("cannot be written: No space left on device")
    assert not report.is_good
    assert take_back(host).is_good
    assert machine_files(tmp_path) == before


def test_an_undo_needs_no_room_and_is_ended_once_there_is_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, before = machine(tmp_path)
    apply_changes(host, TreeWriter(host), wishes())

    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    with monkeypatch.context() as patched:
        for name in ("_append", "archive", "keep"):
            patched.setattr(Journal, name, refuse)
        report = take_back(host)

    assert report.is_good
    assert report.still_listed.endswith("journal: Read-only file system")
    assert machine_files(tmp_path) == before
    assert take_back(host).archive is not None
    assert machine_files(tmp_path) == before


def test_a_lock_that_is_there_is_taken_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, _ = machine(tmp_path / "locked")
    never, _ = machine(tmp_path / "never")
    with Journal(host).locked():
        pass
    opened = Path.open

    def read_only(path: Path, mode: str = "r", *more: Any, **options: Any) -> IO[Any]:
        if "w" in mode:
            raise OSError(errno.EROFS, "Read-only file system")
        return opened(path, mode, *more, **options)

    monkeypatch.setattr(Path, "open", read_only)
    monkeypatch.setattr("taut.host.journal._LOCK_WAIT_S", 0.0)

    with (
        Journal(host).locked(),
        pytest.raises(TautError, match="is at work"),
        Journal(host).locked(),
    ):
        pass
    with pytest.raises(OSError, match="Read-only file system"), Journal(never).locked():
        pass
