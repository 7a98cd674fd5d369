"""Numbers as a reader sees them: the same words in the terminal and in the HTML report."""

from dataclasses import dataclass
from typing import Protocol

from taut.analysis.load import rate_words, share_words
from taut.core.percentiles import SUPPORT
from taut.core.units import format_ns
from taut.records.documents.figures import Doubt, Figures
from taut.records.documents.results import WITHOUT_VOID, DirectionOfVariant, Variant, WarmUp

UNSUPPORTED_MARK = "*"
UNSUPPORTED = (
    f"rests on fewer than {SUPPORT} independent packets or stalls: says little of the device"
)
LIMITED = "above 1 % in a repetition: its tail may be the generator's own"
NOTHING = "–"


class Row(Protocol):
    """A variant, one of its directions, or its warm-up."""

    @property
    def latency(self) -> Figures:
        """Latency from the moment a packet was sent."""
        ...

    @property
    def doubt(self) -> Doubt:
        """How far its percentiles are known."""
        ...


@dataclass(frozen=True)
class Cell:
    """One number in words; `dim` where too few packets support it; `note` explains on request."""

    text: str
    dim: bool = False
    alert: bool = False
    note: str = ""


def time(ns: float | None) -> str:
    """A time with the unit that fits."""
    return NOTHING if ns is None else format_ns(ns)


def rate(pps: float | None) -> str:
    """A rate in packets a second."""
    return NOTHING if pps is None else rate_words(pps)


def count(n: int | None) -> str:
    """A count with thin groups of three."""
    return NOTHING if n is None else f"{n:,}"


def percentile(row: Row, name: str) -> Cell:
    """A percentile of service latency, marked where too few independent packets lie above it."""
    value = row.latency.percentiles_ns[name]
    if value is None:
        return Cell(NOTHING)
    low, high = row.doubt.confidence_intervals[name]
    ends = at_least(row, name) or f"95 %: {time(low)} to {time(high)}"
    if name in row.doubt.unsupported_percentiles:
        return Cell(time(value) + UNSUPPORTED_MARK, dim=True, note=f"{ends}; {_few(row, name)}")
    return Cell(time(value), note=f"{ends}, {_worth(row, name)}")


def at_least(row: Row, name: str) -> str | None:
    """Say what a percentile is at least; None where both ends of its interval are known."""
    low, high = row.doubt.confidence_intervals[name]
    if high is not None or row.latency.percentiles_ns[name] is None:
        return None
    return "nothing known" if low is None else f"95 %: at least {time(low)}"


def _few(row: Row, name: str) -> str:
    n_above, blocks = row.doubt.n_above[name], row.doubt.blocks
    if n_above < SUPPORT or blocks is None:
        return f"n above: {n_above}"
    return f"n above: {n_above}, in {blocks.n_above[name]} of {blocks.n} blocks of time"


def _worth(row: Row, name: str) -> str:
    n_eff = row.latency.n_eff
    if n_eff is None:
        return "if packets were independent: when they were late is not recorded"
    return f"as {count(n_eff[name])} independent packets would say"


def without_void(row: Variant) -> Cell:
    """The p99.9 of the packets the generator was on time with."""
    latency = row.metrics.latency(WITHOUT_VOID)
    value = latency.percentiles_ns["p99.9"]
    if value is None:
        return Cell(NOTHING, note="the generator was late with every packet")
    # Fewer packets support less than all of them do.
    is_known = "p99.9" not in row.unsupported_percentiles_without_void
    mark = "" if is_known else UNSUPPORTED_MARK
    return Cell(time(value) + mark, dim=not is_known, note=f"of {count(latency.n)} packets")


def lost(row: Variant | DirectionOfVariant | WarmUp) -> Cell:
    """How many packets were sent and never came back, and what could not be sent."""
    words = count(row.lost)
    if row.lost and row.sent:
        words += f" ({share_words(row.lost / row.sent)})"
    notes = [f"{count(row.unsent)} unsent"] if row.unsent else []
    if row.loss_ratio_at_most is not None:
        notes.append(f"95 %: at most {share_words(row.loss_ratio_at_most)}")
    return Cell(words, alert=bool(row.lost), note="; ".join(notes))


def has_losses(row: Variant | WarmUp) -> bool:
    """Whether packets of this row never came back or never left."""
    return bool(row.lost or row.unsent)


def void(row: Variant) -> Cell:
    """The share of packets the generator itself was late with: their number is about it."""
    limited = bool(row.instrument_limited)
    return Cell(share_words(row.void_share), alert=limited, note=LIMITED if limited else "")
