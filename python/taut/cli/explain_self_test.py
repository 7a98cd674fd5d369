"""`taut explain --self-test`: whether explain tells the truth on this machine.

Each cause taut inject knows is made on purpose on one core while taut-trace records. Then explain
judges the poller's gaps and its verdicts are held against what was sent. First a control without
injection: what of these causes the machine makes by itself.
"""

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from taut.analysis.explain import Options, explain_gaps
from taut.analysis.explain.confusion import Confusion, confuse
from taut.analysis.explain.events import no_events, read_events, read_notes
from taut.core.binaries import find_binary
from taut.core.errors import InputError, TautError
from taut.host.inject import GAPS, INJECTIONS, InjectRequest, inject
from taut.records.clock import fit_of
from taut.records.convert import convert_events, convert_trial
from taut.records.layout import RecordKind
from taut.records.raw_file import open_raw
from taut.records.rundir import read_json

CAUSES = (
    "tlb-shootdown",
    "membarrier",
    "function-call",
    "reschedule",
    "timer",
    "softirq",
    "page-fault",
    "syscall",
    "fifo-preemption",
    "preemption",
    "stopped",
    "throttled",
)
"""Those that need nothing but this machine; vcpu-hog needs a KVM host, measurer-stall a run."""

# A throttled thread takes 8 ms an act (taut-inject's default).
_RATES = {"throttled": "40/s", "stopped": "100/s"}
_RATE = "100/s"
_THRESHOLD_NS = 1_000
_TRACE = "taut-trace"
# taut-inject polls a while before its first act; the poller's thread is known from then on.
_START_S = 0.3


def self_test(name: str, core: int, duration_ns: int) -> Confusion:
    """Inject one cause; give what explain made of it."""
    with tempfile.TemporaryDirectory(prefix="taut-self-test-") as folder:
        return _test(name, core, duration_ns, Path(folder))


def control(core: int, duration_ns: int) -> dict[str, int]:
    """Count verdicts by cause while nothing is injected."""
    with tempfile.TemporaryDirectory(prefix="taut-self-test-") as name:
        folder = Path(name)
        argv = [str(find_binary("taut-noise")), "--cores", str(core), "--out", str(folder)]
        argv += ["--duration", f"{duration_ns}ns", "--threshold", f"{_THRESHOLD_NS}ns"]
        with (
            subprocess.Popen(argv, stdout=subprocess.DEVNULL) as process,
            _traced(core, process.pid, folder),
        ):
            process.wait()
        (folder / f"gaps_{core}.bin").rename(folder / GAPS)
        gaps = _after(_judged(core, folder), folder)
    gaps = gaps.filter(pc.greater_equal(_lengths(gaps), 2 * _THRESHOLD_NS))
    counts = gaps.group_by("cause").aggregate([("cause", "count")])
    return dict(zip(counts["cause"].to_pylist(), counts["cause_count"].to_pylist(), strict=True))


def _test(name: str, core: int, duration_ns: int, folder: Path) -> Confusion:
    rate = _RATES.get(name, _RATE)
    request = InjectRequest(name, core, folder, rate, duration_ns, _THRESHOLD_NS)
    with ExitStack() as stack:
        injected = inject(request, lambda pid: stack.enter_context(_traced(core, pid, folder)))
    raw = open_raw(folder / INJECTIONS, RecordKind.INJECTION)
    fit = fit_of(open_raw(folder / GAPS, RecordKind.GAP).header)
    chunks = [chunk.copy() for chunk in raw.chunks()]
    if not chunks:
        raise TautError(f"{name}: nothing could be injected on core {core}")
    acts = np.concatenate(chunks)
    acts = acts[acts["start_tsc"] >= _armed_tsc(folder)]
    gaps = _after(_judged(core, folder, injected.victim_thread), folder)
    start_ns, end_ns = fit.times_ns(acts["start_tsc"]), fit.times_ns(acts["end_tsc"])
    return confuse(name, start_ns, end_ns, gaps, 2 * _THRESHOLD_NS)


