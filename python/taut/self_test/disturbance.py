"""Acts made on a trial while it is measured, one kind after the other, by taut-inject."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from taut.binaries.inject import INJECTIONS, InjectRequest, inject
from taut.core.cpus import cpuset_cores
from taut.core.errors import TautError
from taut.experiment.cores import Cores
from taut.experiment.plan import Trial
from taut.records.clock import fit_of
from taut.records.convert import PACKETS_FILE
from taut.records.layout import RecordKind
from taut.records.raw_file import open_raw
from taut.self_test.acts import Acts
from taut.self_test.paths import PathAct, Target
from taut.self_test.recording import read_acts

START_NS = 200_000_000
"""The pause before each kind of act, in which taut-inject prepares."""

_LEAD_NS = 300_000_000
_READY_S = 60.0
"""How long the kernel may take to move a device into a control group: usually milliseconds."""
_LOOK_S = 0.02
_LONG_NS = 120_000_000_000
"""Longer than any trial of the self-test: such an injector is told when to end."""


def duration_ns(acts: Sequence[PathAct], n_acts: int) -> int:
    """How long acts of all these kinds take."""
    return 2 * _LEAD_NS + sum(START_NS + _phase_ns(act, n_acts) for act in acts)


def _phase_ns(act: PathAct, n_acts: int) -> int:
    return n_acts * 1_000_000_000 // act.per_s


@dataclass
class Made:
    """What was done to a trial."""

    acts: dict[str, Acts] = field(default_factory=dict)
    """Acts by kind, in ns on the trial's clock."""
    failed: dict[str, str] = field(default_factory=dict)
    """Kinds that could not be made, and why."""


class Disturbance:
    """The acts of every trial of a run (experiment.beside.Beside), and when they were made."""

    def __init__(
        self, folder: Path, n_acts: int, acts_of: Callable[[Trial], Sequence[PathAct]]
    ) -> None:
        self.made: dict[str, Made] = {}
        """What was done, by name of the trial."""
        self._folder = folder
        self._n_acts = n_acts
        self._acts_of = acts_of
        self._running: dict[str, int] = {}
        self._is_over = threading.Event()

    @property
    def ends_early(self) -> bool:
        """Never: every act is to be made."""
        return False

    @contextmanager
    def device_ready(self, trial: Trial, cores: Cores, device: int | None) -> Iterator[None]:
        """Put the device into the control group of its quota, before the trace begins."""
        self._scene = _Scene(trial, cores, device)
        self._acts = self._acts_of(trial)
        self._now = self.made[trial.name] = Made()
        self._is_over.clear()
        waiting = [act for act in self._acts if act.wants_group]
        threads = [self._start_waiting(act) for act in waiting]
        try:
            yield
        finally:
            self._interrupt(waiting)
            for thread in threads:
                thread.join()
        self._read(waiting)

    @contextmanager
    def generating(self, generator: int, raw: Path) -> Iterator[None]:
        """Make all acts, one kind after the other; what was made is known afterwards."""
        self._scene.generator, self._scene.packets = generator, raw / PACKETS_FILE
        thread = threading.Thread(target=self._act_in_turn)
        thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            self._interrupt([act for act in self._acts if not act.wants_group])
            thread.join()
        self._read([act for act in self._acts if not act.wants_group])

    def _act_in_turn(self) -> None:
        packets = self._scene.packets
        while not (packets.exists() and packets.stat().st_size) and not self._is_over.wait(_LOOK_S):
            pass
        self._is_over.wait(self._scene.trial.warm_up_ns / 1e9 + _LEAD_NS / 1e9)
        for act in self._acts:
            if self._is_over.is_set() or act.name in self._now.failed:
                continue
            if act.wants_group:
                self._signal(act, signal.SIGUSR1)
                self._is_over.wait(_phase_ns(act, self._n_acts) / 1e9)
            else:
                self._inject(act, _phase_ns(act, self._n_acts))

    def _inject(self, act: PathAct, length_ns: int) -> None:
        """Run taut-inject to its end; it chooses another core than its victim's itself."""
        os.sched_setaffinity(0, cpuset_cores())
        scene = self._scene
        victim = scene.device if act.target is Target.DEVICE else scene.generator
        request = InjectRequest(
            act.inject,
            scene.core_of(act.target),
            self._folder_of(act),
            act.per_s,
            length_ns,
            victim=victim,
            waits=act.wants_group,
        )
        try:
            inject(request, lambda pid: self._running.__setitem__(act.name, pid))
        except TautError as error:
            self._now.failed[act.name] = str(error)
        finally:
            self._running.pop(act.name, None)

    def _folder_of(self, act: PathAct) -> Path:
        folder = self._folder / f"{self._scene.trial.name}-{act.name}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _start_waiting(self, act: PathAct) -> threading.Thread:
        """Have an injector make ready; entered when the device is in its control group."""
        device = self._scene.device
        before = now = _groups_of(device)
        thread = threading.Thread(target=self._inject, args=(act, _LONG_NS))
        thread.start()
        deadline = time.monotonic() + _READY_S
        while thread.is_alive() and now == before and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
            now = _groups_of(device)
        if now is None:
            self._now.failed[act.name] = "the device ended before it was in its control group"
        elif thread.is_alive() and now == before:
            why = f"the device was not in its control group after {_READY_S:.0f} s"
            self._now.failed[act.name] = why
        return thread

    def _interrupt(self, acts: Sequence[PathAct]) -> None:
        for act in acts:
            self._signal(act, signal.SIGINT)

    def _signal(self, act: PathAct, number: signal.Signals) -> None:
        pid = self._running.get(act.name)
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def _read(self, acts: Sequence[PathAct]) -> None:
        """Read what was made, in ns on the trial's clock."""
        fit = fit_of(open_raw(self._scene.packets, RecordKind.PACKET).header)
        for act in acts:
            folder = self._folder_of(act)
            if act.name not in self._now.failed and (folder / INJECTIONS).exists():
                self._now.acts[act.name] = read_acts(folder, fit)


@dataclass
class _Scene:
    """The trial under way."""

    trial: Trial
    cores: Cores
    device: int | None
    generator: int = 0
    packets: Path = Path()

    def core_of(self, target: Target) -> int:
        """Where the target runs; where there is no device the generator does all."""
        is_floor = self.trial.device.dut.n_links == 0
        is_generator = is_floor or target is Target.GENERATOR
        return self.cores.generator if is_generator else self.cores.device


def _groups_of(process: int | None) -> str | None:
    """Give the control groups of a process, as the kernel lists them; None: it has ended."""
    try:
        return Path(f"/proc/{process}/cgroup").read_text()
    except OSError:
        return None
