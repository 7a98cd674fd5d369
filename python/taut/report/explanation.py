"""Why packets were late, in words: what taut explain said of the trials that were traced."""

from collections.abc import Mapping, Sequence
from typing import Any

from taut.report import cells

Trial = Mapping[str, Any]

COLUMNS = (
    "cause",
    "share of the tail",
    "episodes",
    "packets",
    "total",
    "worst",
    "grades",
    "remedy",
)
GRADES = "A: event and counter or sender agree; B: event; C: by exclusion; D: a guess"
_REMEDIES = 3


def explained(trials: Sequence[Trial]) -> list[Trial]:
    """The trials that were traced."""
    return [trial for trial in trials if trial.get("explanation")]


def summary(trial: Trial) -> str:
    """How much of the tail has a name."""
    e = trial["explanation"]
    unknown, by_exclusion = e["unknown_share"], e["hypervisor_or_hardware_share"]
    return (
        f"{trial['name']}: {cells.count(e['tail_packets'])} packets above {e['over']} "
        f"({cells.time(e['threshold_ns'])}); unknown {unknown:.1%}, hypervisor or hardware "
        f"{by_exclusion:.1%}, trace lost {e['trace_lost_share']:.1%}"
    )


def rows(trial: Trial) -> list[list[str]]:
    """One row a cause, as COLUMNS."""
    return [
        [
            total["title"],
            f"{total['tail_share']:.1%}",
            cells.count(total["n_episodes"]),
            cells.count(total["n_packets"]),
            cells.time(total["total_ns"]),
            cells.time(total["worst_ns"]),
            " ".join(f"{grade}:{n}" for grade, n in total["n_by_grade"].items() if n),
            " ".join(total["remedies"][:_REMEDIES]) or total["ask"],
        ]
        for total in trial["explanation"]["causes"]
    ]


def stories(trial: Trial) -> list[str]:
    """The worst episodes, a line each."""
    return [story["line"] for story in trial["explanation"]["worst"]]
