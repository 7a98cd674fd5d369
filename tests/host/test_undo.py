import json
from dataclasses import replace
from pathlib import Path

import pytest

from dying_writer import Died
from host_commands import CommandWriter
from host_tree import TreeWriter, put
from taut.core.cpus import CpuSet
from taut.core.errors import InputError
from taut.host.apply import Outcome, apply_changes
from taut.host.host import Host
from taut.host.journal import Journal
from taut.host.journal_lines import make_line
from taut.host.setting import Change
from taut.host.settings import EthtoolSetting, FileSetting
from taut.records.documents.journal import RECORDS
from taut.records.documents.json_form import parse
from undone_machine import (
    BOOT,
    CHANGES,
    CONF,
    MASK,
    STAT_INTERVAL,
    SWAPPINESS,
    machine,
    machine_files,
    take_back,
    wishes,
)

POLICY = "/sys/devices/system/cpu/cpufreq/policy3"
LOWEST = f"{POLICY}/scaling_min_freq"
GOVERN = Change(FileSetting(f"{POLICY}/scaling_governor"), "performance")
RAISE = Change(FileSetting(LOWEST, "number"), "3200000")


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


class Governing(TreeWriter):
    """As some drivers: a new governor starts from the lowest frequency it knows."""

    def write_file(self, path: str, text: str) -> None:
        super().write_file(path, text)
        if path.endswith("/scaling_governor"):
            put(self.host.root, LOWEST, "400000\n")


def governed(root: Path, *changes: Change) -> tuple[Host, dict[str, bytes]]:
    """Give a machine on which each change was an apply of its own."""
    put(root, GOVERN.setting.name, "powersave\n")
    put(root, LOWEST, "800000\n")
    host, before = machine(root)
    for change in changes:
        apply_changes(host, Governing(host), wishes(change))
    return host, before


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("changes", [(GOVERN, RAISE), (RAISE, GOVERN)])
def test_what_one_apply_moved_and_another_wrote_is_taken_back(
    tmp_path: Path, changes: tuple[Change, ...], *, force: bool
) -> None:
    host, before = governed(tmp_path, *changes)

    assert take_back(host, Governing(host), force=force).is_good
    assert machine_files(tmp_path) == before


@pytest.mark.parametrize("changes", [(GOVERN, RAISE), (RAISE, GOVERN)])
def test_what_two_applies_moved_and_somebody_changed_since_is_told_once(
    tmp_path: Path, changes: tuple[Change, ...]
) -> None:
    host, _ = governed(tmp_path, *changes)
    put(tmp_path, LOWEST, "1000000\n")

    report = take_back(host, Governing(host))

    assert [(one.setting.name, one.in_force) for one in report.strangers] == [(LOWEST, "1000000\n")]


def test_an_option_that_a_later_one_may_move_and_somebody_changed_is_told(tmp_path: Path) -> None:
    host, _ = machine(tmp_path)
    shown = "/commands/ethtool -c eth0"
    put(tmp_path, shown, "Adaptive RX: on  TX: on\nrx-usecs: 8\n")
    delay, adaptive = (EthtoolSetting("eth0", "coalesce", x) for x in ("rx-usecs", "adaptive-rx"))
    both = wishes(Change(delay, "0"), Change(adaptive, "off"))
    assert apply_changes(host, CommandWriter(host), both).is_good
    put(tmp_path, shown, (host.read_exactly(shown) or "").replace("rx-usecs: 0", "rx-usecs: 5"))

    assert [one.setting for one in take_back(host).strangers] == [delay]
    assert take_back(host, CommandWriter(host), force=True).is_good
    assert host.read(shown) == "Adaptive RX: on  TX: on\nrx-usecs: 8"


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
    alone = [_changed_by(tmp_path / f"alone {n}", change) for n, change in enumerate(CHANGES)]
    for number in range(1, n_lines + 1):
        root = tmp_path / str(number)
        host, before = machine(root)
        apply_changes(host, TreeWriter(host), wishes())
        _damage(Journal(host).path, number, damage)

        report = take_back(host)

        changed = _changed(root, before)
        is_change = 2 <= number <= len(CHANGES) + 1
        if is_change:
            assert not report.is_good
            assert report.complaints
            # What that line told of stays as taut put it; nothing else.
            assert changed == alone[number - 2], number
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


class OldKernel(TreeWriter):
    """As before Linux 6.2: a thread keeps, of the cores it is given, those that are online."""

    def set_affinity(self, thread: int, cores: CpuSet) -> None:
        online = self.host.online_cores()
        super().set_affinity(thread, tuple(core for core in cores if core in online))


@pytest.mark.parametrize("now_online", ["0-3", "0-2"])
def test_a_thread_that_gets_its_online_cores_is_as_before(tmp_path: Path, now_online: str) -> None:
    host, _ = machine(tmp_path)
    put(tmp_path, "/sys/devices/system/cpu/online", "0-3\n")
    put(tmp_path, "/proc/50/status", "Name:\tkswapd0\nCpus_allowed_list:\t0-7\n")
    apply_changes(host, OldKernel(host), wishes(CHANGES[3]))
    put(tmp_path, "/sys/devices/system/cpu/online", f"{now_online}\n")

    report = take_back(host, OldKernel(host))

    assert report.is_good
    assert report.archive is not None
    assert host.fields("/proc/50/status")["Cpus_allowed_list"] == now_online


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


def _n_lines_of_journal(root: Path) -> int:
    host, _ = machine(root)
    apply_changes(host, TreeWriter(host), wishes())
    return Journal(host).path.read_text().count("\n")


def _changed(root: Path, before: dict[str, bytes]) -> set[str]:
    after = machine_files(root)
    changed = {path for path in before | after if before.get(path) != after.get(path)}
    return {path.removeprefix(str(root)) for path in changed}


def _changed_by(root: Path, change: Change) -> set[str]:
    host, before = machine(root)
    apply_changes(host, TreeWriter(host), wishes(change))
    return _changed(root, before)


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
