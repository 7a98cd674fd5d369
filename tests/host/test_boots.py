"""What a journal is like over several boots, in each of which a unit applies again."""

import errno
from pathlib import Path

import pytest

from dying_writer import Died, DyingWriter, Fate, fateful_journal
from host_tree import TreeWriter, put, snapshot, tree
from taut.host.apply import Wish, apply_changes
from taut.host.host import Host
from taut.host.journal import Journal
from taut.host.setting import Change
from taut.host.settings import FileSetting, PlacedFile
from taut.host.undo import UndoReport, undo
from taut.host.verify import verify

SWAPPINESS = "/proc/sys/vm/swappiness"
KEPT, NEW = "/etc/kernel/cmdline", "/etc/systemd/system/taut.service"
BOOT = "/proc/sys/kernel/random/boot_id"
FILES = {
    "/etc/machine-id": "me\n",
    BOOT: "boot 0\n",
    SWAPPINESS: "60\n",
    KEPT: "quiet\n",
}
NOW = Wish("R01-now", Change(FileSetting(SWAPPINESS, "number"), "10"))
PLACED = [
    Wish("boot", Change(PlacedFile(KEPT), "quiet isolcpus=1\n")),
    Wish("boot", Change(PlacedFile(NEW), "[Service]\n")),
]


def booted(root: Path, n: int) -> Host:
    """Give a machine that applied for boot, and booted n times; each time its unit applied."""
    host = tree(root, FILES)
    apply_changes(host, TreeWriter(host), [NOW, *PLACED])
    for number in range(1, n + 1):
        reboot(root, number)
        apply_changes(host, TreeWriter(host), [NOW])
    return host


def reboot(root: Path, number: int) -> None:
    put(root, BOOT, f"boot {number}\n")
    put(root, SWAPPINESS, "60\n")


def take_back(host: Host, *, only_files: bool) -> UndoReport:
    journal = Journal(host)
    with journal.locked():
        return undo(host, TreeWriter(host), journal, only_files=only_files)


def of_etc(root: Path) -> dict[str, bytes]:
    return snapshot(root / "etc")


def test_many_boots_later_undo_gives_the_files_their_first_text(tmp_path: Path) -> None:
    before = of_etc(tree(tmp_path, FILES).root)
    host = booted(tmp_path, 5)
    assert host.read(KEPT) == "quiet isolcpus=1"

    report = take_back(host, only_files=False)

    assert report.is_good
    assert report.by_reboot == []
    assert of_etc(tmp_path) == before
    assert not (tmp_path / "etc/systemd").exists()
    assert host.read(SWAPPINESS) == "60"
    assert not Journal(host).is_there


def test_the_journal_is_as_long_after_twenty_boots_as_after_one(tmp_path: Path) -> None:
    host = booted(tmp_path / "one", 1)
    after_one = Journal(host).path.read_text().count("\n")
    host = booted(tmp_path / "twenty", 20)
    assert Journal(host).path.read_text().count("\n") == after_one

    changes = verify(host).changes
    assert {change.standing for change in changes} == {"in force"}
    assert len(changes) == 3


def test_applies_that_fail_at_every_boot_do_not_make_the_journal_longer(tmp_path: Path) -> None:
    host = booted(tmp_path, 1)
    lengths = []
    for number in range(2, 6):
        reboot(tmp_path, number)
        apply_changes(host, TreeWriter(host, refusals={SWAPPINESS: errno.EINVAL}), [NOW])
        lengths.append(Journal(host).path.read_text().count("\n"))

    assert len(set(lengths[1:])) == 1
    assert take_back(host, only_files=False).is_good
    assert host.read(KEPT) == "quiet"


def test_of_applies_that_reboots_took_back_whole_only_some_are_kept(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    for number in range(15):
        reboot(tmp_path, number)
        apply_changes(host, TreeWriter(host), [NOW])

    assert len(list(Journal(host).folder.glob("journal.rebooted-*"))) == 10


def test_files_are_taken_back_alone_and_what_runs_stays(tmp_path: Path) -> None:
    before = of_etc(tree(tmp_path, FILES).root)
    host = booted(tmp_path, 2)
    report = take_back(host, only_files=True)

    assert report.is_good
    assert {setting.name for setting in report.restored} == {KEPT, NEW}
    assert of_etc(tmp_path) == before
    assert host.read(SWAPPINESS) == "10"
    assert take_back(host, only_files=True).was_empty
    assert take_back(host, only_files=False).is_good
    assert host.read(SWAPPINESS) == "60"
    assert not Journal(host).is_there


def test_files_alone_in_the_journal_put_it_aside_when_they_go(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    apply_changes(host, TreeWriter(host), PLACED)

    assert take_back(host, only_files=True).archive is not None
    assert not Journal(host).is_there


def test_a_file_somebody_changed_stays_and_so_does_the_journal(tmp_path: Path) -> None:
    host = booted(tmp_path, 1)
    put(tmp_path, KEPT, "mine\n")
    journal = Journal(host).path.read_bytes()

    report = take_back(host, only_files=True)

    assert [one.setting.name for one in report.strangers] == [KEPT]
    assert host.read(NEW) is not None
    assert Journal(host).path.read_bytes() == journal


def test_a_value_somebody_changed_does_not_keep_files_from_going(tmp_path: Path) -> None:
    host = booted(tmp_path, 1)
    put(tmp_path, SWAPPINESS, "33\n")

    assert take_back(host, only_files=True).is_good

    assert host.read(KEPT) == "quiet"
    assert host.read(SWAPPINESS) == "33"


def test_files_placed_twice_go_back_to_the_text_before_the_first(tmp_path: Path) -> None:
    host = booted(tmp_path, 1)
    again = Wish("boot", Change(PlacedFile(KEPT), "quiet isolcpus=2\n"))
    apply_changes(host, TreeWriter(host), [again])
    reboot(tmp_path, 2)
    apply_changes(host, TreeWriter(host), [NOW])

    assert take_back(host, only_files=True).is_good

    assert host.read(KEPT) == "quiet"


def test_lines_that_cannot_be_read_leave_the_journal_where_it_is(tmp_path: Path) -> None:
    host = booted(tmp_path, 1)
    with Journal(host).path.open("a") as file:
        file.write("nonsense\n")

    report = take_back(host, only_files=True)

    assert not report.is_good
    assert host.read(KEPT) == "quiet"
    assert Journal(host).is_there


@pytest.mark.parametrize("is_after", [False, True])
def test_whenever_undo_of_files_dies_another_ends_it(tmp_path: Path, *, is_after: bool) -> None:
    fate = Fate(0)
    _undo_files(booted(tmp_path / "whole", 1), fate)
    assert fate.n_done > len(PLACED)
    for n in range(1, fate.n_done + 1):
        root = tmp_path / str(n)
        before = of_etc(tree(root, FILES).root)
        host = booted(root, 1)

        with pytest.raises(Died):
            _undo_files(host, Fate(n, is_after))

        assert take_back(host, only_files=True).is_good, n
        assert of_etc(root) == before, n
        assert host.read(SWAPPINESS) == "10"


def _undo_files(host: Host, fate: Fate) -> None:
    with fateful_journal(fate):
        undo(host, DyingWriter(host, fate=fate), Journal(host), only_files=True)
