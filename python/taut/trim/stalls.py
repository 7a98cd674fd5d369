"""Measures a host by the stalls of a program that taut does not load: traced, in every state.

The figure of a core is how long the thread that is pinned there did not have it, as the kernel's
events tell, for each second of watching. What the hypervisor or the firmware took leaves no event
and is not in it. Below a microsecond a second there is nothing to compare: such a figure counts as
one microsecond, so that its logarithm exists.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from taut.core.errors import TautError
from taut.experiment.plan import STATE_NS, derive_seed
from taut.explain import causes
from taut.explain.causes import title_of
from taut.explain.tell.result import Explanation
from taut.explain.walk.pollers import WorkMode
from taut.explain.window import explain_window
from taut.host.apply import Outcome
from taut.host.plan import Plan
from taut.host.state import FOUND, HostState, plan_state
from taut.records.documents.trial import InForce
from taut.records.documents.trim import CauseOfTrim, WindowOfTrim
from taut.trim.bench import Repetition
from taut.trim.candidates import CauseFound, shares_of
from taut.trim.watched import Watch

LEAST_NS = 1_000.0
"""The smallest figure, in ns per second (see above)."""
N_SCOUTING = 3
"""How many windows of the host as found are watched before anything is chosen."""

_OVERHEAD_S = 1.0
"""The time for arming the tracer and explaining its events, for each window."""


@dataclass(frozen=True)
class Window:
    """A stretch of time in which the process was watched in one state of the host."""

    state: str
    repetition: int
    started_utc: str
    duration_ns: int
    figures: Mapping[str, float]
    """By core, ns per second; a core whose events were lost is left out."""
    causes: Mapping[str, float]
    """By cause, ns per second, on all cores together."""
    remedies: Sequence[str]
    before: InForce
    """What verify said of the state before the window, and after it."""
    after: InForce
    failure: str = ""

    def document(self) -> WindowOfTrim:
        """Give one entry of the document's `windows`."""
        return WindowOfTrim(
            host=self.state,
            repetition=self.repetition,
            started_utc=self.started_utc,
            duration_ns=self.duration_ns,
            stalled_ns_per_s=self.figures,
            causes_ns_per_s=self.causes,
            remedies=tuple(self.remedies),
            before=self.before,
            after=self.after,
            failure=self.failure or None,
        )


class StallsBench:
    """A bench over windows of a watch that is under way; `seed` orders the states."""

    def __init__(
        self,
        watch: Watch,
        window_ns: int,
        seed: int,
        measured: Callable[[Sequence[Window]], None] = lambda _: None,
    ) -> None:
        """`measured` is called after each window with all windows so far."""
        self._watch = watch
        self._window_ns = window_ns
        self._seed = seed
        self._measured = measured
        # Decided in each window anew, a thread's calls would be stalls in one and work in another.
        self._modes: dict[int, WorkMode] = {}
        self.windows: list[Window] = []

    @property
    def figure(self) -> str:
        return f"time that {self._watch.process.comm} does not have its cores"

    @property
    def unusable(self) -> str:
        """Say what leaves a core without a figure."""
        return (
            "in one state a core has no figure, for events were lost there, or a setting was not "
            "in force any more"
        )

    def scout(self) -> Sequence[CauseFound]:
        """Watch the process with the host as found; add up what had its cores."""
        stolen: dict[str, float] = {}
        for _ in range(N_SCOUTING):
            for cause, ns in self._look(FOUND, 1).causes.items():
                stolen[cause] = stolen.get(cause, 0.0) + ns
        return shares_of(stolen, {cause: title_of(cause) for cause in stolen})

    def plan(self, state: HostState) -> Plan:
        """Plan for the cores of the process."""
        return plan_state(self._watch.host, self._watch.states.situation(), state)

    def measure(self, states: Sequence[HostState], repetitions: range) -> list[Repetition]:
        """Watch it in every state, once a repetition."""
        found = []
        for number in repetitions:
            looks = [self._look(state, number) for state in in_order(states, number, self._seed)]
            found.append(Repetition(number, {w.state: w.figures for w in looks if w.figures}))
        return found

    def seconds(self, n_states: int) -> float:
        """Guess by the windows and the changes of state between them."""
        return seconds_of(self._window_ns, n_states)

    def _look(self, state: HostState, repetition: int) -> Window:
        watch = self._watch
        watch.process.check(watch.host)
        entered = watch.states.enter(state)
        before = watch.states.read_in_force()
        started = datetime.now(UTC).isoformat(timespec="milliseconds")
        stalls = {} if before.lost else self._explained()
        after = watch.states.read_in_force()
        lost = before.lost or after.lost
        if lost:
            stalls = {}
        window = Window(
            state=state.name,
            repetition=repetition,
            started_utc=started,
            duration_ns=self._window_ns,
            figures=figures_of(stalls, self._window_ns),
            causes=causes_of(stalls, self._window_ns),
            remedies=list(
                dict.fromkeys(
                    result.wish.remedy for result in entered.of(Outcome.IN_FORCE, Outcome.ALREADY)
                )
            ),
            before=before,
            after=after,
            failure=_failure(lost, stalls),
        )
        watch.process.check(watch.host)
        self.windows.append(window)
        self._measured(self.windows)
        return window

    def _explained(self) -> dict[int, Explanation]:
        watch = self._watch
        threads = watch.process.threads
        try:
            found = explain_window(
                threads, self._window_ns, watch.environment, watch.scratch, self._modes
            )
        except TautError:
            # The tracer fails when the process is gone: say that instead.
            watch.process.check(watch.host)
            raise
        return dict(zip(threads, found, strict=True))


