"""How trials are called where people read: device, load, repetition; never by their folders."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from taut.analysis.load import load_of, load_words, rate_words
from taut.analysis.pooling import LOOPBACK
from taut.records.rundir import AS_FOUND

Trial = Mapping[str, Any]


def trial_of(name: str, meta: Mapping[str, Any]) -> dict[str, Any]:
    """Read from a trial's document what its heading needs, under the names that results have."""
    dut, traffic = meta.get("dut") or {}, meta.get("traffic") or {}
    return {
        "name": name,
        "repetition": meta.get("repetition"),
        "dut": dut.get("name"),
        "driver": dut.get("driver"),
        "link": dut.get("link"),
        "host": (meta.get("host") or {}).get("name", AS_FOUND),
        "traffic": traffic.get("name"),
        "schedule": traffic.get("schedule"),
        "schedule_options": dict(traffic.get("options") or {}),
        "frame": traffic.get("frame"),
        "flows": traffic.get("flows"),
        "both": traffic.get("both"),
        "asked_pps": traffic.get("offered_pps"),
    }


def headings(trials: Sequence[Trial]) -> dict[str, str]:
    """Name the trials of one run, by the names of their folders; no two alike.

    The state of the host, the whole load, the path and at last the folder stand in it only where
    trials would be called alike without.
    """
    in_states = len({trial["host"] for trial in trials if trial.get("host")}) > 1
    of_rate: dict[object, set[Any]] = {}
    for trial in trials:
        of_rate.setdefault(trial.get("asked_pps"), set()).add(_load(trial))
    same_load = all(len(loads) == 1 for loads in of_rate.values())

    def words(trial: Trial) -> str:
        parts = [_device(trial), str(trial.get("host") or "") if in_states else ""]
        if trial.get("asked_pps") is not None:
            parts.append(rate_words(trial["asked_pps"]) if same_load else load_words(trial))
        if trial.get("repetition") is not None:
            parts.append(f"repetition {trial['repetition']}")
        return ", ".join(filter(None, parts))

    found = {str(trial["name"]): words(trial) for trial in trials}
    found = _told_apart(found, trials, lambda trial: f"over {trial.get('link')}")
    return _told_apart(found, trials, lambda trial: str(trial["name"]))


def _load(trial: Trial) -> Any:
    return None if trial.get("asked_pps") is None else load_of(trial)


def _device(trial: Trial) -> str:
    if trial.get("driver") == LOOPBACK:
        return f"floor over {trial['link']}"
    return str(trial.get("dut") or trial["name"])


def _told_apart(
    names: Mapping[str, str], trials: Sequence[Trial], more: Callable[[Trial], str]
) -> dict[str, str]:
    """Add more to those that are called alike."""
    counts = Counter(names.values())
    by_name = {str(trial["name"]): trial for trial in trials}
    return {
        name: f"{words} ({more(by_name[name])})" if counts[words] > 1 else words
        for name, words in names.items()
    }
