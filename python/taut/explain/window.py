"""Threads of a program that taut did not start, traced for a while and explained."""

import os
import signal
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from taut.binaries.ended import kind_of, last_words
from taut.core.binaries import find_binary
from taut.core.cpus import CpuSet, format_cpu_list, parse_shown_list
from taut.core.errors import InputError, InterruptedRun, MissingToolError, TautError
from taut.core.timings import stage
from taut.core.units import length_words
from taut.explain.process import explain_events
from taut.explain.read.events import read_events, read_notes
from taut.explain.tell.result import Explanation, Options
from taut.explain.walk.pollers import WorkMode, work_mode_of
from taut.explain.walk.running import state_of
from taut.host.fingerprint import hypervisor
from taut.host.host import Host
from taut.host.machine import OTHER_NUMBERS, has_own_numbers
from taut.records.convert import convert_events
from taut.testbed.scratch import Scratch

_PROGRAM = "taut-trace"
_N_LOOKS = 10
_LOOK_S = 0.01
"""How often, and how far apart, threads that share a core are looked at."""
_MOST_NS = 86_400_000_000_000


def threads_on(host: Host, pid: int, cores: CpuSet | None) -> dict[int, int]:
    """Give, by core, the thread of a process that is pinned there, on these cores or on any.

    InputError: no such process, or none of its threads is pinned to one such core.
    """
    pinned = _pinned_threads(host, pid)
    threads = {core: pinned[core] for core in pinned if cores is None or core in cores}
    if not threads and pinned:
        raise InputError(
            f"--cores {format_cpu_list(cores or ())}: no thread of process {pid} is pinned there; "
            f"name one of {format_cpu_list(pinned)}"
        )
    if not threads:
        raise InputError(
            f"process {pid}: no thread is pinned to one core; pin those that poll (taskset)"
        )
    return threads


def check_length(option: str, length_ns: int) -> None:
    """InputError: nothing can be traced for as long as an option says."""
    if not 0 < length_ns <= _MOST_NS:
        raise InputError(f"{option} {length_words(length_ns)}: write more than 0 and at most 24h")


def explain_window(
    threads: Mapping[int, int],
    duration_ns: int,
    environment: Mapping[str, str] | None = None,
    within: Path | None = None,
    modes: dict[int, WorkMode] | None = None,
) -> list[Explanation]:
    """Trace threads, by core, for a while; give one explanation each, in their order.

    `environment` is added to the tracer's own; its records are kept in the folder `within` (None: a
    temporary one) until they are read. `modes` of earlier windows, by thread, hold here as well;
    those of other threads are added. InputError: the duration is none, or above a day.
    MissingToolError: threads cannot be told in this container. TautError: it failed.
    KeyboardInterrupt passes after the tracer has ended.
    """
    # taut-trace takes 0 for "until a signal".
    check_length("--duration", duration_ns)
    host = Host()
    if has_own_numbers(host):
        raise MissingToolError(f"cannot trace: {OTHER_NUMBERS}")
    with Scratch("explain", within) as folder:
        before = _states(host, threads)
        _trace(threads, folder, duration_ns, environment or {})
        after = _states(host, threads)
        convert_events(folder, folder)
        events, notes = read_events(folder), read_notes(folder)
    if events is None:
        raise TautError(f"{_PROGRAM}: ended without events")
    modes = {} if modes is None else modes
    for core, thread in threads.items():
        if thread not in modes and (found := work_mode_of(events, core, thread)) is not None:
            modes[thread] = found
    options = Options(is_guest=hypervisor(host) is not None)
    return [
        explain_events(
            events,
            core,
            thread,
            notes,
            options=options,
            looks=(before[core], after[core]),
            mode=modes.get(thread),
        )
        for core, thread in threads.items()
    ]


def _states(host: Host, threads: Mapping[int, int]) -> dict[int, int]:
    """Give by core in which state its thread is."""
    return {
        core: state_of(host.fields(f"/proc/{thread}/status").get("State", ""))
        for core, thread in threads.items()
    }


def _pinned_threads(host: Host, pid: int) -> dict[int, int]:
    """Give by core the thread that may run there only; of several, the one that polls."""
    names = host.names(f"/proc/{pid}/task")
    if not names:
        raise InputError(f"process {pid}: there is none; `pgrep -l NAME` finds it")
    pinned: dict[int, list[str]] = defaultdict(list)
    for thread in names:
        status = host.fields(f"/proc/{pid}/task/{thread}/status")
        allowed = parse_shown_list(status.get("Cpus_allowed_list", ""))
        if len(allowed) == 1:
            pinned[allowed[0]].append(f"/proc/{pid}/task/{thread}")
    return {core: int(Path(_polling(host, pinned[core])).name) for core in sorted(pinned)}


def _polling(host: Host, threads: Sequence[str]) -> str:
    """Give, of threads on one core, the one most often ready to run; of equals, the busiest so far.

    What a thread has run until now does not tell alone: DPDK's main thread sets everything up on
    its core and then sleeps, while the worker there has only begun.
    """
    if len(threads) == 1:
        return threads[0]
    ready: Counter[str] = Counter()
    for _ in range(_N_LOOKS):
        time.sleep(_LOOK_S)
        states = {thread: host.fields(f"{thread}/status").get("State", "") for thread in threads}
        ready.update(thread for thread in threads if states[thread].startswith("R"))
    ran = {t: int((host.read(f"{t}/schedstat") or "0").split()[0]) for t in threads}
    return max(threads, key=lambda t: (ready[t], ran[t], int(Path(t).name)))


@stage("tracing")
def _trace(
    threads: Mapping[int, int], out: Path, duration_ns: int, environment: Mapping[str, str]
) -> None:
    # The tracer must not go on when we are killed.
    argv = ["setpriv", "--pdeathsig", "TERM", "--", str(find_binary(_PROGRAM)), "--out", str(out)]
    argv += ["--cores", format_cpu_list(threads), "--duration", f"{duration_ns}ns"]
    argv += ["--threads", ",".join(map(str, threads.values()))]
    env = {**os.environ, **environment}
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, env=env) as process:
        try:
            _, said = process.communicate()
        except KeyboardInterrupt:
            # What was traced before an interruption is too little to tell anything.
            process.send_signal(signal.SIGINT)
            raise
    status = process.returncode
    if kind_of(status) is InterruptedRun:
        raise InterruptedRun("interrupted; nothing was kept")
    if status != 0:
        raise kind_of(status)(f"{_PROGRAM}: {last_words(_PROGRAM, status, said)}")
