"""What the acceptance tests share: a real `taut`, its children, its time, its records."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from taut.records.layout import PacketFlag
from traceable import skip_if_untraceable
from waiting import wait_for

TAUT = (sys.executable, "-m", "taut.cli.main")
VOID, COLD = PacketFlag.VOID, PacketFlag.COLD
Window = tuple[int, int]
STALL_NS = 50_000
"""A gap as long or longer is longer than a scheduler's tick takes, or sending a batch."""
LARGE_BURST = 32
"""Packets: half of what generator and forwarder take at a time."""
NOT_FIRST = PacketFlag.LATE | PacketFlag.DUPLICATE | PacketFlag.ORPHAN


@dataclass(frozen=True)
class Trial:
    """One trial as it lies on the disk."""

    path: Path

    @cached_property
    def meta(self) -> dict[str, Any]:
        return json.loads((self.path / "trial.json").read_text())

    @cached_property
    def packets(self) -> dict[str, Any]:
        """Columns of the warm packets that came back once."""
        table = pq.read_table(self.path / "packets.parquet")
        table = table.filter(pc.is_valid(table["received_ns"]))
        columns = {name: table[name].to_numpy().astype(np.int64) for name in table.column_names}
        keep = columns["flags"] & (COLD | NOT_FIRST) == 0
        return {name: values[keep] for name, values in columns.items()}

    def gaps(self, thread: str) -> tuple[Any, Any]:
        """Start and end of the logged gaps of one thread, in order."""
        table = self._gaps(thread)
        return table["start_ns"].to_numpy(), table["end_ns"].to_numpy()

    def _gaps(self, thread: str) -> pa.Table:
        table = pq.read_table(self.path / "gaps.parquet", filters=[("thread", "=", thread)])
        return table.sort_by("start_ns")

    def was_slowed(self, sent_ns: np.ndarray, received_ns: np.ndarray) -> np.ndarray:
        """Whether gaps of the device, however short, are half of a packet's time or more.

        A machine may be slower for a while, by a neighbour on the same core: each turn of the loop
        is a gap of 1.5 us then, and who queues behind hundreds of them is rightly told so.
        """
        starts, ends = self.gaps("forwarder")
        total = np.concatenate(([0], np.cumsum(ends - starts)))

        def time_before(moment: np.ndarray) -> np.ndarray:
            n_ended = np.searchsorted(ends, moment)
            begun = np.append(starts, np.iinfo(np.int64).max)[n_ended]
            return total[n_ended] + np.clip(moment - begun, 0, None)

        return 2 * (time_before(received_ns) - time_before(sent_ns)) >= received_ns - sent_ns

    def touched_by_gap(self, thread: str, least_ns: int = 0) -> np.ndarray:
        """Whether a gap of a thread overlaps each packet's flight, in the order of `packets`.

        `least_ns`: of gaps that are as long or longer.
        """
        packets = self.packets
        return self._touched(thread, packets["sent_ns"], packets["received_ns"], least_ns)

    def _touched(
        self, thread: str, sent: np.ndarray, received: np.ndarray, least_ns: int
    ) -> np.ndarray:
        starts, ends = self.gaps(thread)
        is_long = ends - starts >= least_ns
        starts, ends = starts[is_long], ends[is_long]
        if starts.size == 0:
            return np.zeros(sent.size, bool)
        # Gaps of one thread follow each other: the first that ends after the sending decides.
        first_after = np.searchsorted(ends, sent, side="left")
        at = np.minimum(first_after, starts.size - 1)
        return (first_after < starts.size) & (starts[at] <= received)

    def met_a_stall(self, rows: dict[str, np.ndarray]) -> np.ndarray:
        """Whether packets explained did not wait for packets alone.

        They are void (also those that left late: the gap was over when they did), or met a stall of
        either thread, or were slowed.
        """
        sent, received = rows["sent_ns"], rows["received_ns"]
        met = rows["is_void"].astype(bool) | self.was_slowed(sent, received)
        for thread in ("generator", "forwarder"):
            met |= self._touched(thread, sent, received, STALL_NS)
        return met

    def has_other_stall(self, span: Window, stop: Window) -> bool:
        """Whether either thread stalled in a time, but for what a stop did."""

        def one(thread: str) -> bool:
            starts, ends = self.gaps(thread)
            of_stop = (starts < stop[1]) & (ends > stop[0])
            is_in = (starts < span[1]) & (ends > span[0]) & (self._stood_ns(thread) >= STALL_NS)
            return bool((is_in & ~of_stop).any())

        return any(map(one, ("generator", "forwarder")))

    def _stood_ns(self, thread: str) -> np.ndarray:
        """How long a thread stood in each of its gaps: less what the packets of it take.

        To take a full burst is no stall, however long it takes on this machine: as much for each
        packet as in most of the large bursts that took long enough to be logged.
        """
        table = self._gaps(thread)
        lengths = table["end_ns"].to_numpy() - table["start_ns"].to_numpy()
        n_packets = table["n_packets"].to_numpy()
        is_large = n_packets >= LARGE_BURST
        each_ns = np.median(lengths[is_large] / n_packets[is_large]) if is_large.any() else 0
        return lengths - each_ns * n_packets

    def at_ns(self, mono_raw_ns: int) -> int:
        """A reading of CLOCK_MONOTONIC_RAW as time of this trial."""
        generator = self.meta["generator"]
        clock = generator["clock"]
        epoch_ns = (generator["epoch_tsc"] - clock["first"]["tsc"]) * 1e9 / clock["tsc_hz"]
        return round(mono_raw_ns - clock["first"]["mono_raw_ns"] - epoch_ns)


