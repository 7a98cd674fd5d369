"""taut-trace on a core where known things happen: it saw them, then, and leaves nothing behind."""

import ctypes
import json
import mmap
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from taut.core.binaries import find_binary
from taut.records.clock import fit_of
from taut.records.layout import EVENT_KINDS, RecordKind
from taut.records.raw_file import open_raw
from traceable import skip_if_untraceable
from waiting import wait_for

pytestmark = [pytest.mark.smoke, pytest.mark.root]
CORES = sorted(os.sched_getaffinity(0))
TRACEFS = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
CLONE_NEWNS = 0x20000


def seen_tracefs() -> str:
    """Where this process sees tracefs: in a mount namespace of its own if nowhere else."""
    for folder in TRACEFS:
        if Path(folder, "instances").is_dir():
            return folder
    libc = ctypes.CDLL(None, use_errno=True)
    slave, recursive = 1 << 19, 1 << 14
    if (
        libc.unshare(CLONE_NEWNS) != 0
        or libc.mount(None, b"/", None, slave | recursive, None) != 0
        or libc.mount(b"tracefs", TRACEFS[0].encode(), b"tracefs", 0, None) != 0
    ):
        return ""
    return TRACEFS[0]


def instances() -> list[str]:
    """The trace instances there are, as a process of its own sees them: mounts stay with it."""
    code = (
        "import os, sys; sys.path[:0] = sys.argv[1].split(os.pathsep)\n"
        "import importlib.util as u\n"
        "spec = u.spec_from_file_location('test_trace', sys.argv[2])\n"
        "module = u.module_from_spec(spec); spec.loader.exec_module(module)\n"
        "folder = module.seen_tracefs()\n"
        "print('\\n'.join(os.listdir(folder + '/instances')) if folder else 'none')"
    )
    command = [sys.executable, "-c", code, os.pathsep.join(sys.path), __file__]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.split()


def instances_of(pid: int) -> list[str]:
    return [name for name in instances() if name.startswith(f"taut-{pid}-")]


