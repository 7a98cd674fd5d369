"""Explain a process that polls and keeps no log of its gaps: another DPDK program, by its PID."""

import signal
import subprocess
import tempfile
from pathlib import Path

from taut.analysis.explain.events import read_events, read_notes
from taut.analysis.explain.process import explain_events
from taut.analysis.explain.result import Explanation
from taut.core.binaries import find_binary
from taut.core.cpus import CpuSet, format_cpu_list, parse_cpu_list
from taut.core.errors import InputError, InterruptedRun, TautError
from taut.host.host import Host
from taut.records.convert import convert_events

_PROGRAM = "taut-trace"


def explain_process(pid: int, cores: CpuSet | None, duration_ns: int) -> list[Explanation]:
    """Trace the process for a while; give one explanation for each core it polls on."""
    threads = _pinned_threads(Host(), pid)
    if cores is not None:
        threads = {core: thread for core, thread in threads.items() if core in cores}
    if not threads:
        where = f" on {format_cpu_list(cores)}" if cores else ""
        raise InputError(
            f"process {pid}: no thread is pinned to one core{where}; pin it (taskset), or name "
            "another core with --cores"
        )
    with tempfile.TemporaryDirectory(prefix="taut-explain-") as folder:
        _trace(threads, Path(folder), duration_ns)
        convert_events(Path(folder), Path(folder))
        events, notes = read_events(Path(folder)), read_notes(Path(folder))
    if events is None:
        raise TautError(f"{_PROGRAM}: ended without events")
    return [explain_events(events, core, thread, notes) for core, thread in threads.items()]


def _pinned_threads(host: Host, pid: int) -> dict[int, int]:
    """By core, the thread that may run there only; of several, the one that ran longest."""
    names = host.names(f"/proc/{pid}/task")
    if not names:
        raise InputError(f"process {pid}: there is none; `pgrep -l NAME` finds it")
    found: dict[int, tuple[int, int]] = {}
    for thread in map(int, names):
        folder = f"/proc/{pid}/task/{thread}"
        allowed = parse_cpu_list(host.fields(f"{folder}/status").get("Cpus_allowed_list", ""))
        if len(allowed) != 1:
            continue
        ran_ns = int((host.read(f"{folder}/schedstat") or "0").split()[0])
        found[allowed[0]] = max(found.get(allowed[0], (-1, 0)), (ran_ns, thread))
    return {core: thread for core, (_, thread) in sorted(found.items())}


def _trace(threads: dict[int, int], out: Path, duration_ns: int) -> None:
    argv = [str(find_binary(_PROGRAM)), "--cores", format_cpu_list(threads), "--out", str(out)]
    argv += ["--threads", ",".join(map(str, threads.values())), "--duration", f"{duration_ns}ns"]
    # Ctrl-C reaches both; what was traced by then is too little to tell.
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as process:
        _, said = process.communicate()
    if process.returncode in (130, -signal.SIGINT):
        raise InterruptedRun("interrupted; nothing was kept")
    if process.returncode != 0:
        words = said.strip().splitlines() or [f"{_PROGRAM}: failed without a word"]
        error = InputError if process.returncode == 2 else TautError
        raise error(words[-1])
