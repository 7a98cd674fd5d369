import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from taut.host.host import Host
from taut.host.situation import TraceEvent
from taut.host.threads import start_ticks
from taut.host.trace_sample import is_under_way, missing_events, parse_trace, record_events

LINES = """\
# tracer: nop
#
# entries-in-buffer/entries-written: 4/4   #P:2
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
              sh-9669    [001] d..2. 12508.402040: sched_switch: prev_comm=sh prev_pid=9669
    kworker/u8:3-7788    [000] ..... 12508.413997: workqueue_execute_start: work struct 1: function
 tokio-rt worker-12 (     10) [013] 12508.5: tick_stop: success=0 dependency=SCHED
CPU:1 [LOST 12 EVENTS]
           <...>-77      [002] ...1. 12508.398261: ipi_send_cpu: cpu=0 callsite=a+0x2/0x6 callback=b
 half a line
"""


def test_lines_of_a_trace_become_events() -> None:
    events = parse_trace(LINES)

    assert [(event.core, event.comm, event.pid, event.name) for event in events] == [
        (1, "sh", 9669, "sched_switch"),
        (0, "kworker/u8:3", 7788, "workqueue_execute_start"),
        (13, "tokio-rt worker", 12, "tick_stop"),
        (2, "<...>", 77, "ipi_send_cpu"),
    ]
    assert events[2] == TraceEvent(
        13, "tokio-rt worker", 12, "tick_stop", "success=0 dependency=SCHED"
    )
    assert parse_trace("") == []


def test_a_machine_without_tracefs_records_nothing(tmp_path: Path) -> None:
    assert record_events(("timer/tick_stop",), (0,), 0, [tmp_path]) is None
    assert missing_events(("timer/tick_stop",), [tmp_path]) == ("timer/tick_stop",)


def test_events_the_kernel_lacks_are_named_and_left_out(tmp_path: Path) -> None:
    (tmp_path / "instances").mkdir()
    (tmp_path / "events/timer/tick_stop").mkdir(parents=True)

    assert missing_events(("timer/tick_stop", "ipi/ipi_send_cpu"), [tmp_path]) == (
        "ipi/ipi_send_cpu",
    )
    assert record_events(("ipi/ipi_send_cpu",), (0,), 0, [tmp_path]) == []


def test_an_instance_is_removed_when_the_kernel_refuses_it(tmp_path: Path) -> None:
    # A plain folder makes no files in a new instance: the first write to it fails.
    (tmp_path / "instances").mkdir()
    (tmp_path / "events/timer/tick_stop").mkdir(parents=True)

    assert record_events(("timer/tick_stop",), (0,), 0, [tmp_path]) is None
    assert list((tmp_path / "instances").iterdir()) == []


def test_what_a_killed_process_left_is_removed_and_what_lives_is_not(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    alive = f"{os.getpid()}-{start_ticks(Host(), os.getpid())}"
    instances = tmp_path / "instances"
    here = Path("/proc/self/ns/pid").stat().st_ino
    stale = (f"{gone.pid}-1", f"{gone.pid}-1-all", f"{gone.pid}-1-{here}-all", f"{alive}0")
    kept = (alive, f"{alive}-{here}", f"{gone.pid}-1-1", f"{gone.pid}-1-1-all", "other")
    for name in (*stale, *kept):
        (instances / f"taut-audit-{name}").mkdir(parents=True)
    (instances / "perf").mkdir()

    record_events((), (0,), 0, [tmp_path])

    assert {path.name for path in instances.iterdir()} == {
        "perf",
        *(f"taut-audit-{name}" for name in kept),
    }


def test_what_a_process_left_that_ended_and_was_not_waited_for_is_not_under_way() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        name = f"taut-audit-{process.pid}-{start_ticks(Host(), process.pid)}"
        assert is_under_way(name, Host())
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

        assert not is_under_way(name, Host())


def in_own_tracefs(code: str) -> subprocess.Popen[str]:
    """Run python where tracefs is mounted, for this process alone if it was not."""
    at = "/sys/kernel/tracing"
    mount = f'mountpoint -q {at} || mount -t tracefs nodev {at} && exec "$0" -c "$1"'
    return subprocess.Popen(
        ["unshare", "-m", "sh", "-c", mount, sys.executable, textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def tracefs() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    probe = in_own_tracefs("import os; os.listdir('/sys/kernel/tracing/instances')")
    if probe.wait() != 0:
        pytest.skip("this kernel has no instances of tracefs, or does not let us mount it")


SWITCHES = """
from taut.core.cpus import cpuset_cores
from taut.host.trace_sample import record_events
import os, time
wanted = ("sched/sched_switch", "ipi/ipi_send_cpu", "no/such")
def of(pid):
    # Others may trace, too.
    names = os.listdir("/sys/kernel/tracing/instances")
    return [name for name in names if name.startswith(f"taut-audit-{pid}-")]
"""


@pytest.mark.root
@pytest.mark.usefixtures("tracefs")
def test_a_live_kernel_gives_its_switches_and_keeps_nothing() -> None:
    ended = in_own_tracefs(
        SWITCHES
        + """
# An idle core may switch nothing in half a second: this process goes to sleep there.
core = cpuset_cores()[0]
os.sched_setaffinity(0, {core})
events = record_events(wanted, (core,), 0.5)
assert {e.core for e in events if e.name == "sched_switch"} == {core}, events
assert all("prev_comm=" in e.fields for e in events if e.name == "sched_switch")
print(of(os.getpid()))
"""
    )
    out, err = ended.communicate(timeout=60)

    assert (ended.returncode, out.strip()) == (0, "[]"), err


@pytest.mark.root
@pytest.mark.usefixtures("tracefs")
def test_an_instance_left_by_a_kill_is_removed_at_the_next_start() -> None:
    killed = in_own_tracefs(
        SWITCHES
        + """
import threading
def say():
    while len(of(os.getpid())) < 2:
        time.sleep(0.01)
    os.write(1, b"recording\\n")
threading.Thread(target=say).start()
record_events(wanted, (0,), 60)
"""
    )
    assert killed.stdout is not None
    assert killed.stdout.readline() == "recording\n"
    killed.send_signal(signal.SIGKILL)
    killed.wait()

    after = in_own_tracefs(
        SWITCHES
        + f"""
left = of({killed.pid})
record_events((), (0,), 0)
print(len(left), of({killed.pid}))
"""
    )
    out, err = after.communicate(timeout=60)

    assert out.strip() == "2 []", err
