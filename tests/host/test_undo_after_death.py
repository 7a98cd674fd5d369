"""Whenever apply or undo dies, undo restores everything."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from dying_writer import Died, DyingWriter, Fate, fateful_journal
from host_tree import TreeWriter, put, snapshot
from taut.host.apply import apply_changes
from taut.host.journal import Journal
from taut.host.setting import Change, Setting
from taut.host.settings import (
    CpusetPartition,
)
from undone_machine import (
    CHANGES,
    STAT_INTERVAL,
    SWAPPINESS,
    machine,
    machine_files,
    take_back,
    wishes,
)


@pytest.mark.parametrize("is_after", [False, True])
def test_whenever_apply_dies_undo_restores_everything(tmp_path: Path, *, is_after: bool) -> None:
    for n in range(1, _n_deeds_of_apply(tmp_path / "whole") + 1):
        root = tmp_path / str(n)
        host, before = machine(root)
        fate = Fate(n, is_after)

        with pytest.raises(Died), fateful_journal(fate):
            apply_changes(host, DyingWriter(host, fate=fate), wishes())
        report = take_back(host)

        assert report.is_good, (n, report)
        assert machine_files(root) == before, n
        assert take_back(host).was_empty


@dataclass(frozen=True)
class MeddledWriter(DyingWriter):
    """Somebody else changes settings, once taut has begun and before it comes to them."""

    def write_file(self, path: str, text: str) -> None:
        super().write_file(path, text)
        if path == STAT_INTERVAL and text == "120\n":
            meddle(self.host.root)


def meddle(root: Path) -> None:
    put(root, SWAPPINESS, "33\n")
    put(root, "/proc/sys/vm/min_free_kbytes", "70000\n")
    put(root, "/proc/50/status", "Name:\tkswapd0\nCpus_allowed_list:\t0-2\n")


@pytest.mark.parametrize("is_after", [False, True])
def test_whenever_apply_dies_undo_keeps_what_somebody_else_changed_before(
    tmp_path: Path, *, is_after: bool
) -> None:
    for n in range(1, _n_deeds_of_apply(tmp_path / "whole") + 1):
        root = tmp_path / str(n)
        host, before = machine(root)
        fate = Fate(n, is_after)

        with pytest.raises(Died), fateful_journal(fate):
            apply_changes(host, MeddledWriter(host, fate=fate), wishes())
        if host.read(STAT_INTERVAL) == "120" and host.read(SWAPPINESS) == "60":
            meddle(root)  # It died in the write; the others live on.
        meddled = host.read(STAT_INTERVAL) == "120"
        report = take_back(host)

        assert report.is_good, (n, report)
        if meddled:
            meddle(tmp_path / "expected")
            before |= {
                str(root / Path(path).relative_to(tmp_path / "expected")): text
                for path, text in snapshot(tmp_path / "expected").items()
            }
        assert machine_files(root) == before, n


def test_a_journal_torn_anywhere_loses_nothing_that_was_written(tmp_path: Path) -> None:
    """As a kill leaves it: lines stand before what they tell of, and one may be torn."""
    host, before = machine(tmp_path / "whole")
    apply_changes(host, TreeWriter(host), wishes()[:2])
    journal = Journal(host).path
    data = journal.read_bytes()
    ends = [at + 1 for at, byte in enumerate(data) if byte == ord("\n")]
    begin = ends[2]  # The header and two changes are written whole or not at all.
    after = machine_files(tmp_path / "whole")

    cuts = {cut + by for cut in ends[2:] for by in (-2, -1, 0, 1, 40)}
    for cut in sorted(cut for cut in cuts if begin <= cut < len(data)):
        for path, text in after.items():
            Path(path).write_bytes(text)
        n_lines = sum(end <= cut for end in ends) - 3
        if n_lines < 3:  # The second write was not begun.
            put(tmp_path / "whole", CHANGES[1].setting.name, "always [madvise] never\n")
        if n_lines < 1:  # Nor the first.
            put(tmp_path / "whole", STAT_INTERVAL, "1\n")
        journal.parent.mkdir(parents=True, exist_ok=True)
        journal.write_bytes(data[:cut])

        assert take_back(host).is_good, cut
        assert machine_files(tmp_path / "whole") == before, cut


def test_whenever_undo_dies_another_undo_ends_it(tmp_path: Path) -> None:
    n_deeds = _n_deeds_of_undo(tmp_path / "whole")
    assert n_deeds > len(CHANGES)
    for n in range(1, n_deeds + 1):
        for is_after in (False, True):
            root = tmp_path / f"{n}-{is_after}"
            host, before = machine(root)
            apply_changes(host, TreeWriter(host), wishes())
            fate = Fate(n, is_after)

            with pytest.raises(Died), fateful_journal(fate):
                take_back(host, DyingWriter(host, fate=fate))
            report = take_back(host)

            assert report.is_good, (n, report)
            assert machine_files(root) == before, n


def test_what_a_dead_apply_had_not_come_to_is_nobodys_business(tmp_path: Path) -> None:
    host, before = machine(tmp_path)
    fate = Fate(4)  # The journal, the first write; the line that says so is never written.
    with pytest.raises(Died), fateful_journal(fate):
        apply_changes(host, DyingWriter(host, fate=fate), wishes())
    put(tmp_path, SWAPPINESS, "10\n")  # By somebody, as taut would have done.

    assert take_back(host).is_good

    assert host.read(SWAPPINESS) == "10"
    put(tmp_path, SWAPPINESS, "60\n")
    assert machine_files(tmp_path) == before


def test_half_an_isolation_is_taken_away(tmp_path: Path) -> None:
    host, before = machine(tmp_path)
    setting: Setting = CpusetPartition("taut")
    fate = Fate(5)  # The journal twice, the controller, the folder; then the cores.

    with pytest.raises(Died), fateful_journal(fate):
        apply_changes(host, DyingWriter(host, fate=fate), wishes(Change(setting, "2-3")))
    assert setting.read(host) == "half made"

    assert take_back(host).is_good
    assert machine_files(tmp_path) == before


def _n_deeds_of_apply(root: Path) -> int:
    host, _ = machine(root)
    fate = Fate(0)
    with fateful_journal(fate):
        apply_changes(host, DyingWriter(host, fate=fate), wishes())
    return fate.n_done


def _n_deeds_of_undo(root: Path) -> int:
    host, _ = machine(root)
    apply_changes(host, TreeWriter(host), wishes())
    fate = Fate(0)
    with fateful_journal(fate):
        take_back(host, DyingWriter(host, fate=fate))
    return fate.n_done
