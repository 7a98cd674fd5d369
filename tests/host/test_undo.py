import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from dying_writer import Died, DyingWriter, Fate, fateful_journal
from host_tree import TreeWriter, put, snapshot, tree
from taut.core.errors import InputError
from taut.host.apply import Outcome, Wish, apply_changes
from taut.host.host import Host
from taut.host.journal import Journal
from taut.host.journal_lines import make_line
from taut.host.setting import Change, Setting
from taut.host.settings import (
    CpusetPartition,
    FileSetting,
    HeldLatency,
    PlacedFile,
    ThreadAffinity,
    ThreadScheduler,
)
from taut.host.undo import UndoReport, undo
from taut.host.writer import Writer
from taut.records.documents.journal import RECORDS
from taut.records.documents.json_form import parse

STAT_INTERVAL = "/proc/sys/vm/stat_interval"
SWAPPINESS = "/proc/sys/vm/swappiness"
MASK = "/proc/irq/24/smp_affinity"
CONF = "/etc/taut.d/deep/90-taut.conf"
BOOT = "/proc/sys/kernel/random/boot_id"
FILES = {
    "/etc/machine-id": "0123456789abcdef\n",
    BOOT: "first\n",
    STAT_INTERVAL: "1\n",
    SWAPPINESS: "60\n",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "/proc/sys/vm/min_free_kbytes": "67584\n",
    MASK: "0000000f\n",
    "/proc/irq/24/smp_affinity_list": "0-3\n",
    "/proc/irq/24/effective_affinity_list": "2\n",
    "/proc/irq/24/effective_affinity": "00000004\n",
    "/proc/50/stat": "50 (kswapd0) S " + "1 " * 18 + "99 0 0 " + "0 " * 15 + "0 0\n",
    "/proc/50/status": "Name:\tkswapd0\nCpus_allowed_list:\t0-3\n",
    "/sys/fs/cgroup/cgroup.controllers": "cpuset cpu\n",
    "/sys/fs/cgroup/cgroup.subtree_control": "cpu\n",
    "/etc/kept": "",
    "/run/kept": "",
    "/run/taut-host/kept": "",
    "/proc/4711/kept": "",
}
CHANGES = (
    Change(FileSetting(STAT_INTERVAL, "number"), "120"),
    Change(FileSetting("/sys/kernel/mm/transparent_hugepage/enabled", "choice"), "never"),
    Change(FileSetting(MASK, "mask", may_refuse=True), "1"),
    Change(ThreadAffinity(50, "kswapd0", 99), "0-1"),
    Change(ThreadScheduler(50, "kswapd0", 99), "fifo 2"),
    Change(CpusetPartition("taut"), "2-3"),
    Change(HeldLatency(), "0"),
    Change(PlacedFile(CONF), "vm.stat_interval = 120\n"),
    Change(FileSetting(SWAPPINESS, "number"), "10"),
)


def wishes(*changes: Change) -> list[Wish]:
    return [Wish(f"X{number:02}-now", change) for number, change in enumerate(changes or CHANGES)]


def machine(root: Path) -> tuple[Host, dict[str, bytes]]:
    host = tree(root, FILES)
    return host, machine_files(root)


def machine_files(root: Path) -> dict[str, bytes]:
    """Give everything but taut's own journal."""
    own = str(root / "var/lib/taut")
    return {path: text for path, text in snapshot(root).items() if not path.startswith(own)}


def take_back(host: Host, writer: Writer | None = None, *, force: bool = False) -> UndoReport:
    journal = Journal(host)
    with journal.locked():
        return undo(host, writer or TreeWriter(host), journal, force=force)


def test_undo_restores_everything_byte_for_byte(tmp_path: Path) -> None:
    host, before = machine(tmp_path)

    applied = apply_changes(host, TreeWriter(host), wishes())
    during = machine_files(tmp_path)
    report = take_back(host)

    assert [result.outcome for result in applied.results] == [Outcome.IN_FORCE] * len(CHANGES)
    assert during != before
    assert report.is_good
    assert machine_files(tmp_path) == before
    assert not (tmp_path / "etc/taut.d").exists()
    assert not Journal(host).is_there


def test_an_interrupt_comes_back_to_the_core_that_served_it(tmp_path: Path) -> None:
    host, _ = machine(tmp_path)

    apply_changes(host, TreeWriter(host), wishes())
    take_back(host, TreeWriter(host))

    assert host.read("/proc/irq/24/effective_affinity_list") == "2"
    assert host.read_exactly(MASK) == "0000000f\n"


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


