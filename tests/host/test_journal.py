from pathlib import Path

import pytest

from host_tree import TreeWriter, put, tree
from taut.core.errors import TautError
from taut.host.apply import Wish, apply_changes
from taut.host.host import Host
from taut.host.journal import Journal
from taut.host.journal_lines import Kept
from taut.host.setting import Change, Setting
from taut.host.settings import (
    KINDS,
    CpusetController,
    CpusetPartition,
    EthtoolSetting,
    FileSetting,
    HeldLatency,
    IrqPlacement,
    PlacedFile,
    PlacedFolder,
    ResctrlGroup,
    ResctrlSchemata,
    SwapArea,
    SystemdUnit,
    ThreadAffinity,
    ThreadScheduler,
)
from taut.host.settings.file import FileSetting as File

FILES = {"/etc/machine-id": "me\n", "/proc/sys/kernel/random/boot_id": "now\n"}
SETTINGS: tuple[Setting, ...] = (
    CpusetController(),
    CpusetPartition("taut"),
    EthtoolSetting("eth0", "eee", "eee"),
    FileSetting("/proc/sys/vm/swappiness", "number", may_refuse=True),
    HeldLatency(),
    IrqPlacement(24),
    PlacedFile("/etc/taut.conf"),
    PlacedFolder("/etc/taut"),
    ResctrlGroup("taut"),
    ResctrlSchemata(),
    SwapArea("/dev/sda2"),
    SystemdUnit("irqbalance.service"),
    ThreadAffinity(50, "kswapd0", 99),
    ThreadScheduler(50, "a (strange) name", 99),
)


def record(setting: Setting, old: str | None) -> tuple[str, Kept, str, tuple[Kept, ...]]:
    return "X01-now", Kept(setting, old), "wanted", (Kept(IrqPlacement(3), "0 on 0"),)


def test_every_kind_of_setting_comes_back_from_the_journal(tmp_path: Path) -> None:
    journal = Journal(tree(tmp_path, FILES))
    assert {setting.kind for setting in SETTINGS} >= set(KINDS)

    with journal.locked():
        entries = journal.begin([record(setting, "old\n") for setting in SETTINGS])

    assert list(journal.load().entries) == entries
    assert [entry.setting for entry in entries] == list(SETTINGS)


@pytest.mark.parametrize("old", [None, "", "\n", "a\tb\n\n", "\udcff\udc00", "\0", "é"])
def test_old_values_come_back_byte_for_byte(tmp_path: Path, old: str | None) -> None:
    journal = Journal(tree(tmp_path, FILES))

    with journal.locked():
        journal.begin([record(SETTINGS[3], old)])

    assert journal.load().entries[0].old == old


def test_what_became_of_a_change_is_told_by_later_lines(tmp_path: Path) -> None:
    journal = Journal(tree(tmp_path, FILES))
    with journal.locked():
        (entry,) = journal.begin([record(SETTINGS[3], "60\n")])

        assert not journal.load().entries[0].is_written
        journal.wrote(entry)
        journal.undoing(entry)
        journal.settled(entry.generation)

    found = journal.load().entries[0]
    assert (found.is_written, found.is_undoing, found.is_settled) == (True, True, True)


def test_a_second_apply_is_another_generation(tmp_path: Path) -> None:
    journal = Journal(tree(tmp_path, FILES))

    with journal.locked():
        journal.begin([record(SETTINGS[3], "60\n")])
        journal.begin([record(SETTINGS[3], "10\n")])

    assert [(entry.generation, entry.old) for entry in journal.load().entries] == [
        (1, "60\n"),
        (2, "10\n"),
    ]


def test_a_generation_that_is_undone_is_no_longer_told(tmp_path: Path) -> None:
    journal = Journal(tree(tmp_path, FILES))

    with journal.locked():
        journal.begin([record(SETTINGS[3], "60\n")])
        journal.begin([record(SETTINGS[4], None)])
        journal.undone(1)

    contents = journal.load()
    assert [entry.generation for entry in contents.entries] == [2]
    assert contents.last_generation == 2


def test_a_torn_last_line_is_cut_before_the_next(tmp_path: Path) -> None:
    journal = Journal(tree(tmp_path, FILES))
    with journal.locked():
        (entry,) = journal.begin([record(SETTINGS[3], "60\n")])
        with journal.path.open("a") as file:
            file.write('{"record": "wro')
        assert not journal.load().complaints
        journal.wrote(entry)

    contents = journal.load()
    assert not contents.complaints
    assert contents.entries[0].is_written


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "[1, 2]",
        "null",
        '{"record": "header"}',
        '{"record": "wrote", "generation": 1, "index": 0, "sum": "0123456789abcdef"}',
        "\0\0\0\0",
        "",
    ],
)
def test_any_nonsense_is_a_corrupt_line_with_its_number(tmp_path: Path, line: str) -> None:
    journal = Journal(tree(tmp_path, FILES))
    with journal.locked():
        journal.begin([record(SETTINGS[3], "60\n")])
    with journal.path.open("a") as file:
        file.write(line + "\n")

    contents = journal.load()

    assert len(contents.entries) == 1
    assert contents.complaints[0].startswith("line 3 of the journal is corrupt")


def test_a_journal_that_is_all_nonsense_has_no_entries(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    put(tmp_path, "/var/lib/taut/host/journal", "\udcff\udcfe\n" * 3)

    contents = Journal(host).load()

    assert not contents.entries
    assert len(contents.complaints) == 3


def test_apply_does_not_go_on_with_a_corrupt_journal(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES | {"/proc/sys/vm/swappiness": "60\n"})
    put(tmp_path, "/var/lib/taut/host/journal", "nonsense\n")

    with pytest.raises(TautError, match=r"line 1 .* corrupt"):
        apply_changes(host, TreeWriter(host), [_wish()])
    assert host.read("/proc/sys/vm/swappiness") == "60"


def test_two_cannot_write_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taut.host.journal._LOCK_WAIT_S", 0.0)
    host = tree(tmp_path, FILES)

    with (
        Journal(host).locked(),
        pytest.raises(TautError, match="is at work"),
        Journal(Host(tmp_path)).locked(),
    ):
        pass


def test_only_some_archives_are_kept(tmp_path: Path) -> None:
    journal = Journal(tree(tmp_path, FILES))

    with journal.locked():
        for _ in range(15):
            journal.begin([record(SETTINGS[3], "60\n")])
            journal.archive("undone")

    assert len(list(journal.folder.glob("journal.undone-*"))) == 10


def _wish() -> Wish:
    return Wish("X01-now", Change(File("/proc/sys/vm/swappiness", "number"), "10"))