@contextmanager
def _traced(core: int, process: int, folder: Path) -> Iterator[None]:
    """Trace the core until the block is left, and faults and system calls of the process."""
    time.sleep(_START_S)
    threads = sorted(path.name for path in Path(f"/proc/{process}/task").iterdir())
    argv = [str(find_binary(_TRACE)), "--cores", str(core), "--out", str(folder)]
    argv += ["--threads", ",".join(threads)]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as tracer:
        try:
            _wait_armed(tracer)
            yield
        finally:
            tracer.send_signal(signal.SIGTERM)
            _, said = tracer.communicate()
        if tracer.returncode != 0:
            raise TautError(f"{_TRACE}: {said.strip() or tracer.returncode}")


def _wait_armed(tracer: "subprocess.Popen[str]") -> None:
    said = ""
    for line in tracer.stderr or ():
        said = line.strip() or said
        if line.rstrip().endswith("armed"):
            return
    raise InputError(said or f"{_TRACE}: failed without a word")


def _armed_tsc(folder: Path) -> int:
    return int(read_json(folder / "trace.json")["armed_tsc"])


def _after(gaps: pa.Table, folder: Path) -> pa.Table:
    """Leave out the gaps from before tracing was armed: they have no events."""
    fit = fit_of(open_raw(folder / GAPS, RecordKind.GAP).header)
    armed_ns = int(fit.times_ns(np.array([_armed_tsc(folder)], np.uint64))[0])
    return gaps.filter(pc.greater_equal(gaps["start_ns"], armed_ns))


def _judged(core: int, folder: Path, thread: int | None = None) -> pa.Table:
    convert_trial(folder, folder)
    convert_events(folder, folder)
    gaps = pq.read_table(folder / "gaps.parquet")
    events = read_events(folder)
    options = Options(device_thread=thread)
    notes = read_notes(folder)
    return explain_gaps(
        gaps, no_events() if events is None else events, core, notes, options=options
    ).gaps


def _lengths(gaps: pa.Table) -> pa.ChunkedArray:
    return pc.subtract(gaps["end_ns"], gaps["start_ns"])


def print_self_test(core: int, duration_ns: int, names: Sequence[str], as_json: bool) -> None:
    """Run control and causes; print the confusion matrix."""
    for name in names:
        if name not in CAUSES:
            raise InputError(f"--cause {name}: not one of {', '.join(CAUSES)}")
    notes = Console(stderr=True)
    with notes.status("control: nothing injected"):
        natural = control(core, duration_ns)
    found = []
    for name in names:
        with notes.status(f"injecting {name}"):
            found.append(self_test(name, core, duration_ns))
    if as_json:
        rows = [{**asdict(c), "recall": c.recall, "precision": c.precision} for c in found]
        document = {"format": 1, "core": core, "control": natural, "causes": rows}
        json.dump(document, sys.stdout)
        print()
        return
    table = Table(box=None, title=f"Injected on core {core}, {duration_ns / 1e9:g} s each")
    table.add_column("cause")
    for column in ("acts", "felt", "recall", "precision", "in the control"):
        table.add_column(column, justify="right")
    table.add_column("taken for")
    for row in found:
        table.add_row(
            row.cause,
            f"{row.n_acts:,}",
            f"{row.n_felt:,}",
            _percent(row.recall),
            _percent(row.precision),
            f"{natural.get(row.cause, 0):,}",
            ", ".join(f"{name} {n:,}" for name, n in row.verdicts.items()),
        )
    console = Console()
    console.print(table)
    console.print(
        f"An act is felt if a gap of {2 * _THRESHOLD_NS / 1000:g} us or more overlaps it. recall: "
        "of the acts felt, the share with its verdict; precision: of the gaps with the verdict, "
        "the share in which an act was. The control had no act: what it has, this machine does by "
        "itself. Not tested: vcpu-hog (needs a KVM host), measurer-stall (needs a run)."
    )


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
