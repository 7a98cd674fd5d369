"""One trial: links, device, generator, wait, convert. Only this module of the package starts them.

While packets fly this process sleeps: it wakes when a program ends, and now and then for progress.
"""

import gc
import os
import select
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from taut.binaries.clock import read_clock
from taut.core.cpus import CpuSet
from taut.core.errors import InputError, TrialError
from taut.dut.driver import DriverOptions, DutDriver, RunningDut, processes_of, watched_of
from taut.experiment import generator, room, tracing
from taut.experiment.beside import ALONE, Beside
from taut.experiment.cores import Cores
from taut.experiment.neighbour_cores import asked_of
from taut.experiment.plan import Plan, Trial
from taut.experiment.restart import Restartable, logged_from_ns
from taut.experiment.stored import TrialSoFar
from taut.host.host import Host
from taut.records.convert import (
    GUEST,
    GapLog,
    StampLog,
    convert_events,
    convert_stamps,
    convert_trial,
)
from taut.records.documents.generator import GENERATOR_FILE
from taut.records.documents.trial import DEVICE, ClockReading, Clocks, Hop, TraceOfTrial
from taut.testbed.hugepages import count_near
from taut.testbed.link import Link, LinkOptions
from taut.testbed.links import LINKS
from taut.testbed.neighbour import RunningNeighbour
from taut.testbed.neighbour import running as running_neighbour
from taut.testbed.placement import Tenant
from taut.testbed.process import Child
from taut.testbed.program import Place
from taut.testbed.scope import RunScope

# Writing a line to a terminal wakes another core. A virtual machine exits to its host for that, and
# resumes up to a millisecond later.
TICK_MS = 10_000
PAUSE_S = 0.001
RAW = "raw"
LOGS = "logs"
NEIGHBOUR = "neighbour"
SWITCH = "switch"

Tick = Callable[[], None]
Warn = Callable[[str], None]


