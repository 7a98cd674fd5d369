import os
import signal
import threading
from pathlib import Path

import pytest

from host_tree import POLL, TreeWriter, snapshot, tree
from taut.core.errors import InputError, TautError
from taut.host.checks.runtime import vm_stat_interval
from taut.host.host import Host
from taut.host.journal import FOLDER
from taut.host.knob import find_knob, launcher, settle_s, turned_on

PATH = "/proc/sys/vm/stat_interval"
FILES = {
    PATH: "1\n",
    "/proc/sys/kernel/watchdog": "1\n",
    "/proc/irq/24/smp_affinity_list": "0-3\n",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "/proc/sys/kernel/random/boot_id": "b\n",
    "/etc/machine-id": "m\n",
}
CHECKS = (vm_stat_interval.CHECK,)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return tree(tmp_path, FILES)


def knob(word: str, host: Host):
    return find_knob(word, host, POLL, CHECKS)


def test_a_check_that_fails_gives_its_remedy_and_what_is_known_of_it(host: Host):
    found = knob("R06", host)

    (change,) = found.changes
    assert (change.setting.name, change.wanted) == (PATH, "120")
    assert found.why == vm_stat_interval.CHECK.why


def test_a_check_that_passes_has_nothing_to_turn_on(host: Host, tmp_path: Path):
    tree(tmp_path, {PATH: "20\n"})

    with pytest.raises(InputError, match=r"as wanted already.*KEY=VALUE"):
        knob("R06", host)


def test_a_check_that_cannot_tell_says_so(host: Host, tmp_path: Path):
    tree(tmp_path, {PATH: "soon\n"})

    with pytest.raises(InputError, match="R06: UNKNOWN"):
        knob("R06", host)


@pytest.mark.parametrize(
    ("word", "path", "form", "value"),
    [
        ("vm.stat_interval=10", PATH, "number", "10"),
        (f"{PATH}=10", PATH, "number", "10"),
        ("/proc/irq/24/smp_affinity_list=0", "/proc/irq/24/smp_affinity_list", "list", "0"),
        (
            "/sys/kernel/mm/transparent_hugepage/enabled=never",
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "choice",
            "never",
        ),
    ],
)
def test_a_file_is_named_by_key_or_path(host: Host, word: str, path: str, form: str, value: str):
    (change,) = knob(word, host).changes

    assert (change.setting.path, change.setting.form, change.wanted) == (path, form, value)


def test_only_interrupts_may_refuse(host: Host):
    assert knob("/proc/irq/24/smp_affinity_list=0", host).changes[0].setting.may_refuse
    assert not knob("kernel.watchdog=0", host).changes[0].setting.may_refuse


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("R6", "did you mean R06"),
        ("stat_interval", "KEY=VALUE"),
        ("vm.stat_interval=1", "is 1 already"),
        ("vm.stat_interval=", "is 1 already"),
        ("vm.none=1", "no /proc/sys/vm/none"),
        ("/etc/machine-id=x", "not a sysctl"),
        ("/proc/sys/../../etc/machine-id=x", "not a sysctl"),
        ("SCHED_FIFO:0", "1 to 99"),
        ("SCHED_FIFO:100", "1 to 99"),
        ("cpuset", "no cpuset control group"),
    ],
)
def test_what_is_no_knob_is_refused_in_one_line(host: Host, word: str, said: str):
    with pytest.raises(InputError, match=said) as raised:
        knob(word, host)

    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(("word", "priority"), [("SCHED_FIFO", 50), ("sched_fifo:7", 7)])
def test_a_priority_of_the_poller_changes_nothing_on_the_machine(host, word, priority):
    found = knob(word, host)

    assert found.priority == priority
    assert not found.changes


def test_knobs_are_on_inside_and_as_before_afterwards(host: Host, tmp_path: Path):
    before = snapshot(tmp_path)
    knobs = [knob("R06", host), knob("kernel.watchdog=0", host)]

    with turned_on(knobs, host, TreeWriter(host), "effect-1"):
        assert host.read(PATH) == "120"
        assert host.read("/proc/sys/kernel/watchdog") == "0"

    after = snapshot(tmp_path)
    after.pop(str(tmp_path / FOLDER.lstrip("/") / "lock"))
    assert after == before


def test_an_error_inside_takes_them_back(host: Host):
    with (
        pytest.raises(KeyboardInterrupt),
        turned_on([knob("R06", host)], host, TreeWriter(host), "effect-1"),
    ):
        raise KeyboardInterrupt

    assert host.read(PATH) == "1"


def test_what_others_applied_before_stays(host: Host):
    writer = TreeWriter(host)
    with turned_on([knob("kernel.watchdog=0", host)], host, writer, "theirs"):
        with turned_on([knob("R06", host)], host, writer, "effect-1"):
            pass
        assert host.read(PATH) == "1"
        assert host.read("/proc/sys/kernel/watchdog") == "0"

    assert host.read("/proc/sys/kernel/watchdog") == "1"


def test_a_change_that_fails_measures_nothing_and_leaves_nothing(host: Host):
    writer = TreeWriter(host, {"/proc/sys/kernel/watchdog": 22})

    with (
        pytest.raises(TautError, match="not turned on: /proc/sys/kernel/watchdog"),
        turned_on([knob("R06", host), knob("kernel.watchdog=0", host)], host, writer, "e"),
    ):
        pytest.fail("measured")

    assert host.read(PATH) == "1"


def test_ctrl_c_waits_also_when_another_thread_could_take_the_signal(host: Host):
    """As libraries have them: a mask of this thread alone would let it through."""
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        test_ctrl_c_in_the_middle_of_a_change_waits_for_its_end(host)
    finally:
        done.set()
        other.join()


def test_what_nothing_would_change_is_not_measured(host: Host):
    writer = TreeWriter(host, {"/proc/irq/24/smp_affinity_list": 5})

    with (
        pytest.raises(TautError, match="nothing to turn on: every change is unmovable"),
        turned_on([knob("/proc/irq/24/smp_affinity_list=0", host)], host, writer, "e"),
    ):
        pytest.fail("measured")


def test_a_value_somebody_else_changed_meanwhile_is_said(host: Host, tmp_path: Path):
    with (
        pytest.raises(TautError, match="changed by somebody else"),
        turned_on([knob("R06", host)], host, TreeWriter(host), "e"),
    ):
        tree(tmp_path, {PATH: "77\n"})

    assert host.read(PATH) == "77"


def test_ctrl_c_in_the_middle_of_a_change_waits_for_its_end(host: Host):
    class Interrupted(TreeWriter):
        def write_file(self, path: str, text: str) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            super().write_file(path, text)

    with (
        pytest.raises(KeyboardInterrupt),
        turned_on([knob("R06", host)], host, Interrupted(host), "e"),
    ):
        pytest.fail("measured")

    assert host.read(PATH) == "1"


def test_statistics_of_memory_settle_as_long_as_they_slept(host: Host):
    assert settle_s([knob("vm.stat_interval=10", host)], host, 0.5) == (2.0, 11.0)
    assert settle_s([knob("kernel.watchdog=0", host)], host, 0.5) == (0.5, 0.5)


def test_a_program_starts_in_the_group_of_a_partition(host: Host, tmp_path: Path):
    tree(tmp_path, {"/sys/fs/cgroup/cgroup.controllers": "cpuset cpu\n"})

    words = launcher([knob("cpuset", host)], host)

    assert words[0] == "sh"
    assert words[-1] == "/sys/fs/cgroup/taut-effect/cgroup.procs"
    assert launcher([knob("R06", host)], host) == ()
