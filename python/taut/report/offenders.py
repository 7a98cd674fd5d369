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
from taut.explain.tell.sentences import culprit
from taut.records.documents.explanation import Checked, ExplanationDocument, Offender
from taut.report import cells

COLUMNS = ("who", "time taken", "packets hit", "worst", "core", "remedy")
LEGEND = (
    "Time taken: of the stalls it is to blame for, whether a packet came or not. Packets hit: late "
    "ones (above {over} of their trial, N = {n}) that waited for them. Worst: the most one was "
    "late, above its trial's median. What happens on the generator's core says nothing of the "
    "device. Remedies are checks of the host: `taut host audit` explains "
    "them, `taut trim` tries them."
)
TITLES = {
    DEVICE_CORE: "Device's core",
    GENERATOR_CORE: "Generator's core",
    NO_CORE: "No core",
}
MOST_ROWS = 6
"""The most offenders shown of each core; the others are one row, and listed behind a fold."""

_LEAST_SHARE = 0.01


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
    overs = ", ".join(dict.fromkeys(e.over for e in explanations))
    n = sum(e.tail_packets for e in explanations)
    return LEGEND.format(over=overs, n=cells.count(n))


def groups_of(explanations: Sequence[ExplanationDocument]) -> list[Group]:
    """Give the table, the device's core first; empty groups are left out."""
    documents = [of for e in explanations for of in e.offenders]
    checks = {of.cause: of.predicted.checks or () for of in documents}
    found = together(documents)
    n_packets = max(sum(one.n_packets for one in found), 1)
    groups = []
    for role, title in TITLES.items():
        own = [one for one in found if one.role == role]
        shown = _shown(own, n_packets)
        rest = [one for one in own if one not in shown]
        rows = [_row(one, n_packets, checks) for one in shown]
        rows += [_others(rest, n_packets)] if rest else []
        more = [_row(one, n_packets, checks) for one in rest]
        groups += [Group(title, rows, more)] if rows else []
    return groups


def _shown(own: Sequence[Offender], n_packets: int) -> Sequence[Offender]:
    """Leave out who took least, in the order of the table; but nobody alone."""
    taken_ns = max(sum(one.taken_ns for one in own), 1)

    def share(one: Offender) -> float:
        return max(one.n_packets / n_packets, one.taken_ns / taken_ns)

    ranked = sorted(own, key=share, reverse=True)
    shown = [one for one in ranked if share(one) >= _LEAST_SHARE][:MOST_ROWS]
    return own if len(own) == len(shown) + 1 else [one for one in own if one in shown]


def _row(one: Offender, n_packets: int, checks: Mapping[str, Sequence[Checked]]) -> Row:
    n = one.n_stalls or one.n_packets
    ask = "" if one.cause == causes.UNKNOWN.id else BY_ID[one.cause].ask
    n_guesses = one.n_guesses if is_guess(one.cause, "D") else 0
    who = culprit(one.cause, one.who)
    if 0 < n_guesses < n:
        who += f" (a guess in {n_guesses:,} of {n:,})"
    elif n_guesses:
        who = f"perhaps {who} (a guess)"
    failed_first = sorted(checks.get(one.cause, ()), key=lambda check: check.audit != "FAIL")
    return Row(
        who=who[0].upper() + who[1:],
        time=cells.time(one.taken_ns) if one.n_stalls else cells.NOTHING,
        packets=_packets(one, n_packets),
        worst=cells.time(one.worst_ns) if one.n_packets else cells.NOTHING,
        core=cells.NOTHING if one.core is None else str(one.core),
        checks=failed_first[:2],
        ask=ask,
        is_guess=0 < n_guesses == n,
    )


def _packets(one: Offender, n_packets: int) -> str:
    if not one.n_packets:
        return "0"
    return f"{cells.count(one.n_packets)} ({share_words(one.n_packets / n_packets)})"


def _others(rest: Sequence[Offender], n_packets: int) -> Row:
    """Add up those that are folded."""
    one = replace(
        rest[0],
        core=None,
        n_stalls=sum(one.n_stalls for one in rest),
        taken_ns=sum(one.taken_ns for one in rest),
        n_packets=sum(one.n_packets for one in rest),
        worst_ns=max(one.worst_ns for one in rest),
    )
    row = _row(one, n_packets, {})
    return replace(row, who=f"{len(rest)} others together", ask="", is_guess=False)