def test_cores_that_an_isolation_took_from_a_thread_come_back(tmp_path: Path) -> None:
    host, before = machine(tmp_path)
    status = "/proc/50/status"

    class Isolating(TreeWriter):
        """As the kernel: threads of other groups lose the cores of a partition."""

        def make_folder(self, path: str) -> None:
            super().make_folder(path)
            put(self.host.root, status, "Name:\tkswapd0\nCpus_allowed_list:\t0-1\n")

    apply_changes(host, Isolating(host), wishes(CHANGES[5], Change(CHANGES[3].setting, "0")))

    assert take_back(host).is_good
    assert machine_files(tmp_path) == before


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


def test_a_journal_of_an_older_taut_is_undone(tmp_path: Path) -> None:
    host, before = machine(tmp_path)
    apply_changes(host, TreeWriter(host), wishes())
    path = Journal(host).path
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    older = [line for line in lines if line["record"] not in ("writing", "settled")]
    for line in older:
        line.pop("sum")
        if line["record"] == "header":
            line["format"] = 1
    path.write_text("".join(make_line(parse(RECORDS[r["record"]], r, "older")) for r in older))

    assert take_back(host).is_good
    assert machine_files(tmp_path) == before


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


def test_a_second_undo_has_nothing_to_do(tmp_path: Path) -> None:
    host, _ = machine(tmp_path)
    apply_changes(host, TreeWriter(host), wishes())
    take_back(host)

    report = take_back(host)

    assert report.was_empty
    assert report.is_good


def test_two_applies_are_undone_to_the_values_before_the_first(tmp_path: Path) -> None:
    host, before = machine(tmp_path)
    apply_changes(host, TreeWriter(host), wishes())
    other = Change(FileSetting(STAT_INTERVAL, "number"), "60")
    apply_changes(host, TreeWriter(host), wishes(other))
    assert host.read(STAT_INTERVAL) == "60"

    assert take_back(host).is_good
    assert machine_files(tmp_path) == before


def test_a_value_somebody_changed_keeps_undo_from_writing_anything(tmp_path: Path) -> None:
    host, before = machine(tmp_path)
    apply_changes(host, TreeWriter(host), wishes())
    put(tmp_path, SWAPPINESS, "33\n")
    during = machine_files(tmp_path)

    report = take_back(host)

    assert report.is_refused
    assert not report.is_good
    assert [(one.setting.name, one.in_force) for one in report.strangers] == [(SWAPPINESS, "33\n")]
    assert machine_files(tmp_path) == during
    assert take_back(host, force=True).is_good
    assert machine_files(tmp_path) == before


def test_a_value_somebody_changed_between_two_applies_is_told(tmp_path: Path) -> None:
    host, _ = machine(tmp_path)
    setting = FileSetting(SWAPPINESS, "number")
    apply_changes(host, TreeWriter(host), wishes(Change(setting, "10")))
    put(tmp_path, SWAPPINESS, "33\n")
    apply_changes(host, TreeWriter(host), wishes(Change(setting, "0")))

    assert [one.setting for one in take_back(host).strangers] == [setting]


def test_what_moved_with_a_setting_and_was_changed_since_is_told(tmp_path: Path) -> None:
    host, _ = machine(tmp_path)
    apply_changes(host, TreeWriter(host), wishes())
    put(tmp_path, "/proc/sys/vm/min_free_kbytes", "90000\n")

    report = take_back(host)

    assert [one.setting.name for one in report.strangers] == ["/proc/sys/vm/min_free_kbytes"]


def test_what_the_kernel_moved_with_a_setting_is_restored(tmp_path: Path) -> None:
    host, before = machine(tmp_path)

    class Kernel(TreeWriter):
        def write_file(self, path: str, text: str) -> None:
            super().write_file(path, text)
            if "transparent_hugepage" in path and "never" in text:
                put(self.host.root, "/proc/sys/vm/min_free_kbytes", "11000\n")

    apply_changes(host, Kernel(host), wishes())
    assert host.read("/proc/sys/vm/min_free_kbytes") == "11000"

    assert take_back(host, Kernel(host)).is_good
    assert machine_files(tmp_path) == before


def test_after_a_reboot_only_files_are_undone_and_the_rest_is_told(tmp_path: Path) -> None:
    host, _ = machine(tmp_path)
    apply_changes(host, TreeWriter(host), wishes())
    put(tmp_path, BOOT, "second\n")
    put(tmp_path, SWAPPINESS, "33\n")  # The new boot's own value: nobody's fault.
    put(tmp_path, STAT_INTERVAL, "1\n")

    report = take_back(host)

    assert report.is_good
    assert len(report.by_reboot) == len(CHANGES) - 1
    assert host.read(SWAPPINESS) == "33"
    assert not host.is_there(CONF)


