import errno
from pathlib import Path

import pytest

from host_tree import TreeWriter, put, tree
from taut.core.cpus import CpuSet
from taut.host.apply import Outcome, Wish, apply_changes
from taut.host.host import Host
from taut.host.journal import Journal
from taut.host.setting import Change
from taut.host.settings import FileSetting, PlacedFile, ThreadAffinity
from taut.host.undo import undo
from taut.host.verify import Standing, verify
from undone_machine import machine_files

STAT_INTERVAL = "/proc/sys/vm/stat_interval"
SWAPPINESS = "/proc/sys/vm/swappiness"
MASK = "/proc/irq/24/smp_affinity_list"
ONLINE = "/sys/devices/system/cpu/online"
SIBLING = "/sys/devices/system/cpu/cpu3/online"
BOOT = "/proc/sys/kernel/random/boot_id"
FILES = {
    "/etc/machine-id": "me\n",
    BOOT: "now\n",
    STAT_INTERVAL: "1\n",
    SWAPPINESS: "60\n",
    MASK: "0-3\n",
    "/proc/irq/24/effective_affinity_list": "2\n",
}
THREAD = {
    "/proc/50/stat": f"50 (worker) S {'0 ' * 18}7 0 0\n",
    "/proc/50/status": "Name:\tworker\nCpus_allowed_list:\t0-3\n",
}
AFFINITY = ThreadAffinity(50, "worker", 7)
INTERVAL = Wish("R06-now", Change(FileSetting(STAT_INTERVAL, "number"), "120"))
SWAP = Wish("R15-now", Change(FileSetting(SWAPPINESS, "number"), "10"))
IRQ = Wish("R02-now", Change(FileSetting(MASK, "list", may_refuse=True), "0"))


def test_changes_are_made_and_verified(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)

    report = apply_changes(host, TreeWriter(host), [INTERVAL, SWAP, IRQ])

    assert report.is_good
    assert [(result.old, result.in_force, result.outcome) for result in report.results] == [
        ("1\n", "120\n", Outcome.IN_FORCE),
        ("60\n", "10\n", Outcome.IN_FORCE),
        ("0-3\n", "0\n", Outcome.IN_FORCE),
    ]
    assert verify(host).is_good


