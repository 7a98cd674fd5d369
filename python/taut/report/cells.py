"""Numbers as a reader sees them: the same words in the terminal and in the HTML report."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from taut.analysis.load import share_words
from taut.analysis.statistics import PERCENTILES, SUPPORT, percentile_rank
from taut.core.units import format_ns

UNSUPPORTED_MARK = "*"
NOTHING = "–"


@dataclass(frozen=True)
class Cell:
    """One number in words; `dim` where too few packets support it; `note` explains on request."""

    text: str
    dim: bool = False
    alert: bool = False
    note: str = ""


def time(ns: float | None) -> str:
    """A time with the unit that fits."""
    return NOTHING if ns is None else format_ns(ns).replace(" us", " µs")


def count(n: int | None) -> str:
    """A count with thin groups of three."""
    return NOTHING if n is None else f"{n:,}"


def percentile(row: Mapping[str, Any], name: str) -> Cell:
    """A percentile of service latency, marked where fewer than ten packets lie above it."""
    value = row["latency_ns"][name]
    if value is None:
        return Cell(NOTHING)
    if name in row["unsupported_percentiles"]:
        note = f"n above: {row['n_above'][name]}"
        return Cell(time(value) + UNSUPPORTED_MARK, dim=True, note=note)
    return Cell(time(value))


def without_void(row: Mapping[str, Any], name: str = "p99.9") -> Cell:
    """The same percentile of the packets during which the generator was not held up."""
    n = row["latency_without_void_ns"]["n"]
    value = row["latency_without_void_ns"][name]
    if value is None:
        return Cell(NOTHING, note="every packet is void")
    # Fewer packets support less than all of them do.
    n_above = n - percentile_rank(n, PERCENTILES[name])
    if n_above < SUPPORT:
        return Cell(time(value) + UNSUPPORTED_MARK, dim=True, note=f"n above: {n_above}")
    return Cell(time(value), note=f"of {count(n)} packets")


def lost(row: Mapping[str, Any]) -> Cell:
    """How many packets were sent and never came back, and what could not be sent."""
    words = count(row["lost"])
    if row["lost"] and row["sent"]:
        words += f" ({share_words(row['lost'] / row['sent'])})"
    note = f"{count(row['unsent'])} unsent" if row["unsent"] else ""
    return Cell(words, alert=bool(row["lost"]), note=note)


def void(row: Mapping[str, Any]) -> Cell:
    """The share of packets whose number says something about the generator."""
    limited = bool(row["instrument_limited"])
    note = "a repetition is instrument-limited (above 1 %)" if limited else ""
    return Cell(share_words(row["void_share"]), alert=limited, note=note)


def flags(row: Mapping[str, Any]) -> list[str]:
    """What a reader must know about a variant before using its numbers."""
    found = []
    if row["instrument_limited"]:
        found.append("instrument-limited (more than 1 % of a repetition's packets void)")
    if row["two_bands"]:
        medians = ", ".join(time(p50) for p50 in row["p50_of_repetitions"])
        found.append(f"two bands: the repetitions' medians differ ({medians})")
    if not row["rate_ok"]:
        achieved = row["achieved_pps"] / row["offered_pps"] if row["offered_pps"] else 0
        unsent = f", {count(row['unsent'])} packets unsent" if row["unsent"] else ""
        found.append(f"rate: {100 * achieved:.4g} % of what was offered{unsent}")
    if not row["sums_reconcile"]:
        found.append("the counters do not reconcile")
    return found
