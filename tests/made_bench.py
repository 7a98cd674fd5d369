"""Devices that are made up, in real trials' folders, and a session over them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from taut.core.errors import TrialError
from taut.core.files import write_json
from taut.experiment.cores import Cores
from taut.experiment.model import Spec
from taut.experiment.plan import Trial, make_plan
from taut.experiment.progress import Silent
from taut.experiment.runner import Session, open_run
from taut.experiment.spec import spec_hash
from taut.experiment.stored import TrialSoFar
from taut.host.host import Host
from taut.host.situation import Situation
from taut.host.state import HostStates
from taut.host.writer import Writer
from taut.records.documents.generator import GeneratorResult
from taut.testbed.scope import RunScope

LOOPBACK_PPS, EAGER_PPS = 4e6, 1e6
SEARCH = """
name = "made"
duration = "100ms"
warm_up = "0s"
[search]
min = "1kpps"
max = "10Mpps"
[[goal]]
name = "ndr"
sum = "1s"
width = "20%"
[[goal]]
name = "pdr"
sum = "1s"
width = "20%"
[[device]]
driver = "taut_forward"
name = "eager"
[[traffic]]
rates = ["10kpps"]
"""
"""Two goals for one device, in sums of a second."""

CORES = Cores(generator=0, device=0, writer=0, runner=0)


@dataclass
class Bench:
    """Devices that carry so many packets a second and not one more."""

    capacity: dict[str, float] = field(
        default_factory=lambda: {"loopback_memif": LOOPBACK_PPS, "eager": EAGER_PPS}
    )
    holds: int = 0
    """Packets that a device may have in its buffers when the sending is over."""
    refuses: bool = False
    """What a device does not carry is refused by its link, and so never sent."""
    late_above: float = float("inf")
    """Above, the generator is held up in every trial, whatever becomes of its packets."""
    lost_by: Sequence[int] = (0,)
    """What a device loses besides, by repetition, over and over."""
    limited_above: float = float("inf")
    """Above, the generator is held up in every trial and loses packets."""
    sends_most: float = float("inf")
    """The generator sends no faster into a device, and is held up in what it sends above."""
    slows_to: float = float("inf")
    """Into a device no more is sent a second, on time and without a loss."""
    stalls_above: float = float("inf")
    """Above, a stall makes 0.6 % of what is sent into a device void, and loses 0.05 %."""
    late_at: int = 0
    """At each load, in the trial of this number, 2 % of what is sent into a device is void."""
    limited_once: bool = False
    """The first trial at each load is held up."""
    fails: Callable[[Trial], bool] = lambda _: False
    dies_after: int | None = None
    called: list[str] = field(default_factory=list)

    def __call__(self, trial: Trial, folder: Path, known: TrialSoFar) -> None:
        if self.dies_after is not None and len(self.called) >= self.dies_after:
            raise KeyboardInterrupt
        self.called.append(trial.name)
        if self.fails(trial):
            raise TrialError("the device died")
        due = max(1, round(trial.offered_pps * trial.duration_ns / 1e9))
        carried = self.capacity[trial.device.name] * trial.duration_ns / 1e9
        is_floor = trial.device.is_floor
        void = unsent = own = 0
        if not is_floor and trial.offered_pps > self.stalls_above:
            void, own = ceil(0.006 * due), ceil(0.0005 * due)
        if not is_floor and trial.repetition == self.late_at:
            void = ceil(0.02 * due)
        n_void = void - own
        besides = 0 if is_floor else self.lost_by[(trial.repetition - 1) % len(self.lost_by)]
        lost = max(0, due - int(carried) - self.holds) + own + besides
        is_first = self.limited_once and trial.repetition == 1
        offered = achieved = trial.offered_pps
        if self.refuses:
            unsent, lost, achieved = lost, 0, offered * (1 - lost / due)
        if not is_floor and achieved > self.sends_most:
            achieved, void, lost = self.sends_most, due, 1
        if not is_floor and achieved > self.slows_to:
            achieved, lost = self.slows_to, 0
        if not is_floor and (trial.offered_pps > self.limited_above or is_first):
            void, lost = due, max(1, lost)
        if not is_floor and trial.offered_pps > self.late_above:
            void = due
        known.document = replace(
            known.document,
            generator=GeneratorResult(
                counters(due=due, unsent=unsent, lost=lost, void=void, lost_void=min(own, lost)),
                offered_pps=offered,
                achieved_pps=achieved,
            ),
        )
        back = due - unsent - lost - n_void
        histogram(folder / "histogram.parquet", {900: back}, n_void=n_void)


def counters(**counts: int) -> dict[str, int]:
    cold = ("cold", "unsent_cold", "lost_cold", "void_cold")
    names = ("due", "unsent", "lost", "void", "lost_void", *cold)
    return {**dict.fromkeys(names, 0), **counts}


def histogram(
    path: Path,
    n_at: dict[int, int],
    *,
    is_void: bool = False,
    is_cold: bool = False,
    n_void: int = 0,
) -> None:
    counted = [(value, n, is_void) for value, n in n_at.items()]
    counted += [(900, n_void, True)] if n_void else []
    rows = [
        {
            "series": "service",
            "direction": 0,
            "is_void": void,
            "is_cold": is_cold,
            "value_ns": value,
            "width_ns": 1 if value < 10_000 else 10,
            "n": n,
        }
        for value, n, void in counted
    ]
    pq.write_table(pa.Table.from_pylist(rows), path)


@contextmanager
def sessions(tmp_path: Path) -> Iterator[Callable[[Bench, Spec], Session]]:
    """Give what opens tmp_path/run, anew or once more, with made-up devices."""

    def nobody_asks() -> Situation:
        raise AssertionError("the host was to be changed")

    host = Host(tmp_path)

    def opened(bench: Bench, spec: Spec) -> Session:
        out = tmp_path / "run"
        directory = open_run(make_plan(spec), out, resume=True)
        write_json(out / "manifest.json", {"spec": {"hash": spec_hash(spec)}})
        states = HostStates(host, Writer(host), nobody_asks, "test")
        return Session(directory, scope, CORES, states, Silent(), bench)

    with RunScope(tmp_path / "base") as scope:
        yield opened
