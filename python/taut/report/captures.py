"""What only a pair of captures has, in words: classes of frames, clocks, content classes."""

from collections.abc import Mapping, Sequence
from typing import Any

from taut.report import cells

Trial = Mapping[str, Any]

CLASS_COLUMNS = (
    "pair",
    "matched",
    "lost",
    "duplicates",
    "beyond window",
    "orphans",
    "ambiguous in",
    "ambiguous out",
    "truncated in",
    "truncated out",
    "negative",
    "out of sequence",
)
CONTENT_COLUMNS = (
    "pair",
    "field",
    "value",
    "packets",
    "is",
    "by (95 %)",
    "median",
    "of the others",
    "share of its tail",
    "p (corrected)",
    "first packets",
)
_FIRST = 4


def captures_of(trials: Sequence[Trial]) -> list[Trial]:
    """The trials that were made of captures."""
    return [trial for trial in trials if trial.get("capture")]


def is_capture(row: Mapping[str, Any]) -> bool:
    """Whether a variant was captured, not generated: no floor, no void, no schedule."""
    return bool(row["driver"] == "capture")


def class_row(trial: Trial) -> list[str]:
    """Frames by class, as CLASS_COLUMNS."""
    of = trial["capture"]
    plain = ("matched", "lost", "duplicates", "beyond_window", "orphans")
    by_side = [of[name][side] for name in ("ambiguous", "truncated") for side in _SIDES]
    numbers = [*(of[name] for name in plain), *by_side, of["negative"], of["out_of_sequence"]]
    return [str(trial["dut"]), *(cells.count(n) for n in numbers)]


_SIDES = ("ingress", "egress")


def clock_words(trial: Trial) -> str:
    """What the lower envelope says about the two clocks."""
    clocks = trial["capture"]["clocks"]
    if clocks["drift_ppb"] is None:
        return f"{trial['dut']}: too few packets to say whether the clocks drift"
    drift, doubt = clocks["drift_ppb"], clocks["drift_uncertainty_ppb"]
    shown = "drift" if abs(drift) > doubt else "no drift shown"
    return (
        f"{trial['dut']}: {shown}: {drift:.3g} ± {doubt:.2g} ns a second; offset plus the least "
        f"latency is {cells.time(clocks['offset_plus_least_latency_ns'])} ± "
        f"{cells.time(clocks['offset_uncertainty_ns'])} (lower envelope, "
        f"{cells.count(clocks['n_points'])} stretches)"
    )


def content_words(trial: Trial) -> str:
    """What the search by content came to, in one line."""
    content = trial["capture"]["content"]
    if content is None:
        return f"{trial['dut']}: content not searched; --content does"
    if content["not_searched"]:
        return f"{trial['dut']}: content not searched: {content['not_searched']}"
    n = len(content["classes"])
    found = f"{n} classes of packets are" if n > 1 else "1 class of packets is"
    words = f"{found} slower or faster for what is in them" if n else "no packet is slow for "
    return f"{trial['dut']}: {words}{'' if n else 'what is in it'} ({content['tests']:,} tests)"


def content_rows(trial: Trial) -> list[list[str]]:
    """The content classes, as CONTENT_COLUMNS."""
    content = trial["capture"]["content"] or {"classes": []}
    return [[str(trial["dut"]), *_content_row(found)] for found in content["classes"]]


def _content_row(found: Mapping[str, Any]) -> list[str]:
    low, high = found["shift_interval_ns"]
    tail = found["tail"]
    packets = [
        f"#{p['position']} at {p['time_ns'] / 1e9:.6f} s" for p in found["first_packets"][:_FIRST]
    ]
    more = found["packets"] - len(packets)
    return [
        str(found["field"]),
        str(found["value"]),
        cells.count(found["packets"]),
        str(found["direction"]),
        f"{cells.time(found['shift_ns'])} ({cells.time(low)} to {cells.time(high)})",
        cells.time(found["median_ns"]),
        cells.time(found["rest_median_ns"]),
        f"{100 * tail['of_tail']:.3g} % of {cells.count(tail['n'])}",
        f"{found['p_corrected']:.1g}",
        ", ".join(packets) + (f" and {cells.count(more)} more" if more > 0 else ""),
    ]
