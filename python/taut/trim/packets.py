"""Measures a host by the packets of an experiment: its devices under its loads, in every state."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from taut.analysis.load import rate_words
from taut.core.errors import InputError
from taut.core.percentiles import PERCENTILES, SUPPORT, is_supported
from taut.experiment.model import Spec
from taut.experiment.neighbour_spec import refuse_in_turn
from taut.experiment.placed import refuse_places_in_turn
from taut.experiment.plan import STATE_NS, Trial, make_plan
from taut.experiment.plan import Plan as Trials
from taut.experiment.runner import Session
from taut.explain.read.packets import read_percentile
from taut.explain.tell.result import Options
from taut.explain.trial import explain_trial
from taut.host.host import Host
from taut.host.plan import Plan
from taut.host.state import FOUND, HostState, plan_state
from taut.records.documents.generator import GeneratorResult, warm_count
from taut.records.documents.json_form import read_document
from taut.records.documents.trial import TRIAL_FILE, InForce, TrialDocument
from taut.records.late import count_on_time, count_void
from taut.records.tables import EVENTS, HISTOGRAM, PACKETS
from taut.trim.bench import Repetition
from taut.trim.candidates import CauseFound, shares_of


@dataclass(frozen=True)
class Measured:
    """One trial that ended as planned."""

    trial: Trial
    folder: Path
    generator: GeneratorResult

    def gone(self, *, with_void: bool = False) -> float:
        """Give the share lost or not sent, of all packets or of those that are not void."""
        due = count_due(self.generator, with_void=with_void)
        histogram = self.folder / HISTOGRAM
        came = count_on_time(histogram) + (count_void(histogram) if with_void else 0)
        return (due - came) / max(1, due)

    @property
    def packets(self) -> Path:
        """The record of every packet."""
        return self.folder / PACKETS

    @property
    def cell(self) -> str:
        """The name of its device and load; trials of one cell are compared over the states."""
        return cell_of(self.trial)


def count_due(generator: GeneratorResult, *, with_void: bool = False) -> int:
    """Count packets due after the warm-up; without void ones, those it was on time with."""
    due, void = (warm_count(generator.counters, name) for name in ("due", "void"))
    return due - (0 if with_void else void)


class PacketsBench:
    """A bench over the trials of a run that is under way."""

    def __init__(self, session: Session, spec: Spec, target: str) -> None:
        self._session = session
        self._spec = spec
        self._target = target

    @property
    def figure(self) -> str:
        """The percentile asked for, of packets that measure the device.

        Void packets are left out: their time is the generator's. States of the host that move other
        work off the device's core may move it to the generator's; with void packets, a trim of
        two cores would be judged by what it does to the generator.
        """
        return f"{self._target} of service latency, of packets the generator was on time with"

    @property
    def unusable(self) -> str:
        """Say what leaves a device under a load without a figure."""
        return (
            "in one state a device under a load has no figure, for its trial failed, or fewer than "
            f"{SUPPORT} packets that the generator was on time with lie above {self._target}; or "
            "one of them is better by a lost packet, and another one worse"
        )

    def scout(self) -> Sequence[CauseFound]:
        """Run everything once as found; add up what made the packets above the target late."""
        return causes_of(list(self.run([FOUND], range(1, 2))), self._target)

    def plan(self, state: HostState) -> Plan:
        """Plan for the cores and devices of this run."""
        host = Host()
        return plan_state(host, self._session.states.situation(), state)

    def measure(self, states: Sequence[HostState], repetitions: range) -> list[Repetition]:
        """Run the trials of every state; read the target of each."""
        found = {n: tuple(_no_figures(states) for _ in range(4)) for n in repetitions}
        for measured in self.run(states, repetitions):
            trial, cell = measured.trial, measured.cell
            on_time, gone, all_packets, all_gone = (
                figures[trial.host.name] for figures in found[trial.repetition]
            )
            for with_void, of, lost in ((False, on_time, gone), (True, all_packets, all_gone)):
                lost[cell] = measured.gone(with_void=with_void)
                n_due = count_due(measured.generator, with_void=with_void)
                value = read_percentile(
                    measured.packets, self._target, with_void=with_void, n_due=n_due
                )
                if value is not None:
                    of[cell] = float(max(1, value))
        return [
            Repetition(number, on_time, gone, all_packets, all_gone)
            for number, (on_time, gone, all_packets, all_gone) in found.items()
        ]

    def seconds(self, n_states: int) -> float:
        """Guess by the length of the plan."""
        return repetition_seconds(self._spec, n_states)

    def run(self, states: Sequence[HostState], repetitions: range) -> Iterator[Measured]:
        """Run the trials of every state, in turn; give those of devices that ended as planned.

        One at whose end its state was not in force any more is of no state, and is left out.
        """
        plan = self._plan(states, repetitions, len(self._session.ordered))
        self._session.run(plan)
        for trial in plan.trials:
            folder = self._session.run_directory.trials_path / trial.name
            document = read_document(TrialDocument, folder / TRIAL_FILE)
            if trial.device.is_floor or not document.is_whole:
                continue
            if lost := (document.host.after or InForce()).lost:
                self._session.progress.warned(
                    f"{trial.name} does not count: at its end not in force any more: "
                    f"{', '.join(lost[:3])}; somebody else changes this host"
                )
                continue
            yield Measured(trial, folder, document.generator or GeneratorResult())

    def _plan(self, states: Sequence[HostState], repetitions: range, first: int) -> Trials:
        return make_plan(
            repeated(_in_turn(self._spec, len(states)), repetitions.stop - 1),
            states=states,
            first_index=first,
            repetitions=repetitions,
        )


def _no_figures(states: Sequence[HostState]) -> dict[str, dict[str, float]]:
    return {state.name: {} for state in states}


def repetition_seconds(spec: Spec, n_states: int) -> float:
    """Guess how long everything takes once in each of so many states."""
    states = [HostState(f"state {n}", only=()) for n in range(n_states)]
    plan = make_plan(repeated(_in_turn(spec, n_states), 1), states=states)
    return (plan.total_ns + STATE_NS) / 1e9


def _in_turn(spec: Spec, n_states: int) -> Spec:
    """Leave the floor to the scouting run: states are compared by their devices alone."""
    if n_states == 1:
        return spec
    traffic = tuple(t.model_copy(update={"floor": None}) for t in spec.traffic)
    return spec.model_copy(update={"traffic": traffic, "floor": False})


def repeated(spec: Spec, repetitions: int) -> Spec:
    """Give all loads of an experiment the same number of repetitions, each of which is a pair.

    In the order of the file all repetitions of one state would come before those of the next, and
    what drifts meanwhile would pass for an effect.
    """
    traffic = tuple(t.model_copy(update={"repetitions": None}) for t in spec.traffic)
    in_turn = {"repetitions": repetitions, "traffic": traffic, "order": "interleaved"}
    return spec.model_copy(update=in_turn)


def check_target(spec: Spec, target: str) -> None:
    """InputError: the spec names states itself, or its trials are too short for the percentile."""
    if spec.host:
        raise InputError("[[host]]: trim chooses the states of the host; take it out of the file")
    refuse_in_turn(spec.neighbour, "trim")
    refuse_places_in_turn(spec.placement, spec.device, "trim")
    if target not in PERCENTILES:
        raise InputError(
            f"--target {target}: no such percentile; there are {', '.join(PERCENTILES)}"
        )
    for trial in make_plan(spec).trials:
        n_packets = trial.n_measured
        if not is_supported(n_packets, target):
            raise InputError(
                f"--target {target}: {cell_of(trial)}: a trial has {n_packets} packets, fewer than "
                f"{SUPPORT} of them above {target}; lengthen it (--set duration=...) or lower the "
                "target"
            )
        if trial.record != "all":
            raise InputError(
                f"--target {target}: {cell_of(trial)}: record = {trial.record!r}; trim reads every "
                "packet: lower the rate, or record = 'all'"
            )


def cell_of(trial: Trial) -> str:
    """Name a device under a load: "eager, 100 kpkt/s"; no two of one experiment alike."""
    words = f"{trial.device.name}, {rate_words(trial.offered_pps)}"
    if trial.frame != 64:
        words += f", {trial.frame} B" if trial.frame != "imix" else ", imix"
    return words if trial.traffic.name == "constant" else f"{words}, {trial.traffic.name}"


def causes_of(trials: Sequence[Measured], target: str) -> list[CauseFound]:
    """Add up the causes of packets above the target; trials without a trace add nothing."""
    packets: Counter[str] = Counter()
    titles: dict[str, str] = {}
    for measured in trials:
        if not (measured.folder / EVENTS).is_file():
            continue
        try:
            explained = explain_trial(measured.folder, Options(over=target, n_worst=1))
        except InputError:
            continue
        for total in explained.causes:
            packets[total.cause] += total.n_packets
            titles[total.cause] = total.title
    return shares_of(packets, titles)