def test_a_journal_of_another_machine_is_refused(tmp_path: Path) -> None:
    host, _ = machine(tmp_path)
    apply_changes(host, TreeWriter(host), wishes())
    put(tmp_path, "/etc/machine-id", "another\n")
    during = machine_files(tmp_path)

    with pytest.raises(InputError, match="another machine"):
        take_back(host)
    assert machine_files(tmp_path) == during


@pytest.mark.parametrize("damage", ["flip", "zero", "remove"])
def test_a_corrupt_line_is_named_and_the_rest_restored(tmp_path: Path, damage: str) -> None:
    n_lines = _n_lines_of_journal(tmp_path / "whole")
    for number in range(1, n_lines + 1):
        root = tmp_path / str(number)
        host, before = machine(root)
        apply_changes(host, TreeWriter(host), wishes())
        _damage(Journal(host).path, number, damage)

        report = take_back(host)

        after = machine_files(root)
        changed = {path for path in before | after if before.get(path) != after.get(path)}
        is_change = 2 <= number <= len(CHANGES) + 1
        if is_change:
            assert not report.is_good
            assert report.complaints
            # What that line told of stays as taut put it; nothing else.
            assert len(changed) <= 8, (number, changed)
        else:
            assert not changed, (number, report)
        if damage != "remove":
            assert f"line {number} " in report.complaints[0]
        if report.complaints:
            assert Journal(host).is_there
            assert take_back(host, force=True).archive is not None


def test_a_line_a_crash_tore_costs_nothing(tmp_path: Path) -> None:
    host, before = machine(tmp_path)
    apply_changes(host, TreeWriter(host), wishes())
    path = Journal(host).path
    path.write_bytes(path.read_bytes()[:-30])

    report = take_back(host)

    assert report.is_good
    assert machine_files(tmp_path) == before


def test_a_thread_that_ended_is_nothing_to_restore(tmp_path: Path) -> None:
    host, _ = machine(tmp_path)
    apply_changes(host, TreeWriter(host), wishes())
    (tmp_path / "proc/50/stat").unlink()
    (tmp_path / "proc/50/status").unlink()

    report = take_back(host)

    assert report.is_good
    assert len(report.gone) == 2


def test_a_value_that_cannot_be_put_back_is_told_and_the_journal_stays(tmp_path: Path) -> None:
    host, _ = machine(tmp_path)
    apply_changes(host, TreeWriter(host), wishes())
    writer = TreeWriter(host, refusals={SWAPPINESS: 30})

    report = take_back(host, writer)

    assert [one.setting.name for one in report.failed] == [SWAPPINESS]
    assert Journal(host).is_there
    assert host.read(STAT_INTERVAL) == "1"
    assert take_back(host).is_good


def test_a_reserve_of_pages_that_a_kill_stopped_halfway_is_ours(tmp_path: Path) -> None:
    host, before = machine(tmp_path)
    path = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
    put(tmp_path, path, "0\n")
    pages = Change(FileSetting(path, "number"), "512")

    class Killed(TreeWriter):
        def write_file(self, path: str, text: str) -> None:
            super().write_file(path, "124\n")
            raise Died

    with pytest.raises(Died):
        apply_changes(host, Killed(host), wishes(pages))

    assert take_back(host).is_good
    assert host.read(path) == "0"
    assert before.items() <= machine_files(tmp_path).items()


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


def _n_lines_of_journal(root: Path) -> int:
    host, _ = machine(root)
    apply_changes(host, TreeWriter(host), wishes())
    return Journal(host).path.read_text().count("\n")


def _damage(path: Path, number: int, how: str) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    line = lines[number - 1]
    middle = len(line) // 2
    lines[number - 1] = {
        "flip": line[:middle] + bytes([line[middle] ^ 1]) + line[middle + 1 :],
        "zero": b"\0" * (len(line) - 1) + b"\n",
        "remove": b"",
    }[how]
    path.write_bytes(b"".join(lines))


def test_entries_of_one_setting_in_one_apply_count_once(tmp_path: Path) -> None:
    host, _ = machine(tmp_path)
    first = Change(FileSetting(SWAPPINESS, "number"), "10")

    report = apply_changes(host, TreeWriter(host), wishes(first, replace(first, wanted="0")))

    assert len(report.results) == 1
    assert host.read(SWAPPINESS) == "10"