def in_order(states: Sequence[HostState], repetition: int, seed: int) -> list[HostState]:
    """Shuffle the states by the seed; every second repetition reverses that order."""
    pair = (repetition + 1) // 2
    # Not for secrets: the same seed must give the same order.
    rng = random.Random(derive_seed(seed, "order", str(pair)))  # noqa: S311
    order = rng.sample(list(states), len(states))
    return order if repetition % 2 == 1 else order[::-1]


def figures_of(stalls: Mapping[int, Explanation], window_ns: int) -> dict[str, float]:
    """Give, by core, how long its thread did not have it: ns per second, at least LEAST_NS.

    A core that lost events is left out: nobody knows who had it then.
    """
    return {
        f"core {core}": max(LEAST_NS, _per_s(sum(_of(found).values()), window_ns))
        for core, found in stalls.items()
        if causes.TRACE_LOST.id not in _of(found)
    }


def causes_of(stalls: Mapping[int, Explanation], window_ns: int) -> dict[str, float]:
    """Give, by cause, how long all threads together did not have their cores: ns per second."""
    total: Counter[str] = Counter()
    for found in stalls.values():
        total.update(_of(found))
    return {cause: _per_s(ns, window_ns) for cause, ns in total.items()}


def compared_causes(windows: Sequence[Window], before: str, after: str) -> list[CauseOfTrim]:
    """Set the causes in two states side by side, the largest first; scouting windows do not count.

    `before` and `after` are shares of the time stolen; `stolen_ns_before` and `stolen_ns_after`
    their mean over the windows, in ns per second. Empty where a state was not measured.
    """
    first, second = (_mean_causes(windows, state) for state in (before, after))
    if first is None or second is None:
        return []
    sums = [max(sum(mean.values()), 1.0) for mean in (first, second)]
    order = sorted({*first, *second}, key=lambda c: -max(first.get(c, 0.0), second.get(c, 0.0)))
    return [
        CauseOfTrim(
            cause=cause,
            title=title_of(cause),
            before=first.get(cause, 0.0) / sums[0],
            after=second.get(cause, 0.0) / sums[1],
            stolen_ns_before=first.get(cause, 0.0),
            stolen_ns_after=second.get(cause, 0.0),
        )
        for cause in order
    ]


def seconds_of(window_ns: int, n_states: int) -> float:
    """Guess how long it takes to watch once in each of so many states."""
    return n_states * (window_ns / 1e9 + _OVERHEAD_S) + max(1, n_states - 1) * STATE_NS / 1e9


def scouting_seconds(window_ns: int) -> float:
    """Guess how long the scouting takes."""
    return N_SCOUTING * (window_ns / 1e9 + _OVERHEAD_S)


def new_seed() -> int:
    """Draw a seed for the order of the states; it is stored with the run."""
    return derive_seed(time.time_ns(), "trim")


def _of(found: Explanation) -> dict[str, int]:
    totals: Counter[str] = Counter()
    for total in found.gap_totals:
        totals[total.cause] += total.total_ns
    return dict(totals)


def _per_s(ns: float, window_ns: int) -> float:
    return ns * 1e9 / window_ns


def _mean_causes(windows: Sequence[Window], state: str) -> dict[str, float] | None:
    used = [w for w in windows if w.state == state and w.repetition > 1 and w.figures]
    if not used:
        return None
    names = {cause for window in used for cause in window.causes}
    return {c: sum(w.causes.get(c, 0.0) for w in used) / len(used) for c in names}


def _failure(lost: Sequence[str], stalls: Mapping[int, Explanation]) -> str:
    if lost:
        return f"not in force any more: {', '.join(lost[:3])}"
    lost = [str(core) for core, found in stalls.items() if causes.TRACE_LOST.id in _of(found)]
    return f"events lost on core {', '.join(lost)}" if lost else ""