class Testbench:
    """Runs the trials of one run, one at a time."""

    __test__ = False  # the name looks like a test to pytest

    def __init__(
        self,
        plan: Plan,
        scope: RunScope,
        cores: Cores,
        tick: Tick,
        warn: Warn = lambda _: None,
        beside: Beside = ALONE,
    ) -> None:
        self._plan = plan
        self._scope = scope
        self._cores = cores
        self._tick = tick
        self._warn = warn
        self._beside = beside
        self._cannot_trace: str | None = None
        self._clock: ClockReading | None = None
        scope.own_cores = (cores.runner,)

    def add_hugepages(self) -> None:
        """Reserve memory once for the whole run: the largest device and the generator."""
        asked = (t.device.dut.hugepages(t.device.driver_options) for t in self._plan.trials)
        self._scope.add_hugepages(max(asked, default=0), count_near(self._cores.device))
        self._scope.add_hugepages(generator.HUGEPAGES, count_near(self._cores.generator))

    def check_clock(self) -> ClockReading:
        """Measure the clocks of the cores in use; InputError where they cannot be used."""
        clock = read_clock(self._cores.measured)
        if not clock.usable:
            why = clock.why or "taut-clock does not say why"
            raise InputError(f"clock: not usable: {why}; `taut doctor` says what is missing")
        self._clock = clock
        return clock

    def check_tracing(self) -> str | None:
        """Say why trace = "auto" does not trace; None: it does. Preflight judges other modes."""
        self._cannot_trace = tracing.why_auto_goes_without(self._plan)
        return self._cannot_trace

    def measure(self, trial: Trial, folder: Path, known: TrialSoFar) -> None:
        """Measure one trial into its temporary folder.

        What was learnt is added to `known`, also when the trial fails.
        """
        # The clock read after the previous trial counts as read before this one.
        before = self._clock or self.check_clock()
        known.document = replace(known.document, clock=Clocks(before))
        # In a container or a guest a device works in a folder of its own.
        raw, logs = folder / RAW, (folder / LOGS).absolute()
        logs.mkdir(parents=True)
        try:
            left = self._load(trial, raw, logs, known)
            convert_trial(raw, folder, left.gaps)
            convert_stamps(raw, folder, left.stamps)
            # They are in Parquet now, and the raw file of an hour is large.
            for path in (*(log.path for log in left.gaps), *(log.path for log in left.stamps)):
                path.unlink()
            convert_events(raw, folder)
            if left.guest_events is not None:
                convert_events(left.guest_events, folder / GUEST, reference=raw)
            known.document = replace(known.document, clock=Clocks(before, self.check_clock()))
        finally:
            names = tuple(sorted(f"{LOGS}/{path.name}" for path in logs.iterdir()))
            known.document = replace(known.document, logs=names)
            # This also frees a full disk, so that trial.json can be written.
            shutil.rmtree(raw, ignore_errors=True)

    def _load(self, trial: Trial, raw: Path, logs: Path, known: TrialSoFar) -> "_Left":
        """Start everything, wait for the generator, stop everything."""
        driver = trial.device.dut
        options = room.options_of(trial)
        cores = self._cores.of_device(options.n_cores)
        with ExitStack() as stack:
            links, ports, netns = stack.enter_context(self._opened(trial, driver))
            place = stack.enter_context(self._entered(trial, options, cores, logs))
            start = partial(self._running, driver, links, cores, options, logs, place)
            device = Restartable(start)
            dut = stack.enter_context(device)
            started = replace(known.document.dut, path=dut.path, notes=_notes(place, dut, None))
            known.document = replace(known.document, dut=started)
            stack.enter_context(self._beside.device_ready(trial, self._cores, dut.pid))
            neighbour = self._start_neighbour(stack, trial, raw, logs)
            threads = _threads(dut)
            tracer = self._start_tracer(stack, trial, processes_of(dut), raw, logs, known)
            asked = generator.asked_of(
                trial,
                self._plan,
                self._cores,
                ports,
                raw,
                run_id=_run_id(self._scope, trial),
                ring_mib=room.ring_mib(trial, room.free_bytes(Host())),
                device_pid=dut.pid,
            )
            if neighbour is not None:
                neighbour.begin()
            program = stack.enter_context(
                generator.running(asked, self._cores, netns, logs, self._scope)
            )
            with self._beside.generating(program.pid, raw), without_collections():
                if (after_ns := trial.traffic.restart_ns) and driver.n_links > 0:
                    dut = device.restart_after(after_ns, program.alive, self._cores.device)
                self._wait(program, dut, raw, neighbour)
            is_short = self._beside.ends_early
            sent = generator.read_result(program, raw, asked, trial.offered_pps, is_short)
            worked = None if neighbour is None else neighbour.finish()
            known.document = replace(known.document, generator=sent, neighbour=worked)
            if tracer is not None:
                self._finish_tracer(tracer, trial, raw, known)
            # Threads come and go; explain looks for those that worked on the device's core.
            threads = tuple(sorted({*threads, *_threads(dut)}))
            of_hops = [_threads(hop.device) for hop in dut.hops]
            stats = dut.stop()
            ended = replace(started, threads=threads, stats=stats, notes=_notes(place, dut, tracer))
            from_ns = logged_from_ns(trial, raw, _gap_logs(dut))
            of_guest = None if place is None else place.guest
            ended = replace(ended, guest=of_guest, logged_from_ns=from_ns)
            known.document = replace(
                known.document,
                dut=replace(ended, hops=_hops(dut, of_hops) or None, died=died_of(dut)),
            )
            # The device's log is of the trial, wherever the driver put it.
            events = None if place is None else place.events
            return _Left(_gap_logs(dut), _stamp_logs(dut), events)

    @contextmanager
    def _running(
        self,
        driver: DutDriver,
        links: Sequence[Link],
        cores: CpuSet,
        options: DriverOptions,
        logs: Path,
        place: Place | None,
    ) -> Iterator[RunningDut]:
        """Start the device in its place."""
        with ExitStack() as stack:
            with self._scope.at(place):
                dut = stack.enter_context(driver.running(links, cores, options, logs, self._scope))
            yield dut

    def _start_neighbour(
        self, stack: ExitStack, trial: Trial, raw: Path, logs: Path
    ) -> RunningNeighbour | None:
        """Let the trial's neighbour work; None where it has none."""
        if trial.neighbour is None or trial.neighbour.does.is_idle:
            return None
        asked = asked_of(trial.neighbour, self._cores)
        folder = raw / NEIGHBOUR
        return stack.enter_context(running_neighbour(asked, folder, logs, self._scope))

    def _entered(
        self, trial: Trial, options: DriverOptions, cores: CpuSet, logs: Path
    ) -> AbstractContextManager[Place | None]:
        """Enter the trial's place, where the device is started."""
        tenant = Tenant(
            driver=trial.device.driver,
            link=trial.device.link,
            cores=cores,
            housekeeping=tuple(sorted({self._cores.runner, self._cores.writer} - {*cores})),
            files=options.files,
            log_dir=logs,
        )
        return trial.place.placement.entered(trial.place.kind_options, tenant, self._scope)

    def _start_tracer(
        self,
        stack: ExitStack,
        trial: Trial,
        device: Sequence[int],
        raw: Path,
        logs: Path,
        known: TrialSoFar,
    ) -> tracing.Tracer | None:
        """Arm the trace this trial wants; None where it wants none, or "auto" cannot have it."""
        if trial.trace == "off":
            return None
        if self._cannot_trace is not None:
            _not_traced(known, self._cannot_trace)
            return None
        try:
            n_cores, n_online = len(self._cores.measured), len(Host().online_cores())
            buffer_mib = room.buffer_mib(trial, n_cores, n_online, room.free_bytes(Host()))
            wanted = tracing.Wanted(trial.trace, LINKS[trial.device.link].trace_events, buffer_mib)
            tracer = tracing.traced(wanted, self._cores, device, raw, logs, self._scope)
            return stack.enter_context(tracer)
        except TrialError as error:
            self._go_on_untraced(trial, error, raw, known)
            return None

    def _finish_tracer(
        self, tracer: tracing.Tracer, trial: Trial, raw: Path, known: TrialSoFar
    ) -> None:
        try:
            tracing.finish(tracer)
        except TrialError as error:
            self._go_on_untraced(trial, error, raw, known)

    def _go_on_untraced(
        self, trial: Trial, error: TrialError, raw: Path, known: TrialSoFar
    ) -> None:
        """Keep the trial without its trace, unless the trace was asked for by name."""
        if self._plan.spec.trace != "auto":
            raise error
        tracing.discard(raw)
        reason = tracing.reason_of(error)
        _not_traced(known, reason)
        self._warn(f"{trial.name}: not traced: {reason}")

    def _wait(
        self, program: Child, dut: RunningDut, raw: Path, neighbour: RunningNeighbour | None
    ) -> None:
        """Sleep until the generator has ended; stop it when the device or the neighbour dies."""
        besides = [] if neighbour is None else [neighbour.pid]
        for _ in _wakes([program.pid, *watched_of(dut), *besides], TICK_MS):
            if not program.alive():
                return
            if not dut.alive() and (raw / GENERATOR_FILE).exists():
                # It measured to the end. Then it closes its ports, and DPDK 22.11's memif may
                # take a polling peer with it (seen with testpmd).
                program.wait()
                return
            if not dut.alive():
                program.stop(signal.SIGINT)
                raise TrialError("the device under test died during the trial", dut.log_tail())
            if neighbour is not None and not neighbour.alive():
                program.stop(signal.SIGINT)
                raise neighbour.died()
            # Taut's core may be the generator's: two short turns disturb less than a long one.
            time.sleep(PAUSE_S)
            self._tick()

    @contextmanager
    def _opened(
        self, trial: Trial, driver: DutDriver
    ) -> Iterator[tuple[list[Link], tuple[str, str], str | None]]:
        """Make the links; give them with the generator's two ports and its namespace."""
        link = LINKS[trial.device.link]
        options: LinkOptions = self._plan.spec.links.get(trial.device.link, {})
        if driver.n_links == 0:
            with link.open_loopback(self._scope, options) as loop:
                yield [], (loop.tx_port, loop.rx_port), loop.netns
            return
        with link.open(self._scope, driver.n_links, options) as opened:
            links = list(opened)
            ports = (links[0].generator_port, links[-1].generator_port)
            yield links, ports, links[0].generator_netns


