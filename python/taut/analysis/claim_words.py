"""Ratios in words: "times" always comes with its interval, or with how few runs it rests on.

The evidence compares logarithms, as `runs.ratio_evidence` gives it.
"""

from math import exp

from taut.analysis.claims import CONFIDENCE, Evidence, Judged, Said
from taut.analysis.load import share_words
from taut.core.units import digits_of


def times_words(evidence: Evidence, judged: Judged, than: str) -> str:
    """Say how many times as long as `than`'s the figure is, and over how many runs or intervals.

    Where the runs are too few for a claim, `few_words` says so, once for a whole text.
    """
    if evidence.gone is not None:
        of_than, own = map(share_words, evidence.gone)
        return f"not compared with {than}: {own} lost or not sent, {of_than} there"
    times = _times(evidence.estimate)
    said = f"like {than}" if times == "1" else f"{times} times {than}"
    if evidence.low is None or evidence.high is None:
        if evidence.n_runs == (1, 1):
            return f"{said}, one run each"
        return f"{said}, {_between(evidence.least, evidence.greatest)} over {_runs(evidence)}"
    interval = _interval(evidence.low, evidence.high)
    if judged.said is Said.NOTHING:
        return f"no difference from {than} shown, {interval} times"
    return f"{said}, {interval}"


def few_words(evidence: Evidence, judged: Judged) -> str:
    """Say that so few runs allow no claim; empty where they are enough."""
    if judged.said is not Said.TOO_FEW:
        return ""
    runs = "one run each is" if evidence.n_runs == (1, 1) else f"{_runs(evidence)} are"
    return f"{runs} too few for a claim"


def change_words(evidence: Evidence, judged: Judged) -> str:
    """Say how many times shorter or longer the figure became, or that nothing is shown."""
    if evidence.gone is not None:
        before, after = map(share_words, evidence.gone)
        return f"not shown: {before} lost or not sent before, {after} after"
    if judged.said is Said.TOO_FEW:
        return "too few runs for a claim"
    if judged.said is Said.NOTHING or evidence.low is None or evidence.high is None:
        return "no difference shown"
    if judged.said is Said.MORE:
        return f"{_times(evidence.estimate)} times longer, {_interval(evidence.low, evidence.high)}"
    interval = _interval(-evidence.high, -evidence.low)
    return f"{_times(-evidence.estimate)} times shorter, {interval}"


def _interval(low: float, high: float) -> str:
    return f"{100 * CONFIDENCE:g} % interval {_between(low, high)}"


def _between(low: float, high: float) -> str:
    return f"{_times(low)} to {_times(high)}"


def _times(log_ratio: float) -> str:
    return digits_of(exp(log_ratio), unlike=1)


def _runs(evidence: Evidence) -> str:
    first, second = evidence.n_runs
    return f"{first} runs each" if first == second else f"{first} and {second} runs"
