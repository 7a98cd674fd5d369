"""Knobs and sets of them: words in, states of the host out; what is no knob is one line."""

from pathlib import Path

import pytest

from host_tree import POLL, tree
from taut.core.errors import InputError
from taut.host.checks import CHECKS
from taut.host.host import Host
from taut.host.knob import find_knob, find_set, find_sets, split_set

PATH = "/proc/sys/vm/stat_interval"
FILES = {
    PATH: "1\n",
    "/proc/sys/kernel/watchdog": "1\n",
    "/proc/irq/24/smp_affinity_list": "0-3\n",
    "/sys/devices/system/cpu/online": "0-3\n",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "/proc/sys/kernel/random/boot_id": "b\n",
    "/etc/machine-id": "m\n",
}


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return tree(tmp_path, FILES)


def knob(word: str, host: Host):
    return find_knob(word, host, POLL, CHECKS)


def knob_set(word: str, host: Host):
    return find_set(word, 1, host, POLL, CHECKS)


def changes(word: str, host: Host):
    return {change.setting.name: change.wanted for change in knob_set(word, host).changes}


@pytest.mark.parametrize(
    ("word", "knobs"),
    [
        ("R24", ["R24"]),
        ("R24,K04-now", ["R24", "K04-now"]),
        ("R24,vm.stat_interval=10,cpuset", ["R24", "vm.stat_interval=10", "cpuset"]),
        (
            "/proc/irq/24/smp_affinity_list=0,2,R06",
            ["/proc/irq/24/smp_affinity_list=0,2", "R06"],
        ),
        ("R24,nonsense", ["R24", "nonsense"]),
    ],
)
def test_commas_join_a_set_and_stay_inside_of_a_value(word: str, knobs: list[str]):
    assert split_set(word) == knobs


def test_a_check_that_fails_gives_its_remedy_and_what_is_known_of_it(host: Host):
    found = knob("R06", host)

    assert found.only == "R06"
    assert found.why
    assert changes("R06", host) == {PATH: "120"}


def test_one_remedy_can_be_named(host: Host):
    assert changes("R06-now", host) == {PATH: "120"}
    for name in ("R06-never", "R06-"):
        with pytest.raises(InputError, match=rf"{name}: no such remedy; R06 proposes R06-now"):
            knob(name, host)


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
        ("R6", "did you mean R"),
        ("stat_interval", "KEY=VALUE"),
        ("vm.stat_interval=1", "is 1 already"),
        ("vm.stat_interval=", "is 1 already"),
        ("vm.none=1", "no /proc/sys/vm/none"),
        ("/etc/machine-id=x", "not a sysctl"),
        ("/proc/sys/../../etc/machine-id=x", "not a sysctl"),
        ("/proc/irq/24/smp_affinity_list=7", "names no core that is online"),
        ("/proc/irq/24/smp_affinity_list=x", "names no core that is online"),
        ("SCHED_FIFO", "`command`, with `chrt -f N PROGRAM`"),
        ("R06,sched_fifo:7", "`command`, with `chrt -f N PROGRAM`"),
        ("cpuset", "no cpuset control group"),
        ("R06,", "no check's or remedy's id"),
        ("R06,R06", "named twice"),
        ("R06,vm.stat_interval=10", "is set by two of its knobs"),
        ("vm.stat_interval=5,vm.stat_interval=10", "is set by two of its knobs"),
    ],
)
def test_what_is_no_knob_or_set_is_refused_in_one_line(host: Host, word: str, said: str):
    with pytest.raises(InputError, match=said) as raised:
        knob_set(word, host)

    assert "\n" not in str(raised.value)


def test_a_set_is_one_state_of_the_host(host: Host):
    found = knob_set("R06,kernel.watchdog=0", host)

    assert found.state.name == "R06,kernel.watchdog=0"
    assert found.state.only == ("R06",)
    assert [change.wanted for change in found.state.changes] == ["0"]
    assert changes("R06,kernel.watchdog=0", host) == {PATH: "120", "/proc/sys/kernel/watchdog": "0"}


def test_a_word_that_cannot_name_a_folder_is_numbered(host: Host):
    assert knob_set(f"{PATH}=10", host).state.name == "set 1"


def test_a_set_in_which_no_run_could_be_measured_is_refused(host: Host, tmp_path: Path):
    tree(tmp_path, {"/sys/fs/cgroup/cgroup.controllers": "cpuset cpu\n"})

    with pytest.raises(InputError, match=r"^host 'R06,cpuset': .*lets in whole programs alone"):
        knob_set("R06,cpuset", host)


def test_sets_that_do_the_same_are_refused(host: Host):
    two = find_sets(["R06", "kernel.watchdog=0"], host, POLL, CHECKS)
    assert [one.state.name for one in two] == ["R06", "kernel.watchdog=0"]

    with pytest.raises(InputError, match="change the same settings"):
        find_sets(["R06", "vm.stat_interval=120"], host, POLL, CHECKS)


def test_statistics_of_memory_sleep_on_and_the_reader_is_told(host: Host):
    (note,) = knob_set("R06", host).notes
    assert "underestimated" in note
    assert knob_set("kernel.watchdog=0", host).notes == []
