"""The run behind an effect: what is asked of the experiment, and what its trials gave."""

from collections.abc import Sequence
from math import inf

import numpy as np
import pyarrow.compute as pc

from taut.analysis.load import load_words
from taut.analysis.results import is_measured
from taut.analysis.runs import share_gone
from taut.analysis.trial_tables import DISTRIBUTION, Distributions
from taut.core.errors import InputError
from taut.core.percentiles import PERCENTILES, is_supported, percentile_rank
from taut.experiment.model import Spec
from taut.experiment.plan import make_plan
from taut.host.apply import Outcome
from taut.host.knob import KnobSet
from taut.host.state import FOUND, HostStates
from taut.records import parquet
from taut.records.documents.results import WITHOUT_VOID, TrialResult
from taut.records.documents.trial import InForce
from taut.records.rundir import RunDirectory, TrialDirectory
from taut.trim.effect import Measured

LISTED = ("p50", "p99", "p99.9", "p99.99")
"""The maximum is left out: it is a single packet."""
_DEVICE = "forwarder"  # The device's thread in gaps.parquet.


def percentiles_of(spec: Spec) -> tuple[str, ...]:
    """Give the listed percentiles that every trial will have at least SUPPORT packets above."""
    trials = [t for t in make_plan(spec).trials if not t.device.is_floor]
    if not trials:
        raise InputError("effect: the experiment has no device but the loopback; name one")
    fewest = min(trial.n_measured for trial in trials)
    found = tuple(name for name in LISTED if is_supported(fewest, name))
    if not found:
        raise InputError(
            f"effect: a trial has {fewest} packets, too few for any percentile; lengthen it "
            "(--duration)"
        )
    return found


def try_sets(states: HostStates, sets: Sequence[KnobSet]) -> None:
    """Turn every set on and off once, so that an impossible set is known before minutes are spent.

    InputError: nothing of a set comes into force; TautError: one of its changes fails.
    """
    for one in sets:
        entered = states.enter(one.state)
        if not entered.of(Outcome.IN_FORCE):
            said = sorted({f"{r.outcome} {r.note}".strip() for r in entered.results})
            raise InputError(
                f"knob {one.state.name}: nothing to turn: every change is {' or '.join(said)}"
            )
    states.enter(FOUND)


def read_trials(run: RunDirectory, results: Sequence[TrialResult]) -> list[Measured]:
    """Take what analysis found of every whole trial of a device, and the device's gaps."""
    by_name = {trial.name: trial for trial in run.trials()}
    return [
        _read(by_name[result.name], result)
        for result in results
        if is_measured(result) and not result.device.is_floor
    ]


def _read(trial: TrialDirectory, result: TrialResult) -> Measured:
    figures = result.measured
    after = trial.meta.host.after or InForce()
    return Measured(
        state=result.device.host,
        repetition=result.repetition or 0,
        cell=f"{result.device.dut}, {load_words(result.load)}",
        percentiles=_percentiles(trial, figures.warm.on_time),
        stolen_share=stolen_share(trial),
        sent=figures.warm.sent,
        lost=figures.warm.lost,
        gone=share_gone(result, WITHOUT_VOID),
        void_share=figures.void_share,
        n_not_kept=len(after.lost),
    )


def _percentiles(trial: TrialDirectory, n_due: int) -> dict[str, float]:
    """Give the listed percentiles that enough of `n_due` support, in ns; inf: it is a lost one.

    As in a trim, void packets are left out: their time is the generator's, not the device's.
    """
    rows = Distributions(trial.path / DISTRIBUTION).of("latency")
    own = rows.filter(pc.invert(pc.or_(rows["is_cold"], rows["is_void"]))).sort_by("value_ns")
    up_to = np.cumsum(own["n"].to_numpy())
    values = [*own["value_ns"].to_pylist(), inf]
    return {
        name: max(1, values[int(np.searchsorted(up_to, percentile_rank(n_due, PERCENTILES[name])))])
        for name in LISTED
        if is_supported(n_due, name)
    }


def stolen_share(trial: TrialDirectory) -> float | None:
    """Give the share of the measured time that lies in the logged gaps of the device's thread.

    None where the device keeps no log.
    """
    stats, traffic = trial.meta.dut.stats, trial.meta.traffic
    if stats is None or stats.gaps is None or not trial.gaps.is_file():
        return None
    start_ns, duration_ns = traffic.warm_up_ns or 0, traffic.duration_ns or 0
    rows = parquet.read_table(trial.gaps, filters=[("thread", "=", _DEVICE)])
    starts = pc.max_element_wise(rows["start_ns"], start_ns)
    ends = pc.min_element_wise(rows["end_ns"], start_ns + duration_ns)
    inside = pc.max_element_wise(pc.subtract(ends, starts), 0)
    return float((pc.sum(inside).as_py() or 0) / duration_ns)
