"""`taut soak`, the work: what it will take, the soak, its report."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from rich.console import Console

from taut.cli.progress import TerminalProgress
from taut.cli.run_job import finish
from taut.cli.soak_words import print_soak
from taut.cli.unread import PatientConsole, tell, unread_is_dropped
from taut.core.errors import InputError, InterruptedRun, RequirementNotMet, TautError
from taut.core.files import is_replaceable, write_json
from taut.core.units import bytes_words, length_words
from taut.experiment.disk import free_at
from taut.experiment.fields import MAX_TRIAL_NS
from taut.experiment.interrupt import heard, interruptible
from taut.experiment.plan import Plan, untraced
from taut.experiment.preflight import require
from taut.experiment.rows import Rows
from taut.experiment.run_manifest import Origin
from taut.experiment.runner import choose_cores, measuring
from taut.experiment.soak import (
    MOST_KEPT,
    Soak,
    left_ns,
    make_rows,
    measure_soak,
    refuse_new_limits,
)
from taut.host.host import Host
from taut.records.documents.json_form import plain_object
from taut.records.documents.soak import SOAK_FILE, Row, SegmentStart, SoakDocument
from taut.records.rundir import RunDirectory
from taut.records.segments import Kept, read_segments
from taut.report.paragraph import INDENT, print_paragraph
from taut.report.soak import row_line

_INTERRUPTED = "interrupted"

# The first word of a command, where no shell makes another of it, nor a function: `f () {`.
_PLAIN_WORD = re.compile(r"\s*([\w./+-]+)(?=\s*$|\s+[^(\s])")

_RECORD_BYTES, _GAP_BYTES, _KEPT_BYTES = 48, 24, 18
_KEPT_GAP_BYTES = 12
_TRACE_BYTES = 512 << 20
_ROW_BYTES, _WHOLE_BYTES = 2_000, 8 << 20
_MEMORY_BYTES = 600 << 20
"""Of taut, taut-generate and taut-trace with all their buffers; the device's is its own."""


@dataclass(frozen=True)
class Wishes:
    """What is to be done with the results beside keeping them."""

    prometheus: Path | None
    on_fail: str | None
    images: bool
    details: bool
    as_json: bool


def _check_hook(command: str | None) -> None:
    """InputError: what --on-fail calls is not there, which would be said when it is too late.

    What the shell has to expand first is left to it. None: nothing is to be called.
    """
    if command is None:
        return
    if not command.strip():
        raise InputError("--on-fail: an empty command; name one, as ./alert.sh")
    word = _PLAIN_WORD.match(command)
    if word is not None and not _can_be_called(word[1]):
        raise InputError(f"--on-fail {command}: {word[1]}: no such program, or not executable")


def _can_be_called(word: str) -> bool:
    if "/" in word:
        return shutil.which(word) is not None
    asked = ["/bin/sh", "-c", 'command -v "$1"', "taut", word]
    return subprocess.run(asked, stdout=subprocess.DEVNULL, check=False).returncode == 0


def print_soak_plan(soak: Soak, out: Path) -> None:
    """Print what a soak takes; nothing is started."""
    console = Console()
    plan = _whole_plan(soak)
    cores = choose_cores(Host(), soak.spec)
    lines = [
        *(f"{trial.name}: {length_words(soak.planned_ns)}" for trial in plan.trials),
        f"Cores: {cores.why}.",
        *(f"warning: {note}" for note in cores.notes),
        *takes_words(soak, out),
    ]
    for line in lines:
        print_paragraph(console, line, hanging=INDENT)
    require(plan)


def takes_words(soak: Soak, out: Path) -> Iterator[str]:
    """Say how much memory, disk and time a soak takes, at most, and what it goes without."""
    plan = _whole_plan(soak)
    bounded = soak.bounded(plan.trials[-1])
    at_most, kept = _disk_bytes(soak, plan)
    _, free = free_at(out)
    yield (
        f"Disk: at most {bytes_words(at_most)} while it runs and {bytes_words(kept)} afterwards, "
        f"for the planned length (a resumed soak has a segment more); {bytes_words(free)} are free"
        + ("; make room or give --out." if at_most > free else ".")
    )
    yield (
        f"Memory: about {bytes_words(_MEMORY_BYTES)}, and the device's own; it does not grow, and "
        "every row says what each program has."
    )
    whole_ns = soak.planned_ns * len(plan.trials)
    segments = read_segments(out)
    left = sum(left_ns(soak, device, segments) for device in soak.subjects)
    missing = f"{length_words(left)} that are missing of " if left < whole_ns else ""
    yield (
        f"Time: {missing}{length_words(whole_ns)} in rows of "
        f"{length_words(soak.every_ns)}. Recorded: the slowest packet of about "
        f"{bounded.one_in:,}, and what is lost."
    )
    yield from (f"warning: {note}" for note in untraced(plan))


