"""The self-test's recordings: a core polled, traced and disturbed by one cause, or by none."""

import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from taut.binaries.ended import kind_of
from taut.binaries.inject import GAPS, INJECTIONS, Injected, InjectRequest, inject
from taut.core.binaries import find_binary
from taut.core.cpus import cpuset_cores
from taut.core.errors import InterruptedRun, TautError, TrialError
from taut.explain import Options, explain_gaps
from taut.explain.judge.verdicts import GapVerdicts
from taut.explain.read.events import no_events, read_events, read_notes
from taut.host.host import Host
from taut.records import parquet, tables
from taut.records.clock import ClockFit, fit_of
from taut.records.convert import convert_events, convert_trial
from taut.records.documents.json_form import read_document
from taut.records.documents.trace import TRACE_FILE, TraceDocument
from taut.records.layout import RecordKind
from taut.records.raw_file import open_raw
from taut.self_test.acts import Acts
from taut.testbed.process import Child, child
from taut.testbed.scope import RunScope

THRESHOLD_NS = 1_000
TRACE = "taut-trace"

ARMING_NS = 1_000_000_000
"""The time until a trace records: a fifth of it on a quiet machine, more than it on a busy one."""

# taut-inject polls a while before its first act; the poller's thread is known from then on.
_START_S = 0.3
_STOP_S = 60.0
_YOUNG_NS = 200_000
"""A wake-up takes tens of microseconds in a nested guest, another thread's turn milliseconds."""
_SETTLE_NS = 10_000_000
"""Arming patches code, one event after the other."""


@dataclass(frozen=True)
class Place:
    """Where the self-test takes place."""

    core: int
    scope: RunScope
    folder: Path  # for recordings; of the scope, gone with it
    is_guest: bool | None

    @property
    def other_core(self) -> int:
        """A core for everything else; the same core where there is no other."""
        return min(set(cpuset_cores()) - {self.core}, default=self.core)

    @contextmanager
    def recording(self, name: str) -> Iterator[Path]:
        """Make a folder that is gone when the block is left; megabytes a second."""
        folder = self.folder / name
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Recording:
    """What was sent, and what explain says of the poller's gaps."""

    acts: Acts
    verdicts: GapVerdicts
    window_ns: tuple[int, int]
    """From when to when it was traced."""
    seconds: float
    n_off_core: int = 0
    """Acts that took the core from another thread than the poller."""


def record_control(place: Place, duration_ns: int) -> Recording:
    """Poll and trace without any act."""
    with place.recording("control") as folder:
        argv = [str(find_binary("taut-noise")), "--cores", str(place.core), "--out", str(folder)]
        argv += ["--duration", f"{duration_ns}ns", "--threshold", f"{THRESHOLD_NS}ns"]
        log = folder / "taut-noise.log"
        with (
            child("taut-noise", argv, scope=place.scope, log=log) as poller,
            traced(place, poller.pid, folder),
        ):
            if poller.wait() != 0:
                raise TautError("\n".join(poller.tail(1)) or "taut-noise: failed without a word")
        (folder / f"gaps_{place.core}.bin").rename(folder / GAPS)
        none = np.empty(0, np.int64)
        return _read(place, folder, Acts(none, none, none), None)