@pytest.fixture(scope="module", autouse=True)
def _tracing_is_possible(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip, with the program's own reason, where it cannot have an instance."""
    out = tmp_path_factory.mktemp("probe")
    done = trace("--out", str(out), "--duration", "1ms")
    if done.returncode == 2:
        skip_if_untraceable(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr


def trace(*arguments: str, core: int = CORES[-1]) -> subprocess.CompletedProcess[str]:
    command = [str(find_binary("taut-trace")), "--cores", str(core), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@contextmanager
def tracing(*arguments: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run it in the background, armed."""
    command = [str(find_binary("taut-trace")), *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **options)
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if line.strip() == "taut-trace: armed":
                break
        else:
            pytest.fail("taut-trace ended before it was armed")
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str], out: Path) -> tuple[dict[str, Any], np.ndarray]:
    """End it as a run would, and give what it wrote."""
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    return json.loads((out / "trace.json").read_text()), events_of(out)


def events_of(out: Path) -> np.ndarray:
    chunks = list(open_raw(out / "events.bin", RecordKind.EVENT).chunks())
    return np.concatenate(chunks) if chunks else np.empty(0)


def of_kind(events: np.ndarray, kind: str) -> np.ndarray:
    return events[events["kind"] == EVENT_KINDS.index(kind)]


def mono_raw_ns_of(out: Path, events: np.ndarray) -> np.ndarray:
    header = open_raw(out / "events.bin", RecordKind.EVENT).header
    since = fit_of(header).times_ns(events["tsc"])
    return since + int(header["first"]["mono_raw_ns"])


def now_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


SPIN = (
    "import os, time; os.sched_setaffinity(0, {%d}); print('on', flush=True)\n"
    "until = time.monotonic() + 60\n"
    "while time.monotonic() < until: pass"
)


@contextmanager
def spinning(core: int) -> Iterator[subprocess.Popen[str]]:
    """A process that only computes, on one core, which it has whatever else the machine does."""
    process = subprocess.Popen(
        [sys.executable, "-c", SPIN % core], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "on"
        if len(CORES) > 1:
            os.sched_setscheduler(process.pid, os.SCHED_FIFO, os.sched_param(1))
        yield process
    finally:
        process.kill()
        process.communicate()


def switches_of_this_thread() -> int:
    """How often the kernel switched away from it: a sleep may end before it has given the core."""
    usage = resource.getrusage(resource.RUSAGE_THREAD)
    return usage.ru_nvcsw + usage.ru_nivcsw


def preempt(core: int, times: int) -> tuple[int, list[tuple[int, int]]]:
    """Take the core as SCHED_FIFO now and then; give the thread and when it slept in between."""
    sleeps: list[tuple[int, int]] = []
    tids: list[int] = []

    def run() -> None:
        tids.append(threading.get_native_id())
        # First its priority: on the core it would else wait for what the victim leaves to others.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(49))
        os.sched_setaffinity(0, {core})
        for _ in range(times):
            asleep, switches = now_ns(), switches_of_this_thread()
            time.sleep(0.005)
            switched, awake = switches_of_this_thread() > switches, now_ns()
            while now_ns() < awake + 200_000:
                pass
            if switched:
                sleeps.append((asleep, awake))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return tids[0], sleeps


@pytest.mark.timing
@pytest.mark.parametrize("clock", ["x86-tsc", "mono_raw"])
def test_every_preemption_is_there_at_its_time_with_names(tmp_path: Path, clock: str):
    core = CORES[-1]
    with spinning(core) as victim:
        arguments = ["--cores", str(core), "--threads", str(victim.pid), "--out", str(tmp_path)]
        arguments += ["--clock", clock]
        with tracing(*arguments) as process:
            fifo, sleeps = preempt(core, 40)
            document, events = ended(process, tmp_path)

    assert document["kernel"] == os.uname().release
    assert document["n_events"] == len(events) > 0
    assert document["lost"] == []
    assert (np.diff(events["tsc"].astype(np.int64)) >= 0).all()
    switches = of_kind(events, "switch")
    previous = switches["args"][:, 0] & 0xFFFFFFFF
    following = switches["args"][:, 1] & 0xFFFFFFFF
    # 99 - 49: priorities as the kernel counts; before it has its own it is as any thread.
    to_fifo = (following == fifo) & ((switches["args"][:, 1] >> 32) == 50)
    state = switches["args"][:, 0] >> 32
    times = mono_raw_ns_of(tmp_path, switches)
    # A hypervisor that takes the core at the wrong moment leaves nothing to sleep: seldom.
    assert len(sleeps) > 20
    last = [following[(times > asleep) & (times < awake)][-1] for asleep, awake in sleeps]
    # Real-time threads are throttled for 50 ms of each second: the core idles then, and the idle
    # task of some guests records no switch.
    assert set(last) <= {fifo, 0}
    assert last.count(fifo) > len(sleeps) / 2
    # The victim could run on (state R) and did not: that is a preemption.
    taken = to_fifo & (previous == victim.pid)
    assert taken.any()
    assert set(state[taken].tolist()) <= {0, 0x100}
    assert document["threads"][str(victim.pid)].startswith("python")
    ours = document["counters"]["after"]["threads"][str(victim.pid)]
    before = document["counters"]["before"]["threads"][str(victim.pid)]
    assert ours["nonvoluntary"] - before["nonvoluntary"] >= int(taken.sum()) * 0.9
    assert document["counters"]["after"]["interrupts"]["LOC"].keys() == {str(core)}


SHOOT = """
import mmap, os, sys, threading, time
core, other = int(sys.argv[1]), int(sys.argv[2])
def spin():
    os.sched_setaffinity(0, {core})
    while not done: pass
done = False
sys.setswitchinterval(0.0005)
thread = threading.Thread(target=spin); thread.start()
os.sched_setaffinity(0, {other})
print(os.getpid(), flush=True)
sys.stdin.readline()
for _ in range(200):
    area = mmap.mmap(-1, 8 * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    area[::4096] = b'x' * 8
    area.close()
    time.sleep(0.002)
done = True
thread.join()
print('done', flush=True)
"""


@pytest.mark.skipif(len(CORES) < 2, reason="needs two cores")
def test_a_tlb_shootdown_is_joined_to_who_sent_it(tmp_path: Path):
    core, other = CORES[-1], CORES[0]
    with subprocess.Popen(
        [sys.executable, "-c", SHOOT, str(core), str(other)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as sender:
        assert sender.stdin is not None
        assert sender.stdout is not None
        pid = int(sender.stdout.readline())
        with tracing("--cores", str(core), "--out", str(tmp_path)) as process:
            sender.stdin.write("go\n")
            sender.stdin.flush()
            assert sender.stdout.readline().strip() == "done"
            document, events = ended(process, tmp_path)

    if "csd/csd_function_entry" not in document["events"]:
        pytest.skip("this kernel has no csd events (Linux 6.5)")
    functions = {name: int(address) for address, name in document["functions"].items()}
    if "flush_tlb_func" not in functions:
        pytest.skip("no shootdown was sent by interrupt here")
    flush = functions["flush_tlb_func"]
    entries = of_kind(events, "call_entry")
    # Without a csd the sender runs the function itself, on its own core.
    entries = entries[(entries["args"][:, 1] == flush) & (entries["args"][:, 0] != 0)]
    queued = of_kind(events, "call_queue")
    queued = queued[queued["args"][:, 1] == flush]
    # Each that arrived was queued before on the same csd, mostly by the sender.
    joined = [
        queued[(queued["args"][:, 0] == entry["args"][0]) & (queued["tsc"] <= entry["tsc"])][-1:]
        for entry in entries
    ]
    assert all(len(found) == 1 for found in joined[1:])
    assert sum(found["thread"][0] == pid for found in joined[1:]) > 0
    assert document["threads"][str(pid)].startswith("python")


def test_faults_and_system_calls_are_those_of_the_watched_thread(tmp_path: Path):
    core = CORES[-1]
    os.sched_setaffinity(0, {core})
    try:
        tid = threading.get_native_id()
        with tracing(
            "--cores", str(core), "--threads", str(tid), "--out", str(tmp_path)
        ) as process:
            area = mmap.mmap(-1, 64 * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            area[::4096] = b"x" * 64
            document, events = ended(process, tmp_path)
    finally:
        os.sched_setaffinity(0, CORES)

    faults = of_kind(events, "page_fault")
    assert len(faults) >= 64 if "exceptions/page_fault_user" in document["events"] else True
    for kind in ("page_fault", "syscall_entry", "syscall_exit"):
        assert set(of_kind(events, kind)["thread"].tolist()) <= {tid}
    assert len(of_kind(events, "syscall_entry")) > 0
    grown = [document["counters"][when]["threads"][str(tid)] for when in ("before", "after")]
    assert grown[1]["minflt"] - grown[0]["minflt"] >= 64


def test_lost_events_are_spans_and_their_number_is_the_kernels(tmp_path: Path):
    core = CORES[-1]
    with tracing("--cores", str(core), "--out", str(tmp_path), "--buffer", "8KB") as process:
        # Who does not run does not read: the kernel's buffer overflows.
        process.send_signal(signal.SIGSTOP)
        preempt(core, 300)
        process.send_signal(signal.SIGCONT)
        document, events = ended(process, tmp_path)

    lost = of_kind(events, "lost")
    (kernels,) = [entry["n"] for entry in document["lost"] if entry["of"] == "core"]
    assert kernels > 0
    hole = lost[lost["cpu"] == core][0]
    assert document["armed_tsc"] <= hole["tsc"] < hole["args"][1] <= document["stopped_tsc"]
    inside = (events["tsc"] > hole["tsc"]) & (events["tsc"] < hole["args"][1])
    # What is aimed at the core is in another buffer, which lost nothing.
    aimed = [EVENT_KINDS.index(kind) for kind in ("call_queue", "ipi_send_for", "wakeup")]
    assert not (inside & (events["cpu"] == core) & ~np.isin(events["kind"], aimed)).any()


def test_nothing_stays_after_an_end_a_kill_or_the_kill_of_its_keeper(tmp_path: Path):
    arguments = ["--cores", str(CORES[-1]), "--out", str(tmp_path)]
    with tracing(*arguments) as process:
        assert len(instances_of(process.pid)) == 2
        ended(process, tmp_path)
        assert instances_of(process.pid) == []

    with tracing(*arguments) as process:
        process.kill()
        process.wait()
        wait_for("an end of its instances", lambda: instances_of(process.pid) == [])

    with tracing(*arguments) as process:
        os.kill(keeper_of(process.pid), signal.SIGKILL)
        process.kill()
        process.wait()
        assert len(instances_of(process.pid)) == 2
        trace("--out", str(tmp_path), "--duration", "1ms")
        assert instances_of(process.pid) == []


def keeper_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--cores", "9999"], "--cores 9999"),
        (["--buffer", "8"], "--buffer 8: wanted a size"),
        (["--threads", "me"], "--threads me: not thread numbers"),
        (["--events", "irqs"], "--events irqs: no such group; known are irq"),
        (["--out", "/proc/nowhere"], "--out /proc/nowhere"),
    ],
)
def test_bad_input_is_one_line_and_status_2(tmp_path: Path, arguments: list[str], words: str):
    options = {"--cores": "0", "--out": str(tmp_path), "--duration": "1ms"}
    options |= {arguments[0]: arguments[1]}
    command = [str(find_binary("taut-trace")), *(word for pair in options.items() for word in pair)]

    done = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
