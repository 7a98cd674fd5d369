"""Who made packets late, over all trials: one table, in the report and in the terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from taut.analysis.load import share_words
from taut.explain import causes
from taut.explain.causes import BY_ID
from taut.explain.grades import is_guess
from taut.explain.tell.offenders import (
    DEVICE_CORE,
    GENERATOR_CORE,
    NO_CORE,
    together,
)
from taut.explain.tell.predicted import Prediction
from taut.explain.tell.sentences import culprit
from taut.records.documents.explanation import Checked, ExplanationDocument, Offender
from taut.report import cells
from taut.report.explanation import above_words

COLUMNS = ("who", "time taken", "packets hit", "worst", "core", "remedy")
LEGEND = (
    "Time taken: of the stalls it is to blame for, whether a packet came or not. Packets hit: late "
    "ones (above {over}, N = {n}) that waited for them. Worst: the most one was late{above}. What "
    "happens on the generator's core says nothing of the device. Remedies are checks of the host: "
    "`taut host audit` explains them, `taut trim` tries them."
)
TITLES = {
    DEVICE_CORE: "Device's core",
    GENERATOR_CORE: "Generator's core",
    NO_CORE: "No core",
}
MOST_ROWS = 6
"""The most offenders shown of each core; the others are one row, and listed behind a fold."""

_LEAST_SHARE = 0.01
_MOST_CHECKS = 2


@dataclass(frozen=True)
class Row:
    """A line of the table of offenders, in words; `is_guess`: no event names who it was."""

    who: str
    time: str
    packets: str
    worst: str
    core: str
    checks: Sequence[Checked]
    ask: str
    is_guess: bool

    @property
    def remedy(self) -> str:
        """The remedy in one cell, for the terminal."""
        return ", ".join(map(str, self.checks)) or self.ask


@dataclass(frozen=True)
class Group:
    """The offenders of one core."""

    title: str
    rows: Sequence[Row]
    more: Sequence[Row]
    """Offenders behind the fold: below 1 % of packets and time, or more than MOST_ROWS."""


def legend(explanations: Sequence[ExplanationDocument]) -> str:
    """Define the columns, with how many packets there are."""
    overs = dict.fromkeys(
        f"{e.over} of their trial" if e.over.startswith("p") else cells.time(e.threshold_ns)
        for e in explanations
    )
    bases = dict.fromkeys(above_words(e, "its trial's median") for e in explanations)
    above = " or ".join(filter(None, bases))
    n = sum(e.tail_packets for e in explanations)
    n_above = sum(e.above_packets or e.tail_packets for e in explanations)
    recorded = f" recorded of {cells.count(n_above)}" if n_above > n else ""
    return LEGEND.format(
        over=", ".join(overs),
        n=f"{cells.count(n)}{recorded}",
        above=f", {above}" if above else "",
    )


def groups_of(explanations: Sequence[ExplanationDocument]) -> list[Group]:
    """Give the table, the device's core first; empty groups are left out."""
    documents = [offender for e in explanations for offender in e.offenders]
    checks = {offender.cause: offender.predicted.checks or () for offender in documents}
    found = together(documents)
    n_packets = max(sum(offender.n_packets for offender in found), 1)
    groups = []
    hops = sorted({offender.role for offender in found} - TITLES.keys())
    titles = {role: f"{role.capitalize()}'s core" for role in hops} | TITLES
    for role, title in titles.items():
        own = [offender for offender in found if offender.role == role]
        shown = _shown(own, n_packets)
        rest = [offender for offender in own if offender not in shown]
        rows = [_row(offender, n_packets, checks) for offender in shown]
        rows += [_others(rest, n_packets)] if rest else []
        more = [_row(offender, n_packets, checks) for offender in rest]
        groups += [Group(title, rows, more)] if rows else []
    return groups


def _shown(own: Sequence[Offender], n_packets: int) -> Sequence[Offender]:
    """Leave out who took least, in the order of the table; but nobody alone."""
    taken_ns = max(sum(offender.taken_ns for offender in own), 1)

    def share(offender: Offender) -> float:
        return max(offender.n_packets / n_packets, offender.taken_ns / taken_ns)

    ranked = sorted(own, key=share, reverse=True)
    shown = [offender for offender in ranked if share(offender) >= _LEAST_SHARE][:MOST_ROWS]
    return (
        own if len(own) == len(shown) + 1 else [offender for offender in own if offender in shown]
    )


def _row(offender: Offender, n_packets: int, checks: Mapping[str, Sequence[Checked]]) -> Row:
    n = offender.n_stalls or offender.n_packets
    known = None if offender.cause == causes.UNKNOWN.id else BY_ID.get(offender.cause)
    n_guesses = offender.n_guesses if is_guess(offender.cause, "D") else 0
    who = culprit(offender.cause, offender.who)
    if 0 < n_guesses < n:
        who += f" (a guess in {n_guesses:,} of {n:,})"
    elif n_guesses:
        who = f"perhaps {who} (a guess)"
    prediction = Prediction(tuple(checks.get(offender.cause, ())), None)
    return Row(
        who=who[0].upper() + who[1:],
        time=cells.time(offender.taken_ns) if offender.n_stalls else cells.NOTHING,
        packets=_packets(offender, n_packets),
        worst=cells.time(offender.worst_ns) if offender.n_packets else cells.NOTHING,
        core=cells.NOTHING if offender.core is None else str(offender.core),
        checks=prediction.may_help[:_MOST_CHECKS],
        ask="" if known is None else known.ask,
        is_guess=0 < n_guesses == n,
    )


def _packets(offender: Offender, n_packets: int) -> str:
    if not offender.n_packets:
        return "0"
    return f"{cells.count(offender.n_packets)} ({share_words(offender.n_packets / n_packets)})"


def _others(rest: Sequence[Offender], n_packets: int) -> Row:
    """Add up those that are folded."""
    total = replace(
        rest[0],
        core=None,
        n_stalls=sum(offender.n_stalls for offender in rest),
        taken_ns=sum(offender.taken_ns for offender in rest),
        n_packets=sum(offender.n_packets for offender in rest),
        worst_ns=max(offender.worst_ns for offender in rest),
    )
    row = _row(total, n_packets, {})
    return replace(row, who=f"{len(rest)} others together", ask="", is_guess=False)