@dataclass(frozen=True)
class Run:
    """A run directory and how its taut ended."""

    path: Path
    status: int
    stdout: str
    stderr: str

    @cached_property
    def results(self) -> list[dict[str, Any]]:
        return json.loads((self.path / "results.json").read_text())["trials"]

    @cached_property
    def trials(self) -> list[Trial]:
        return [Trial(path) for path in sorted((self.path / "trials").glob("[0-9]*"))]

    def trial(self, dut: str) -> Trial:
        return next(trial for trial in self.trials if trial.meta["dut"]["name"] == dut)

    def result(self, dut: str) -> dict[str, Any]:
        return next(result for result in self.results if result["dut"] == dut)


def run_taut(
    folder: Path,
    spec: str,
    *arguments: str,
    draw: bool = False,
    wait: bool = True,
    **environment: str,
) -> Run:
    """Run an experiment to its end."""
    with started(folder, spec, *arguments, draw=draw, wait=wait, **environment) as taut:
        return finished(folder, taut)


@contextmanager
def started(
    folder: Path,
    spec: str,
    *arguments: str,
    draw: bool = False,
    wait: bool = True,
    **environment: str,
) -> Iterator[subprocess.Popen[str]]:
    """Start an experiment; it is dead when the block is left.

    Inside, this process goes before the experiment, which goes before all others: else two polling
    programs on two cores would leave it no time to do what it wants to do in a trial.

    Tracing costs each trial its time, the report several seconds: only a test that names the one,
    or asks to `draw` the other, has it. Where somebody else measures on the cores, it waits.
    """
    names_trace = any("trace" in text for text in (spec, *arguments))
    rest = [
        *arguments,
        *([] if names_trace else ["--no-trace"]),
        *([] if draw else ["--no-report"]),
        *(["--wait"] if wait else []),
    ]
    file = folder / "spec.toml"
    file.write_text(spec)
    taut = subprocess.Popen(
        [*TAUT, "run", str(file), "--out", str(folder / "run"), *rest],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
        start_new_session=True,
    )
    go_first(taut.pid)
    try:
        with real_time_priority():
            yield taut
    finally:
        taut.kill()
        taut.wait()


def go_first(session: int) -> None:
    """Let the session of a taut go before other programs, as its children's will; needs root.

    Beside a program that takes half of a core every packet would be void. Where the kernel
    schedules by session (sched(7), autogroup), a nice value alone counts inside it.
    """
    if os.geteuid() != 0:
        return
    os.setpriority(os.PRIO_PROCESS, session, -20)
    group = Path(f"/proc/{session}/autogroup")
    if group.exists():
        group.write_text("-20")


def finished(folder: Path, taut: subprocess.Popen[str], timeout_s: float = 200) -> Run:
    """Wait for its end."""
    stdout, stderr = taut.communicate(timeout=timeout_s)
    return Run(folder / "run", taut.returncode, stdout, stderr)


def passed(run: Run) -> Run:
    """Show what taut said when it did not end well."""
    assert run.status == 0, run.stderr[-3000:]
    return run


def explained(done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """Skip where the kernel cannot be traced."""
    if done.returncode == 2:
        skip_if_untraceable(done.stderr)
    assert done.returncode == 0, done.stderr
    return done


@contextmanager
def real_time_priority() -> Iterator[None]:
    """Let this process, not what it starts, go before all others; needs root."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    if os.geteuid() == 0:
        first = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(0, first, os.sched_param(6))
    try:
        yield
    finally:
        os.sched_setscheduler(0, *before)


def in_a_trial(run: Path, taut: subprocess.Popen[str], program: str) -> int:
    """Wait until a trial is under way and give the process of one of its programs.

    They run before the first trial, too, for a moment, to say what they can do: a trial has
    records. A taut that ends before, as one that was refused, fails the test with what it said.
    """

    def unless_it_ended(found: Any) -> Any:
        if not found and taut.poll() is not None:
            said = taut.stderr.read() if taut.stderr else ""
            raise AssertionError(f"taut ended with {taut.returncode} before its trial: {said}")
        return found

    def has_records() -> bool:
        # By os.walk: a folder that is renamed meanwhile is no error.
        return any("packets.bin" in names for *_, names in os.walk(run))

    wait_for("records", lambda: unless_it_ended(has_records()), 120)
    pid: int = wait_for(program, lambda: unless_it_ended(child_of(taut.pid, program)))
    return pid


def child_of(pid: int, program: str) -> int | None:
    """Find a process by its name below another."""
    names = _processes()
    return next((p for p in children_of(pid) if names.get(p, ("",))[0] == program[:15]), None)


def children_of(pid: int) -> list[int]:
    """All processes below another, as they are now."""
    parents = {child: parent for child, (_, parent) in _processes().items()}
    found, edge = [], {pid}
    while edge:
        edge = {child for child, parent in parents.items() if parent in edge}
        found += sorted(edge)
    return found


def _processes() -> dict[int, tuple[str, int]]:
    """Name and parent of every process."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue  # it has ended
            name, rest = stat[stat.index("(") + 1 : stat.rindex(")")], stat[stat.rindex(")") + 2 :]
            found[int(entry.name)] = (name, int(rest.split()[1]))
    return found