def record_cause(place: Place, cause: str, per_s: int, duration_ns: int, seed: int) -> Recording:
    """Inject one cause for a while."""
    with place.recording(cause.partition(":")[0]) as folder:
        request = InjectRequest(cause, place.core, folder, per_s, duration_ns, THRESHOLD_NS, seed)
        # Counters of the poller are read once more when the trace ends: it has to live until then.
        traced_ns = max(duration_ns - ARMING_NS, duration_ns // 2)
        with ExitStack() as stack:
            injected = injected_to_its_end(
                request, lambda pid: _enter(stack, traced(place, pid, folder, traced_ns))
            )
        fit = fit_of(open_raw(folder / GAPS, RecordKind.GAP).header)
        acts = read_acts(folder, fit)
        taken = read_acts(folder, fit, most_arg=_YOUNG_NS) if _is_on_core(injected) else acts
        recording = _read(place, folder, taken, injected.victim_thread)
        return replace(recording, n_off_core=len(acts) - len(taken))


def _is_on_core(injected: Injected) -> bool:
    """Whether the acts take the core; they note the age of the poller's last reading then."""
    return injected.document.place == "on-core"


def injected_to_its_end(
    request: InjectRequest, started: Callable[[int], None] | None = None
) -> Injected:
    """Inject; Ctrl-C ends the whole test."""
    injected = inject(request, started)
    if injected.was_interrupted:
        raise InterruptedRun("interrupted; nothing was kept")
    return injected


def _enter(stack: ExitStack, tracing: AbstractContextManager[Child]) -> None:
    stack.enter_context(tracing)


@contextmanager
def traced(
    place: Place, process: int, folder: Path, duration_ns: int | None = None
) -> Iterator[Child]:
    """Trace the core until the block is left, and faults and system calls of the process.

    With a duration it may end before that.
    """
    time.sleep(_START_S)
    threads = sorted(_threads(process) + _threads_of_children(process))
    argv = [str(find_binary(TRACE)), "--cores", str(place.core), "--out", str(folder)]
    argv += ["--threads", ",".join(map(str, threads))]
    argv += ["--duration", f"{duration_ns}ns"] if duration_ns is not None else []
    log = folder / f"{TRACE}.log"
    with child(TRACE, argv, scope=place.scope, log=log, cores=[place.other_core]) as tracer:
        try:
            _wait_armed(tracer)
            yield tracer
        finally:
            # Killed, it would leave its trace instances to the next start.
            status = tracer.stop(signal.SIGTERM, _STOP_S)
        if status != 0:
            raise TautError(f"{TRACE}: {tracer.describe_end()}: {' '.join(tracer.tail(1))}")


def _threads(process: int) -> list[int]:
    return [int(path.name) for path in Path(f"/proc/{process}/task").iterdir()]


def _threads_of_children(process: int) -> list[int]:
    """A poller that is to be stopped or throttled is a process of its own."""
    host = Host()
    children = [
        int(name)
        for name in host.names("/proc")
        if name.isdigit() and host.fields(f"/proc/{name}/status").get("PPid") == str(process)
    ]
    return [thread for child in children for thread in _threads(child)]


def _wait_armed(tracer: Child) -> None:
    try:
        tracer.wait_ready("armed$")
    except TrialError as error:
        said = error.log_tail[-1] if error.log_tail else str(error)
        status = tracer.exit_status
        raise (TautError if status is None else kind_of(status))(said) from None


def read_acts(folder: Path, fit: ClockFit, most_arg: int | None = None) -> Acts:
    """Read what was sent, in the time of a fit; only records whose `arg` is no more than that."""
    chunks = [c.copy() for c in open_raw(folder / INJECTIONS, RecordKind.INJECTION).chunks()]
    if not chunks:
        none = np.empty(0, np.int64)
        return Acts(none, none, none)
    acts = np.concatenate(chunks)
    if most_arg is not None:
        acts = acts[acts["arg"] <= most_arg]
    acts = acts[np.argsort(acts["start_tsc"], kind="stable")]
    start_ns, end_ns = fit.times_ns(acts["start_tsc"]), fit.times_ns(acts["end_tsc"])
    return Acts(start_ns, end_ns, acts["thread"].astype(np.int64))


def traced_window_ns(folder: Path, fit: ClockFit) -> tuple[int, int]:
    """From when to when events were recorded."""
    trace = read_document(TraceDocument, folder / TRACE_FILE)
    if trace.armed_tsc is None or trace.stopped_tsc is None:
        raise TautError(f"{TRACE}: does not say when it recorded")
    ends = np.array([trace.armed_tsc, trace.stopped_tsc], np.uint64)
    armed_ns, stopped_ns = fit.times_ns(ends).tolist()
    return armed_ns + _SETTLE_NS, stopped_ns


def _read(place: Place, folder: Path, acts: Acts, thread: int | None) -> Recording:
    """Judge the gaps that lie in the time that was traced."""
    convert_trial(folder, folder)
    convert_events(folder, folder)
    fit = fit_of(open_raw(folder / GAPS, RecordKind.GAP).header)
    window_ns = traced_window_ns(folder, fit)
    gaps = _inside(parquet.read_table(folder / tables.GAPS), window_ns)
    events = read_events(folder)
    options = Options(device_thread=thread, is_guest=place.is_guest)
    explanation = explain_gaps(
        gaps,
        no_events() if events is None else events,
        place.core,
        read_notes(folder),
        options=options,
    )
    seconds = (window_ns[1] - window_ns[0]) / 1e9
    return Recording(acts, explanation.source.verdicts[0], window_ns, seconds)


def _inside(gaps: pa.Table, window_ns: tuple[int, int]) -> pa.Table:
    first_ns, last_ns = window_ns
    after = pc.greater_equal(gaps["start_ns"], first_ns)
    return gaps.filter(pc.and_(after, pc.less_equal(gaps["end_ns"], last_ns)))
