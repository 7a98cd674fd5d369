import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from host_idle import NO_LIMIT, held, idle_files
from host_threads import stat_line
from host_tree import POLL, TreeWriter, judge, put, remedied
from taut.host.check import Profile, State
from taut.host.checks.runtime.cpu_dma_latency import CHECK
from taut.host.host import Host
from taut.host.settings.held_latency import PID_FILE
from taut.host.situation import Role

DEVICE = "/dev/cpu_dma_latency"
FREE = idle_files() | {DEVICE: held(NO_LIMIT)}


@dataclass(frozen=True)
class HolderWriter(TreeWriter):
    """Starts and ends a holder as `taut host hold` is one."""

    def start_process(self, argv: Sequence[str]) -> IO[bytes]:
        latency_us = int(argv[list(argv).index("--latency") + 1])
        put(self.host.root, "/proc/77/stat", stat_line(77, "taut"))
        put(self.host.root, PID_FILE, f"77 770 {latency_us}\n")
        put(self.host.root, DEVICE, held(latency_us))
        return io.BytesIO()

    def end_process(self, process: int) -> None:
        self._at(f"/proc/{process}/stat").unlink()
        self._at(PID_FILE).unlink()
        put(self.host.root, DEVICE, held(NO_LIMIT))


def test_nobody_holds_it_and_deep_states_are_open(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, FREE)

    assert finding.state is State.FAIL
    assert "no limit" in finding.observed
    assert "C6 (133 µs) open on 2-3" in finding.observed


def test_taut_holds_what_c1_takes(tmp_path: Path) -> None:
    judge(CHECK, tmp_path, FREE)

    with remedied(CHECK, tmp_path, writer=HolderWriter(Host(tmp_path))) as remedies:
        assert [change.wanted for change in remedies[0].changes] == ["2"]
        assert remedies[0].profile is Profile.EXTREME


def test_a_machine_without_limits_per_core_needs_the_holder(tmp_path: Path) -> None:
    files = {path: text for path, text in FREE.items() if "/power/" not in path}
    judge(CHECK, tmp_path, files)

    (remedy,) = CHECK.propose(Host(tmp_path), POLL)

    assert remedy.profile is Profile.RECOMMENDED


def test_the_one_who_holds_it_is_named(tmp_path: Path) -> None:
    put(tmp_path, "/proc/42/comm", "tuned\n")
    (tmp_path / "proc/42/fd").mkdir()
    (tmp_path / "proc/42/fd/7").symlink_to(DEVICE)

    finding = judge(CHECK, tmp_path, idle_files() | {DEVICE: held(2)})

    assert finding.state is State.PASS
    assert "tuned (42)" in finding.observed


def test_a_limit_that_leaves_c1e_open_is_not_enough(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, idle_files() | {DEVICE: held(10)})

    assert finding.state is State.FAIL
    assert "C1E (10 µs)" in finding.observed


def test_limits_of_the_cores_themselves_are_as_good(tmp_path: Path) -> None:
    files = idle_files(limit="n/a") | {DEVICE: held(NO_LIMIT)}

    assert judge(CHECK, tmp_path, files).state is State.PASS


def test_without_deep_states_there_is_nothing_to_hold(tmp_path: Path) -> None:
    shallow = idle_files(states=(("POLL", 0), ("C1", 2)))

    assert judge(CHECK, tmp_path, shallow).state is State.PASS


def test_a_machine_without_cpuidle_has_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {DEVICE: held(NO_LIMIT)}).state is State.NOT_APPLICABLE


def test_housekeeping_judges_every_core_and_a_guest_none(tmp_path: Path) -> None:
    housekeeping = replace(POLL, role=Role.HOUSEKEEPING, cores=())
    guest = replace(POLL, role=Role.KVM_GUEST)

    assert "open on 0-3" in judge(CHECK, tmp_path, FREE, housekeeping).observed
    assert judge(CHECK, tmp_path, FREE, guest).state is State.NOT_APPLICABLE


def test_what_is_no_number_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, FREE | {DEVICE: "lots of it"}).state is State.UNKNOWN
    assert judge(CHECK, tmp_path / "absent", idle_files()).state is State.UNKNOWN