def test_every_old_value_is_in_the_journal_before_the_first_write(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    seen = []

    class Looking(TreeWriter):
        def write_file(self, path: str, text: str) -> None:
            seen.append([entry.old for entry in Journal(self.host).load().entries])
            super().write_file(path, text)

    apply_changes(host, Looking(host), [INTERVAL, SWAP])

    assert seen[0] == ["1\n", "60\n"]


class Meddling(TreeWriter):
    """Somebody else writes to one setting whenever taut writes to another."""

    def write_file(self, path: str, text: str) -> None:
        super().write_file(path, text)
        if path == STAT_INTERVAL:
            put(self.host.root, SWAPPINESS, "33\n")


def test_what_somebody_else_changes_during_an_apply_is_what_undo_restores(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    before = machine_files(tmp_path)
    seen = []

    class Looking(Meddling):
        def write_file(self, path: str, text: str) -> None:
            seen.append({entry.setting.name: entry.old for entry in Journal(host).load().entries})
            super().write_file(path, text)

    report = apply_changes(host, Looking(host), [INTERVAL, SWAP])

    assert report.results[1].old == "33\n"
    # In the journal right before the write, not after.
    assert seen == [
        {STAT_INTERVAL: "1\n", SWAPPINESS: "60\n"},
        {STAT_INTERVAL: "1\n", SWAPPINESS: "33\n"},
    ]
    with Journal(host).locked():
        assert undo(host, TreeWriter(host), Journal(host)).is_good
    assert machine_files(tmp_path) == before | {str(tmp_path / SWAPPINESS[1:]): b"33\n"}


def test_what_an_earlier_change_moved_is_no_value_of_somebody_else(tmp_path: Path) -> None:
    nmi, soft = "/proc/sys/kernel/nmi_watchdog", "/proc/sys/kernel/soft_watchdog"
    host = tree(tmp_path, FILES | {nmi: "1\n", soft: "1\n"})
    before = machine_files(tmp_path)

    class Coupled(TreeWriter):
        """As kernel/watchdog.c would, if one moved the other."""

        def write_file(self, path: str, text: str) -> None:
            super().write_file(path, text)
            if path == nmi:
                put(self.host.root, soft, text)

    wishes = [Wish("K20-now", Change(FileSetting(path, "number"), "0")) for path in (nmi, soft)]
    wishes.append(Wish("K20-now", Change(FileSetting(SWAPPINESS, "number"), "10")))

    apply_changes(host, Coupled(host), wishes)
    with Journal(host).locked():
        assert undo(host, TreeWriter(host), Journal(host)).is_good

    assert machine_files(tmp_path) == before


def test_a_device_that_vanished_has_no_newer_value(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)

    class Unplugging(TreeWriter):
        def write_file(self, path: str, text: str) -> None:
            if path == MASK:
                raise FileNotFoundError(errno.ENOENT, "gone")
            super().write_file(path, text)
            (self.host.root / MASK[1:]).unlink()

    report = apply_changes(host, Unplugging(host), [INTERVAL, IRQ])

    assert [result.outcome for result in report.results] == [Outcome.IN_FORCE, Outcome.GONE]
    assert Journal(host).load().entries[1].old == "0-3\n"


def test_what_is_in_force_already_is_not_written(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES | {STAT_INTERVAL: "120\n"})

    report = apply_changes(host, TreeWriter(host), [INTERVAL])

    assert [result.outcome for result in report.results] == [Outcome.ALREADY]
    assert not Journal(host).is_there


# EIO: its driver manages it; EINVAL: its controller cannot move any; ENOSPC: the cores have no
# vector left for it.
@pytest.mark.parametrize("refusal", [errno.EIO, errno.EINVAL, errno.ENOSPC])
def test_an_interrupt_that_cannot_be_moved_is_no_failure(tmp_path: Path, refusal: int) -> None:
    host = tree(tmp_path, FILES)

    report = apply_changes(host, TreeWriter(host, refusals={MASK: refusal}), [IRQ, SWAP])

    assert [result.outcome for result in report.results] == [Outcome.UNMOVABLE, Outcome.IN_FORCE]
    assert report.is_good
    assert [one.standing for one in verify(host).changes] == [
        Standing.NOT_MADE,
        Standing.IN_FORCE,
    ]


def test_only_an_interrupt_may_refuse_a_value(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)

    report = apply_changes(host, TreeWriter(host, refusals={SWAPPINESS: errno.EINVAL}), [SWAP])

    assert [result.outcome for result in report.results] == [Outcome.FAILED]


def test_a_thread_with_a_deadline_stays_and_is_no_failure(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES | THREAD)
    move = Wish("R24-now", Change(AFFINITY, "0"))

    report = apply_changes(
        host, TreeWriter(host, refusals={"affinity 50": errno.EBUSY}), [move, SWAP]
    )

    assert [result.outcome for result in report.results] == [Outcome.UNMOVABLE, Outcome.IN_FORCE]
    assert "SCHED_DEADLINE" in report.results[0].note
    assert report.is_good


def test_a_failure_takes_back_what_was_done(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    before = machine_files(tmp_path)

    report = apply_changes(
        host, TreeWriter(host, refusals={SWAPPINESS: errno.EROFS}), [INTERVAL, SWAP, IRQ]
    )

    assert [result.outcome for result in report.results] == [Outcome.IN_FORCE, Outcome.FAILED]
    assert not report.is_good
    assert report.undone is not None
    assert report.undone.is_good
    assert machine_files(tmp_path) == before
    assert not Journal(host).is_there


def test_a_failure_takes_back_its_own_apply_only(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    apply_changes(host, TreeWriter(host), [INTERVAL])

    apply_changes(host, TreeWriter(host, refusals={SWAPPINESS: errno.EROFS}), [IRQ, SWAP])

    assert host.read(STAT_INTERVAL) == "120"
    assert host.read(MASK) == "0-3"
    assert [entry.setting for entry in Journal(host).load().entries] == [INTERVAL.change.setting]


def test_told_to_keep_going_the_rest_is_made(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    writer = TreeWriter(host, refusals={SWAPPINESS: errno.EROFS})

    report = apply_changes(host, writer, [SWAP, INTERVAL], keep_going=True)

    assert [result.outcome for result in report.results] == [Outcome.FAILED, Outcome.IN_FORCE]
    assert not report.is_good
    assert report.undone is None
    assert host.read(STAT_INTERVAL) == "120"


def test_a_value_the_kernel_changes_is_told(tmp_path: Path) -> None:
    class Clamping(TreeWriter):
        def write_file(self, path: str, text: str) -> None:
            super().write_file(path, "60\n" if text == "120\n" else text)

    host = tree(tmp_path, FILES)

    report = apply_changes(host, Clamping(host), [INTERVAL])

    assert report.results[0].outcome is Outcome.OTHER_VALUE
    assert report.results[0].in_force == "60\n"
    assert not report.is_good


def test_an_interrupt_that_has_not_moved_yet_is_told(tmp_path: Path) -> None:
    class Idle(TreeWriter):
        def _also(self, path: str, text: str) -> None:
            """It did not fire."""

    host = tree(tmp_path, FILES)

    report = apply_changes(host, Idle(host), [IRQ])

    assert report.is_good
    assert report.results[0].note == "0 on 2 until it next fires"


def test_what_vanished_meanwhile_is_no_failure(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    gone = Wish("R02-now", Change(FileSetting("/proc/irq/99/smp_affinity_list", "list"), "0"))
    thread = Wish("R22-now", Change(ThreadAffinity(50, "gone", 99), "0"))

    report = apply_changes(host, TreeWriter(host), [gone, thread, INTERVAL])

    assert {result.outcome for result in report.results} == {
        Outcome.GONE,
        Outcome.ALREADY,
        Outcome.IN_FORCE,
    }
    assert report.is_good


class OldKernel(TreeWriter):
    """As before Linux 6.2: a thread keeps, of the cores it is given, those that are online."""

    def write_file(self, path: str, text: str) -> None:
        super().write_file(path, text)
        if path == SIBLING:
            put(self.host.root, ONLINE, "0-2\n" if text == "0\n" else "0-3\n")

    def set_affinity(self, thread: int, cores: CpuSet) -> None:
        online = self.host.online_cores()
        super().set_affinity(thread, tuple(core for core in cores if core in online))


def test_a_thread_without_the_cores_that_the_same_apply_took_offline_is_fine(
    tmp_path: Path,
) -> None:
    host = tree(tmp_path, FILES | THREAD | {ONLINE: "0-3\n", SIBLING: "1\n"})
    sibling = Wish("HW03-now", Change(FileSetting(SIBLING, "number"), "0"))

    report = apply_changes(
        host, OldKernel(host), [sibling, Wish("R24-now", Change(AFFINITY, "0,2-3"))]
    )

    assert [result.outcome for result in report.results] == [Outcome.IN_FORCE] * 2
    assert AFFINITY.read(host) == "0,2"
    assert verify(host).is_good
    with Journal(host).locked():
        assert undo(host, OldKernel(host), Journal(host)).is_good
    assert AFFINITY.read(host) == "0-3"


def test_verify_tells_who_changed_what(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    placed = Wish("X01-boot", Change(PlacedFile("/etc/taut.conf"), "text\n"))
    apply_changes(host, TreeWriter(host), [INTERVAL, SWAP, placed])
    put(tmp_path, SWAPPINESS, "33\n")

    found = verify(host)

    assert not found.is_good
    assert [(one.standing, one.now) for one in found.changes] == [
        (Standing.IN_FORCE, "120\n"),
        (Standing.CHANGED, "33\n"),
        (Standing.IN_FORCE, "text\n"),
    ]


def test_verify_tells_what_a_reboot_took(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    placed = Wish("X01-boot", Change(PlacedFile("/etc/taut.conf"), "text\n"))
    apply_changes(host, TreeWriter(host), [INTERVAL, placed])
    put(tmp_path, STAT_INTERVAL, "1\n")
    put(tmp_path, BOOT, "later\n")

    assert [one.standing for one in verify(host).changes] == [Standing.LOST, Standing.IN_FORCE]


def test_after_a_reboot_the_old_journal_is_put_aside(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    apply_changes(host, TreeWriter(host), [INTERVAL])
    put(tmp_path, STAT_INTERVAL, "1\n")
    put(tmp_path, BOOT, "later\n")

    apply_changes(host, TreeWriter(host), [SWAP])

    assert [entry.setting for entry in Journal(host).load().entries] == [SWAP.change.setting]
    assert isinstance(host, Host)
