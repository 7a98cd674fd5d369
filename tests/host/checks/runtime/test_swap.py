from dataclasses import replace
from pathlib import Path

from host_commands import CommandWriter
from host_tree import POLL, judge, remedied
from taut.host.boot.item import Sysctl
from taut.host.check import Profile, State
from taut.host.checks.runtime.swap import CHECK
from taut.host.host import Host
from taut.host.situation import Role

SWAPS = "/proc/swaps"
SWAPPINESS = "/proc/sys/vm/swappiness"
NONE = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
ONE = f"{NONE}/dev/sda2 partition 1000 0 -2\n"
POLLER = replace(POLL, processes=(500,))


def status(locked_kb: int, resident_kb: int) -> dict[str, str]:
    lines = f"Name:\tpoller\nVmLck:\t{locked_kb} kB\nVmRSS:\t{resident_kb} kB\n"
    return {"/proc/500/status": lines}


def test_without_swap_nothing_else_counts(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {SWAPS: NONE, SWAPPINESS: "60\n"})

    assert finding.state is State.PASS
    assert finding.observed == "no swap"


def test_swap_is_switched_off(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {SWAPS: ONE, SWAPPINESS: "60\n"})
    assert finding.state is State.FAIL
    assert "swap on /dev/sda2, swappiness 60" in finding.observed

    with remedied(CHECK, tmp_path, writer=CommandWriter(Host(tmp_path))) as remedies:
        names = [remedy.id for remedy in remedies]
        assert names == ["R15-now", "R15-now-2", "R15-boot", "R15-by-hand"]
        assert remedies[0].profile is Profile.EXTREME
        assert remedies[1].changes[0].wanted == "10"
        assert remedies[2].boot == (Sysctl("vm.swappiness", "10"),)


def test_locked_pollers_and_a_reluctant_kernel_pass(tmp_path: Path) -> None:
    files = {SWAPS: ONE, SWAPPINESS: "10\n"} | status(5000, 4000)

    assert judge(CHECK, tmp_path, files, POLLER).state is State.PASS


def test_locked_pollers_alone_do_not(tmp_path: Path) -> None:
    files = {SWAPS: ONE, SWAPPINESS: "11\n"} | status(5000, 4000)

    assert judge(CHECK, tmp_path, files, POLLER).state is State.FAIL


def test_a_poller_that_is_not_locked_is_named(tmp_path: Path) -> None:
    files = {SWAPS: ONE, SWAPPINESS: "10\n"} | status(64, 4000)

    finding = judge(CHECK, tmp_path, files, POLLER)

    assert finding.state is State.FAIL
    assert "not locked: process 500" in finding.observed


def test_a_status_that_cannot_be_read_is_no_lock(tmp_path: Path) -> None:
    files = {SWAPS: ONE, SWAPPINESS: "1\n", "/proc/500/status": "VmLck: lots\n"}

    assert judge(CHECK, tmp_path, files, POLLER).state is State.FAIL


def test_compressed_swap_is_said(tmp_path: Path) -> None:
    files = {SWAPS: ONE, "/sys/module/zswap/parameters/enabled": "Y\n"}

    assert "zswap" in judge(CHECK, tmp_path, files).observed


def test_a_container_that_may_not_swap_passes(tmp_path: Path) -> None:
    container = replace(POLL, role=Role.CONTAINER)
    assert judge(CHECK, tmp_path, {SWAPS: ONE}, container).state is State.FAIL
    assert CHECK.propose(Host(tmp_path), container)[0].id == "R15-by-hand"

    files = {SWAPS: ONE, "/sys/fs/cgroup/memory.swap.max": "0\n"}
    assert judge(CHECK, tmp_path, files, container).state is State.PASS


def test_a_kernel_without_swap_has_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE


def test_what_is_no_table_is_unknown(tmp_path: Path) -> None:
    for text in ("", "swap: off\n", "\x80\x00\n"):
        assert judge(CHECK, tmp_path, {SWAPS: text}).state is State.UNKNOWN, text


def test_what_is_swapped_out_must_fit_into_memory(tmp_path: Path) -> None:
    files = {
        SWAPS: f"{NONE}/dev/sda2 partition 4000000 600000 -2\n/f file 4000000 300000 -3\n",
        SWAPPINESS: "60\n",
        "/proc/meminfo": "MemTotal: 4000000 kB\nMemAvailable: 1200000 kB\n",
    }

    finding = judge(CHECK, tmp_path, files)
    remedies = {remedy.id: remedy for remedy in CHECK.propose(Host(tmp_path), POLL)}

    assert "878 MB of it in use" in finding.observed
    assert "R15-now" not in remedies
    assert "1171 MB are available" in remedies["R15-by-hand"].by_hand