class _Left(NamedTuple):
    """The files a device left of a trial."""

    gaps: list[GapLog]
    stamps: list[StampLog]
    guest_events: Path | None


def _notes(place: Place | None, dut: RunningDut, of: tracing.Tracer | None) -> tuple[str, ...]:
    return (*(place.notes if place else ()), *dut.notes, *(of.notes if of else ()))


def _not_traced(known: TrialSoFar, why: str) -> None:
    known.document = replace(known.document, trace=TraceOfTrial("off", why))


def _threads(dut: RunningDut) -> tuple[int, ...]:
    """Give the ids of the device's threads as they are now; empty where it has no process."""
    return tuple(tracing.threads_of(*processes_of(dut)))


def _hops(dut: RunningDut, threads: Sequence[tuple[int, ...]]) -> tuple[Hop, ...]:
    """Describe the hops of a stopped chain."""
    return tuple(
        Hop(hop.name, hop.core, own, hop.device.stop())
        for hop, own in zip(dut.hops, threads, strict=True)
    )


def died_of(dut: RunningDut) -> str | None:
    """Say which processes of a stopped device had ended before, and how; None: none had."""
    ends = [(hop.name, hop.device.died) for hop in dut.hops]
    ends.append((SWITCH if dut.hops else DEVICE, dut.died))
    return "; ".join(f"{name} {how}" for name, how in ends if how is not None) or None


def _gap_logs(dut: RunningDut) -> list[GapLog]:
    """Give the logs of gaps that there are, those of a chain under the names of its hops."""
    if not dut.hops:
        return [] if dut.gaps_file is None else [GapLog(dut.gaps_file)]
    logs = [(hop.device.gaps_file, hop.name) for hop in dut.hops]
    return [GapLog(path, name) for path, name in logs if path is not None]


def _stamp_logs(dut: RunningDut) -> list[StampLog]:
    """Give the stamps of packets at the hops, in the order of direction 0, or at the device."""
    stamped = [(hop.device.stamps_file, hop.name) for hop in dut.hops]
    stamped = stamped or [(dut.stamps_file, DEVICE)]
    return [StampLog(path, name) for path, name in stamped if path is not None]


@contextmanager
def without_collections() -> Iterator[None]:
    """Switch garbage collection off: it takes milliseconds, perhaps of the generator's core."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _wakes(pids: list[int], tick_ms: int) -> Iterator[None]:
    """Yield at once, then whenever one of the processes ends, and every tick."""
    poll = select.poll()
    with ExitStack() as stack:
        for pid in pids:
            try:
                descriptor = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
            stack.callback(os.close, descriptor)
            poll.register(descriptor, select.POLLIN)
        yield
        while True:
            poll.poll(tick_ms)
            yield


def _run_id(scope: RunScope, trial: Trial) -> int:
    """Make an id that no other trial has: packets of it left in a device count as orphans."""
    return (int(scope.id, 36) << 12 | trial.index & 0xFFF) & 0xFFFFFFFF
