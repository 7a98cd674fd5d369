"""What a planned run will be able to claim: said before it starts, for afterwards is too late."""

from itertools import groupby
from math import prod

from taut.core.units import duration_words
from taut.experiment.plan import Plan, Trial


def claims_note(plan: Plan) -> str | None:
    """Say in one line that the run's repetitions are too few for claims; None: they are enough."""
    # Here, not above: commands that measure nothing start without it.
    from taut.analysis.claims import LEAST_RUNS, runs_needed

    trials = [trial for trial in plan.trials if not trial.device.is_floor]
    if not trials:
        return None
    n_runs = min(_n_repetitions(trials).values())
    n_figures = _n_figures(trials)
    have = f"{n_runs} repetition{'s' if n_runs > 1 else ''}"
    if not n_figures:
        if n_runs >= LEAST_RUNS:
            return None
        return (
            f"{have}: figures without claims; `taut compare` claims nothing of fewer than "
            f"{LEAST_RUNS} on either side."
        )
    is_paired = plan.spec.order == "interleaved" or len(_states(trials)) == 1
    wanted = runs_needed(n_figures, is_paired=is_paired)
    if n_runs >= wanted:
        return None
    least = runs_needed(n_figures, is_paired=is_paired, n_differing=n_figures)
    figures = "figure" if n_figures == 1 else f"{n_figures} figures"
    if n_runs >= least > LEAST_RUNS:
        have += f" claim something only where nearly all of the verdict's {figures} differ"
    else:
        have += f": the verdict will have its {figures} without any claim"
    time = duration_words(plan.total_ns * wanted // n_runs)
    return f"{have}; repetitions = {wanted} would do, about {time}."


def _surroundings(trial: Trial) -> tuple[str, str, str]:
    beside = "" if trial.neighbour is None else trial.neighbour.name
    return trial.host.name, trial.place.name, beside


def _states(trials: list[Trial]) -> set[tuple[str, str, str]]:
    """Give the surroundings there are: states of the host by placements by neighbours."""
    return {_surroundings(trial) for trial in trials}


def _load(trial: Trial) -> tuple[str, str, str]:
    return trial.traffic.name, str(trial.frame), trial.rate


def _n_repetitions(trials: list[Trial]) -> dict[tuple[str, ...], int]:
    """Count them for each device under a load in its surroundings."""

    def variant(trial: Trial) -> tuple[str, ...]:
        return (*_load(trial), trial.device.name, *_surroundings(trial))

    return {
        key: len({trial.repetition for trial in of})
        for key, of in groupby(sorted(trials, key=variant), key=variant)
    }


def _n_figures(trials: list[Trial]) -> int:
    """Count what the verdict compares: median and tail by state, or medians under the main load."""
    devices = {(*_load(trial), trial.device.name) for trial in trials}
    states = _states(trials)
    if len(states) > 1:
        sizes = [len(set(names)) for names in zip(*states, strict=True)]
        pairs = sum((size - 1) * prod(sizes) // size for size in sizes)
        return 2 * len(devices) * pairs
    loads = {device[:3] for device in devices}
    most = max(sum(device[:3] == load for device in devices) for load in loads)
    return most * (most - 1) // 2
