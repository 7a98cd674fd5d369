"""taut-inject: each cause does what it says, and what it made is gone."""

import json
import os
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

from taut.core.binaries import find_binary
from taut.records.layout import GAP_THREADS, RecordKind
from taut.records.raw_file import open_raw
from taut.testbed.leftovers import remove_leftovers
from waiting import blocks, ran_s, state_of, wait_for

pytestmark = pytest.mark.smoke

CORES = sorted(os.sched_getaffinity(0))
CORE = CORES[-1]
CPU_GROUPS = [Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")]

two_cores = pytest.mark.skipif(len(CORES) < 2, reason="acts from another CPU")

FROM_AFAR = ["tlb-shootdown", "membarrier", "reschedule", "timer", "page-fault", "syscall",
             "stopped"]  # fmt: skip
AS_ROOT = ["function-call", "softirq", "fifo-preemption"]
ROWS = {
    "tlb-shootdown": ("/proc/interrupts", "TLB:"),
    "membarrier": ("/proc/interrupts", "CAL:"),
    "function-call": ("/proc/interrupts", "CAL:"),
    "reschedule": ("/proc/interrupts", "RES:"),
    "timer": ("/proc/interrupts", "LOC:"),
    "softirq": ("/proc/softirqs", "NET_RX:"),
}
"""Where the kernel counts what a cause sends, a column per CPU."""


WHOLE = ["page-fault", "syscall", "fifo-preemption"]
"""What is noted is what the poller did not run, to the tick."""


LOOP_TICKS = 2000


def command(*arguments: str) -> list[str]:
    return [str(find_binary("taut-inject")), *arguments]


def run(*arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command(*arguments), capture_output=True, text=True, timeout=60)
    if done.returncode == 2 != status and "no its own" in done.stderr:
        # A machine (a chroot, a container) that gives a process no mounts of its own.
        pytest.skip(done.stderr.strip())
    assert done.returncode == status, done.stderr
    return done


def inject(cause: str, out: Path, rate: str = "100/s", duration: str = "500ms", *more: str) -> dict:
    done = run(cause, "--core", str(CORE), "--rate", rate, "--duration", duration,
               "--out", str(out), "--json", *more)  # fmt: skip
    document = json.loads(done.stdout)
    assert document == json.loads((out / "inject.json").read_text())
    return document


def records(path: Path, kind: RecordKind) -> np.ndarray:
    chunks = list(open_raw(path, kind).chunks())
    return np.concatenate(chunks) if chunks else np.empty(0, open_raw(path, kind).dtype)


def row(path: str, name: str, core: int = CORE) -> int:
    lines = Path(path).read_text().splitlines()
    column = lines[0].split().index(f"CPU{core}")
    (line,) = [line.split() for line in lines[1:] if line.split()[0] == name]
    return int(line[1 + column])


def felt(injections: np.ndarray, gaps: np.ndarray) -> int:
    at = np.searchsorted(gaps["end_tsc"], injections["start_tsc"])
    at = np.minimum(at, len(gaps) - 1)
    ends_later = gaps["end_tsc"][at] >= injections["start_tsc"]
    return int((ends_later & (gaps["start_tsc"][at] <= injections["end_tsc"])).sum())


def contained(injections: np.ndarray, gaps: np.ndarray) -> float:
    """Share of the acts that lie in one gap from beginning to end.

    A core that is never quiet has a gap near any time; only this tells that it was ours. Who loses
    the core between reading the clock and saying so has said the reading before: one loop's time.
    """
    starts = injections["start_tsc"] + np.uint64(LOOP_TICKS)
    at = np.searchsorted(gaps["start_tsc"], starts, side="right") - 1
    ends = gaps["end_tsc"][np.maximum(at, 0)]
    return float(((at >= 0) & (ends >= injections["end_tsc"])).mean())


def check_truth(document: dict, out: Path, cause: str) -> None:
    injections = records(out / "injections.bin", RecordKind.INJECTION)
    gaps = records(out / "gaps.bin", RecordKind.GAP)
    assert document["cause"] == cause
    assert document["polled"] is True
    assert document["records"] == len(injections) >= document["sent"] > 0
    assert (injections["cause"] == document["causes"].index(cause)).all()
    assert (injections["end_tsc"] >= injections["start_tsc"]).all()
    assert (np.diff(injections["start_tsc"].astype(np.int64)) > 0).all()
    assert injections["start_tsc"][0] >= document["start_tsc"]
    assert injections["end_tsc"][-1] <= document["end_tsc"]
    assert set(injections["thread"]) <= set(document["threads"].values())
    assert (gaps["thread"] == GAP_THREADS.index("noise")).all()
    assert len(gaps) == document["gaps"]["n"]
    assert felt(injections, gaps) == document["felt"]


@pytest.mark.timing
@two_cores
@pytest.mark.parametrize(
    "cause", [*FROM_AFAR, *(pytest.param(name, marks=pytest.mark.root) for name in AS_ROOT)]
)
def test_the_poller_feels_what_was_sent(tmp_path: Path, cause: str):
    before = row(*ROWS[cause]) if cause in ROWS else 0

    document = inject(cause, tmp_path)

    check_truth(document, tmp_path, cause)
    # A page fault may be served faster than the threshold; on a busy machine an act now and then
    # finds the poller's vCPU away.
    assert document["felt"] >= 0.9 * document["records"]
    if cause in WHOLE:
        injections = records(tmp_path / "injections.bin", RecordKind.INJECTION)
        assert contained(injections, records(tmp_path / "gaps.bin", RecordKind.GAP)) >= 0.95
    if cause in ROWS:
        # Cores are counted separately, other causes are counted too: at least as many.
        assert row(*ROWS[cause]) - before >= 0.9 * document["sent"]


@pytest.mark.timing
def test_a_hog_takes_the_core_for_as_long_as_it_says(tmp_path: Path):
    document = inject("preemption:length=300us", tmp_path, "50/s", "1s")

    check_truth(document, tmp_path, "preemption")
    injections = records(tmp_path / "injections.bin", RecordKind.INJECTION)
    us = (injections["end_tsc"] - injections["start_tsc"]) * 1e6 / document["nominal_tsc_hz"]
    # Where the scheduler gave the core back in between an act is several stretches.
    assert np.median(us) >= 290
    gaps = records(tmp_path / "gaps.bin", RecordKind.GAP)
    # At the end of a stretch the victim may have run between two looks at it.
    assert contained(injections, gaps) >= 0.95


@pytest.mark.timing
@pytest.mark.root
@two_cores
def test_throttling_is_what_the_kernel_counted_and_its_group_is_gone(tmp_path: Path):
    document = inject("throttled:length=10ms", tmp_path, "20/s", "2s")

    check_truth(document, tmp_path, "throttled")
    injections = records(tmp_path / "injections.bin", RecordKind.INJECTION)
    ns = (injections["end_tsc"] - injections["start_tsc"]) * 1e9 / document["nominal_tsc_hz"]
    assert (ns <= injections["arg"] + 2).all()
    gaps = records(tmp_path / "gaps.bin", RecordKind.GAP)
    assert contained(injections, gaps) >= 0.95
    assert groups_left() == []


@pytest.mark.root
@two_cores
def test_another_process_is_throttled_when_told_and_back_in_its_group_after(tmp_path: Path):
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as victim:
        os.sched_setaffinity(victim.pid, {CORE})
        home = group_of(victim.pid)
        throttled = ["throttled", "--core", str(CORE), "--victim", str(victim.pid), "--wait"]
        throttled += ["--rate", "20/s", "--duration", "2s", "--out", str(tmp_path)]
        with subprocess.Popen(command(*throttled)) as injector:
            wait_for("a group for the victim", lambda: group_of(victim.pid) != home)
            injector.send_signal(signal.SIGUSR1)
            status = injector.wait(timeout=60)
        back = group_of(victim.pid)
        victim.kill()

    assert (status, back, groups_left()) == (0, home, [])
    document = json.loads((tmp_path / "inject.json").read_text())
    assert document["sent"] + document["not_sent"] + document["overdue"] > 0
    assert document["records"] == document["sent"] > 0


def group_of(pid: int) -> str:
    """Of the cpu controller, whichever version has it."""
    lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    groups = {names: path for _, names, path in (line.split(":", 2) for line in lines)}
    own = [path for names, path in groups.items() if "cpu" in names.split(",")]
    return own[0] if own else groups[""]


def groups_left() -> list[Path]:
    """Groups of the dead: a process that lives, anybody's, needs its own."""
    found = [path for folder in CPU_GROUPS for path in folder.glob("taut-inject-*")]
    return [path for path in found if not Path("/proc", path.name.split("-")[2]).exists()]


@two_cores
def test_of_acts_behind_the_last_gap_kept_nobody_says_that_they_were_not_felt(tmp_path: Path):
    few = ("--records", "2")
    document = inject("membarrier", tmp_path, "100/s", "2s", *few)
    asked = ("membarrier", "--core", str(CORE), "--rate", "100/s", "--duration", "2s")
    said = run(*asked, *few).stdout

    assert document["gaps"]["not_logged"] > 0
    assert document["felt"] is None
    assert " of the first " in said
    assert said.endswith(" gaps had no room: --records\n")


@two_cores
def test_the_rate_is_exact(tmp_path: Path):
    document = inject("membarrier", tmp_path, "200/s", "500ms", "--seed", "3")

    assert document["rate_per_s"] == 200
    # The last may lie behind the end, by the jitter.
    assert document["sent"] + document["not_sent"] + document["overdue"] in (99, 100)


def spawn_victim() -> subprocess.Popen[bytes]:
    # In the foreground of a terminal it would not be stopped.
    return subprocess.Popen(["sleep", "60"], start_new_session=True)


@pytest.fixture
def victim():
    process = spawn_victim()
    yield process
    process.kill()
    process.wait()


@two_cores
@pytest.mark.parametrize("cause", ["stopped", "measurer-stall"])
def test_another_process_is_stopped_and_goes_on(tmp_path: Path, victim, cause: str):
    more = ("--victim", str(victim.pid))
    document = inject(f"{cause}:length=1ms", tmp_path, "50/s", "2s", *more)

    assert document["polled"] is False
    assert document["sent"] > 0
    assert document["victim_pid"] == victim.pid
    assert not (tmp_path / "gaps.bin").exists()
    injections = records(tmp_path / "injections.bin", RecordKind.INJECTION)
    assert (injections["arg"] == victim.pid).all()
    us = (injections["end_tsc"] - injections["start_tsc"]) * 1e6 / document["nominal_tsc_hz"]
    assert us.min() >= 1000
    assert state_of(victim.pid) != "T"


@two_cores
def test_without_a_core_it_acts_on_that_of_the_victim(tmp_path: Path, victim):
    os.sched_setaffinity(victim.pid, {CORES[0]})

    done = run("preemption", "--victim", str(victim.pid), "--duration", "100ms", "--json")

    assert json.loads(done.stdout)["core"] == CORES[0]


@two_cores
def test_a_victim_goes_on_though_the_injector_is_killed(victim):
    process = subprocess.Popen(
        command("stopped:length=10s", "--rate", "10/s", "--victim", str(victim.pid))
    )
    wait_for("a stop", lambda: state_of(victim.pid) == "T")

    process.kill()
    process.wait()

    wait_for("its end", lambda: state_of(victim.pid) != "T")


@pytest.fixture
def throttler(victim):
    """Throttles the victim, which is in its group."""
    home = group_of(victim.pid)
    process = subprocess.Popen(
        command("throttled", "--core", str(CORE), "--duration", "60s", "--victim", str(victim.pid))
    )
    wait_for("a group for the victim", lambda: group_of(victim.pid) != home)
    yield process
    process.kill()
    process.wait()


@pytest.mark.root
@two_cores
def test_a_victim_is_back_in_its_group_though_the_injector_is_killed(victim, throttler):
    throttler.kill()
    throttler.wait()

    wait_for("the end of the group", lambda: groups_left() == [])
    assert group_of(victim.pid) == group_of(os.getpid())


@pytest.mark.root
@two_cores
@pytest.mark.parametrize("who", ["the next", "the clean-up"])
def test_a_victim_that_was_left_in_a_group_is_let_go(tmp_path: Path, victim, throttler, who: str):
    [keeper] = children_of(throttler.pid)
    os.kill(keeper, signal.SIGKILL)
    throttler.kill()
    throttler.wait()
    assert "taut-inject" in group_of(victim.pid)

    if who == "the next":
        inject("throttled", tmp_path, "20/s", "200ms")
    else:
        remove_leftovers()

    assert groups_left() == []
    assert "taut-inject" not in group_of(victim.pid)


@two_cores
def test_the_end_of_the_victim_is_the_end(tmp_path: Path):
    victim = spawn_victim()
    process = subprocess.Popen(
        command("stopped", "--victim", str(victim.pid), "--duration", "30s", "--json",
                "--out", str(tmp_path)),
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_for("a stop", lambda: state_of(victim.pid) == "T")
    victim.kill()
    victim.wait()

    out, _ = process.communicate(timeout=60)

    assert json.loads(out)["stop"] == "victim"
    assert process.returncode == 0


@two_cores
@pytest.mark.parametrize("cause", ["tlb-shootdown", "stopped", "fifo-preemption", "preemption"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_early_with_what_was_injected(tmp_path: Path, cause: str, number):
    if cause == "fifo-preemption" and os.geteuid() != 0:
        pytest.skip("needs root")
    process = subprocess.Popen(
        command(cause, "--duration", "60s", "--out", str(tmp_path), "--json"),
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    # It keeps signals waiting from its beginning on; then it acts while its poller runs.
    wait_for("its beginning", lambda: blocks(process.pid, signal.SIGUSR1))
    before = polled_s(process.pid)
    wait_for("its acts", lambda: polled_s(process.pid) - before > 0.5)
    process.send_signal(number)

    out, _ = process.communicate(timeout=60)

    assert process.returncode == 130
    document = json.loads(out)
    assert document["stop"] == "signal"
    check_truth(document, tmp_path, cause)


def polled_s(pid: int) -> float:
    """How long it ran, with its poller: a thread of it, or a child."""
    return sum(ran_s(of) for of in (pid, *children_of(pid)))


def children_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@two_cores
def test_a_polling_child_dies_with_its_killed_parent():
    process = subprocess.Popen(command("stopped", "--duration", "60s"), stdout=subprocess.DEVNULL)
    wait_for("a child", lambda: children_of(process.pid) != [])
    (child,) = children_of(process.pid)

    process.kill()
    process.wait()

    wait_for("its end", lambda: not Path(f"/proc/{child}").exists())


@pytest.mark.root
@two_cores
def test_the_group_of_a_killed_one_is_removed_by_the_next(tmp_path: Path):
    process = subprocess.Popen(command("throttled", "--duration", "60s"))
    wait_for("a group", lambda: any(of.glob(f"taut-inject-{process.pid}*") for of in CPU_GROUPS))
    process.kill()
    process.wait()

    inject("throttled", tmp_path, "20/s", "200ms")

    assert groups_left() == []