def _disk_bytes(soak: Soak, plan: Plan) -> tuple[int, int]:
    """Give what a soak takes of the disk at most: while it runs, and afterwards.

    All segments are kept; while one is measured, its raw records stand beside those before.
    """
    n_segments = -(-soak.planned_ns // MAX_TRIAL_NS)
    n_rows = soak.planned_ns // soak.every_ns + 1
    raw_of_one = kept_of_all = 0
    for trial in plan.trials:
        trace = _TRACE_BYTES if trial.trace != "off" else 0
        gaps = soak.bounded(trial).gaps * trial.device.driver_options.n_gap_logs
        raw = MOST_KEPT * (_RECORD_BYTES + _GAP_BYTES) + gaps * _GAP_BYTES + trace
        kept = MOST_KEPT * _KEPT_BYTES + gaps * _KEPT_GAP_BYTES + trace // 2 + _WHOLE_BYTES
        raw_of_one = max(raw_of_one, raw)
        kept_of_all += kept * n_segments + n_rows * _ROW_BYTES
    return raw_of_one + kept_of_all, kept_of_all


def _whole_plan(soak: Soak) -> Plan:
    """Plan first segments of all that is measured; its spec is what a resumed soak must have."""
    trials = [
        soak.segment(device, index, min(soak.planned_ns, MAX_TRIAL_NS)).trials[0]
        for index, device in enumerate(soak.subjects)
    ]
    return Plan(soak.spec, tuple(trials))


def soak_and_report(
    soak: Soak, out: Path, origin: Origin, wishes: Wishes, *, resume: bool, wait: bool
) -> None:
    """Soak, judge, report. Whatever ends it, what was measured until then is kept and shown."""
    plan = _whole_plan(soak)
    _check_hook(wishes.on_fail)
    kept = read_segments(out) if resume else []
    refuse_new_limits(soak, out, kept)
    require(plan)
    with interruptible():
        progress = TerminalProgress(is_part=True)
        telling = _Telling(soak, progress, wishes, kept)
        rows = make_rows(soak, out, telling.told, kept)
        is_interrupted = False
        failed: str | None = None
        try:
            with (
                closing(progress),
                measuring(
                    plan, out, resume, progress, origin, wait=wait, in_parts=True, beside=rows
                ) as session,
                _stopping(rows),
            ):
                for line in takes_words(soak, out):
                    progress.noted(line)
                measure_soak(session, soak, rows)
        except KeyboardInterrupt:
            is_interrupted = True
        except (OSError, TautError) as error:
            if not telling.has_row and _is_refusal(error, kept):
                raise
            failed = _words_of(error, out)
        if is_interrupted and not (out / "soak").is_dir():
            raise InterruptedRun("interrupted before the first row; nothing was measured")
        run = RunDirectory(out)
        stopped = failed or _why_stopped(run, rows)
        try:
            document = _report(run, soak, stopped, wishes)
        except (OSError, TautError) as error:  # The rows are there all the same.
            why = _words_of(error, out)
            _alert(wishes, why)
            raise TautError(f"{why}; all rows so far are kept, go on with --resume") from None
    _end(out, document, stopped, wishes, is_interrupted=is_interrupted or stopped == _INTERRUPTED)


def _is_refusal(error: OSError | TautError, kept: Sequence[Kept]) -> bool:
    """Whether an error before the first row is no failed soak. A disk may fill under a resumed one.

    `kept`: of the starts of taut before.
    """
    return isinstance(error, InputError) or (isinstance(error, OSError) and not kept)


def _words_of(error: OSError | TautError, out: Path) -> str:
    if isinstance(error, OSError):
        return f"{error.filename or out}: {error.strerror}"
    return str(error)


class _Telling:
    """Says each row where it is wanted."""

    def __init__(
        self,
        soak: Soak,
        progress: TerminalProgress,
        wishes: Wishes,
        kept: Sequence[Kept],
    ) -> None:
        self._soak = soak
        self._progress = progress
        self._metrics = None
        self.has_row = False
        """Whether a row was measured since this taut began."""
        self._measured_ns: dict[str, dict[str, int]] = defaultdict(dict)
        """Of each device, by segment, how long it was measured."""
        for segment in (one.segment for one in kept):
            of_device = self._measured_ns[segment.start.device]
            of_device[segment.start.trial] = segment.measured_ns
        if wishes.prometheus is None:
            return
        if not wishes.prometheus.absolute().parent.is_dir():
            raise InputError(f"--prometheus {wishes.prometheus}: its folder is not there; make it")
        if not is_replaceable(wishes.prometheus):
            raise InputError(
                f"--prometheus {wishes.prometheus}: a device or a pipe, which each row would "
                "replace; name a file"
            )
        # Here, not above: few want it.
        from taut.report.textfile import SoakMetrics

        self._metrics = SoakMetrics(
            soak.spec.name, soak.device.name, soak.planned_ns, soak.limits_ns, wishes.prometheus
        )
        self._metrics.add_segments(one for one in kept if not one.segment.start.is_control)

    def told(self, start: SegmentStart, row: Row) -> None:
        """Print a row on stderr, and what is odd about it."""
        self.has_row = True
        measured_ns = self._measured_ns[start.device]
        before_ns = sum(ns for trial, ns in measured_ns.items() if trial != start.trial)
        measured_ns[start.trial] = row.end_ns
        name = f"{start.device}: " if self._soak.has_control else ""
        self._progress.noted(f"{name}{row_line(row, before_ns)}")
        if self._metrics is not None and not start.is_control:
            try:
                self._metrics.told(row)
            except TautError as error:
                # The soak is worth more than its textfile.
                self._progress.warned(str(error))
        for note in row.notes:
            self._progress.warned(f"{note}; rows are by another clock: nothing is lost by it")


@contextmanager
def _stopping(rows: Rows) -> Iterator[None]:
    """Have the first Ctrl-C, or the terminal's end, end the generator: what it measured counts."""
    owner = os.getpid()
    before = {number: signal.getsignal(number) for number in heard()}

    def handle(number: int, frame: FrameType | None) -> None:
        known = before[signal.Signals(number)]
        is_ours = os.getpid() == owner
        if is_ours and rows.stopped is None and rows.is_measuring:
            rows.stop(_INTERRUPTED)
        elif is_ours and rows.stopped is not None and number == signal.SIGHUP:
            return  # A closed terminal is told twice.
        elif callable(known):
            known(number, frame)

    for number in before:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _why_stopped(run: RunDirectory, rows: Rows) -> str | None:
    """Say why it ended early: told to, or the last segment failed."""
    if rows.stopped is not None:
        return rows.stopped
    trials = run.trials()
    if trials and not trials[-1].is_whole:
        failure = trials[-1].meta.failure
        return "a segment failed" if failure is None else failure.reason
    return None


def _report(
    run: RunDirectory, soak: Soak, stopped: str | None, wishes: Wishes
) -> SoakDocument | None:
    """Write soak.json, analyse and draw what has records, print; None: the device has no row."""
    # Here, not above: measuring starts without the analysis.
    from taut.analysis.soak import soak_document

    tell("adding up ...")
    document = soak_document(run, soak, stopped)
    if document is None:
        return None
    write_json(run.path / SOAK_FILE, plain_object(document))

    def show(report: Path | None) -> None:
        # Ctrl-C ends `tee`, too: what becomes of the soak does not hang on who reads it.
        with unread_is_dropped(sys.stdout):
            if wishes.as_json:
                json.dump(plain_object(document), sys.stdout)
                print(flush=True)
            else:
                print_soak(document, PatientConsole(), report, details=wishes.details)

    if any(trial.is_whole for trial in run.trials()):
        finish(run, as_json=wishes.as_json, publish=None, show=show, images=wishes.images)
    else:
        show(None)
    return document


def _end(
    out: Path,
    document: SoakDocument | None,
    stopped: str | None,
    wishes: Wishes,
    *,
    is_interrupted: bool,
) -> None:
    """Raise what the exit status is to say; call the hook where it is none of the user's doing."""
    verdicts = () if document is None else document.verdicts
    failed = [one for one in verdicts if one.verdict == "fail"]
    if failed:
        why = f"{failed[0].rule}: not met: {failed[0].said}"
        _alert(wishes, why)
        raise RequirementNotMet(f"{len(failed)} of {len(verdicts)}: {why}")
    if is_interrupted:
        raise InterruptedRun(f"interrupted; all rows are kept, go on: --out {out} --resume")
    if stopped is not None:
        _alert(wishes, stopped)
        left = "the device has no row yet" if document is None else f"what was measured is in {out}"
        raise TautError(f"the soak ended early: {stopped}; {left}, go on with --resume")


def _alert(wishes: Wishes, why: str) -> None:
    """Run the user's command; that it fails is said, and changes nothing."""
    if wishes.on_fail is None:
        return
    done = subprocess.run(["/bin/sh", "-c", f'{wishes.on_fail} "$1"', "taut", why], check=False)
    if done.returncode != 0:
        tell(f"warning: --on-fail {wishes.on_fail}: ended with exit status {done.returncode}")
