"""A trim in the report: RUN/trim.json, read into values, and those in the words of the page.

The file is the interface: the report knows nothing else of the loop that wrote it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

from taut.analysis.load import share_words
from taut.analysis.paired import factor, interval_words
from taut.core.errors import InputError
from taut.explain.causes import title_of
from taut.explain.tell.result import Options
from taut.host.situation import device_option
from taut.records.documents.trim import (
    TRIM_FILE,
    UNCONFIRMED,
    UNMEASURED,
    CauseOfTrim,
    PairedRatio,
    RemedyOfTrim,
    TrimDocument,
)
from taut.report import cells
from taut.report.palette import cause_token, css_name
from taut.report.written import read_written

TITLE = "The trim"
FIGURE = "trimmed"
"""Id of the figure in the trim's section."""

NOW, BOOT, BY_HAND = "now", "at boot", "by hand"

_TONES = {"helps": "good", "harms": "bad"}
_ROOM = 1.15


@dataclass(frozen=True)
class Group:
    """Remedies of one cause, which are left out together."""

    title: str
    asks: str
    without_it: PairedRatio | None
    remedies: Sequence[RemedyOfTrim]


@dataclass(frozen=True)
class Trim(TrimDocument):
    """What a trim found, with what the page says of it."""

    @property
    def is_decided(self) -> bool:
        """Whether anything was tried; else there are only causes and candidates."""
        return any(remedy.decision is not None for remedy in self.remedies)

    @property
    def headline(self) -> str:
        """Say the result, or that there can be none."""
        if self.is_decided or not any(remedy.when == NOW for remedy in self.remedies):
            return self.sentence
        return (
            "A dry run: the host was measured as found, once, and nothing was changed; what "
            "follows could help."
        )

    @property
    def tone(self) -> str:
        """Give the class of the headline: good, bad, or neutral, as is what was not shown."""
        return _TONES.get(self.verdict, "neutral") if self.effect else "neutral"

    @property
    def confirmed_state(self) -> str:
        """Name the state that `confirmed` is about: all is kept where less was not confirmed."""
        # Of an older taut "its own share was not measured", beside that share.
        is_all_kept = any(
            remedy.decision == UNCONFIRMED or (remedy.decision == UNMEASURED and remedy.without_it)
            for remedy in self.remedies
        )
        return "what would be left" if is_all_kept else "what is kept"

    @property
    def is_traced(self) -> bool:
        """Whether the causes are compared."""
        return any(cause.after is not None for cause in self.causes)


def read_trim(run: Path) -> Trim | None:
    """Read the trim of a run; None: it is no trim's. InputError: one of a taut unlike this one."""
    trim = read_written(Trim, run / TRIM_FILE, "trim")
    if trim is not None and any(map(_is_damaged, _ratios(trim))):
        raise InputError(
            f"{run / TRIM_FILE}: a ratio that is not above 0; the trim is not in this report: "
            "write it with the taut that made it"
        )
    return trim


def _is_damaged(effect: PairedRatio) -> bool:
    """Say whether a number is no ratio; where losses decide there is none."""
    there = [x for x in (effect.ratio, effect.low, effect.high) if x is not None]
    return (effect.ratio is None and effect.losses is None) or min(there, default=1.0) <= 0


def _ratios(trim: TrimDocument) -> list[PairedRatio]:
    found = [trim.effect, trim.effect_with_void, trim.confirmed]
    found += [remedy.without_it for remedy in trim.remedies]
    return [effect for effect in found if effect is not None]


def facts(trim: Trim) -> list[tuple[str, str]]:
    """What was measured, and how the claim is made: name and words."""
    found = [("figure", trim.figure)]
    if trim.effect is not None and trim.effect.losses is not None:
        found += [("claim", f"none: {trim.effect.losses}")]
    elif trim.effect is not None:
        found += [("claim", f"rests on {trim.effect.n_pairs} pairs of runs: {trim.method}")]
    return [*found, ("cores trimmed", trim.cores), ("took", f"{trim.took_s:.0f} s")]


@dataclass(frozen=True)
class Shown:
    """One row of the table of effects, and its mark on an axis of ratios, in percent of it."""

    name: str
    is_claim: bool
    is_shown: bool
    ratio: str
    interval: str
    confidence: str
    n_pairs: int
    p_value: str
    at: str
    low: str
    high: str
    one: str
    """Where a ratio of 1 (no effect) lies on the axis, in percent."""


EFFECTS_NOTE = (
    "Each row compares two states that were measured in turn, pair by pair: below 1 the first "
    "named has the shorter tail. On the log axis the dashed line is 1, no effect. Filled marks are "
    "shown; hollow ones are not: their interval holds 1, which is not the same as no effect. Exact "
    "signed-rank interval and test."
)
_CAUSES_NOTE = (
    "All traced trials of each state together: shares are of the packets above each trial's own "
    "{over}, so they do not say how long the tail is. {times}This describes what was seen; it is "
    "no test."
)
_TIMES_NOTE = "Totals are how long episodes of a cause went on, per million packets. "
GROUPS_NOTE = (
    "Remedies of one cause are left out together and share the result: the figure without them "
    "over the figure with everything, so above 1 they help."
)


def effects(trim: Trim) -> list[Shown]:
    """Every ratio of two states that was measured in pairs, the claim first, on one axis."""
    named = [
        ("trimmed / as found", trim.effect),
        ("the same, with packets the generator was late with", trim.effect_with_void),
        (f"{trim.confirmed_state} / as found", trim.confirmed),
        *((f"without {_those(group)} / trimmed", group.without_it) for group in groups(trim, NOW)),
    ]
    # Where the figure is a lost packet a ratio has no size.
    found = [(name, of) for name, of in named if of is not None and of.losses is None]
    ends = [x for _, e in found for x in (e.ratio, e.low, e.high) if x is not None]
    low, high = log(min([1.0, *ends]) / _ROOM), log(max([1.0, *ends]) * _ROOM)

    def place(ratio: float | None, end: int = 0) -> str:
        at = end if ratio is None else 100 * (log(ratio) - low) / (high - low)
        return f"{at:.2f}%"

    return [
        Shown(
            name=name,
            is_claim=effect is trim.effect,
            is_shown=effect.is_shown,
            ratio=factor(effect.ratio),
            interval=interval_words(effect.low, effect.high),
            confidence=f"{100 * effect.confidence:.3g} %",
            n_pairs=effect.n_pairs,
            p_value=f"{effect.p_value:.2g}",
            at=place(effect.ratio),
            low=place(effect.low),
            high=place(effect.high, end=100),
            one=place(1.0),
        )
        for name, effect in found
    ]


def _those(group: Group) -> str:
    is_asked = bool(group.remedies[0].cause)
    return f"those for “{group.title}”" if is_asked else "those no cause asks for"


def median_rows(trim: TrimDocument) -> Iterator[tuple[str, str, str, str]]:
    """Each device under a load: as found, trimmed, and their ratio."""
    for cell in trim.cells:
        ratio = factor(cell.after / cell.before) if cell.before and cell.after else cells.NOTHING
        yield cell.cell, cells.time(cell.before), cells.time(cell.after), ratio


@dataclass(frozen=True)
class CauseRow:
    """A cause in the table: words, and how long its two bars are, in percent of the longest."""

    title: str
    colour: str
    """A variable of the style sheet."""
    numbers: Sequence[tuple[str, str]]
    """For each state, in words: the share of the tail, and how long episodes went on."""
    before: str
    after: str


def cause_rows(trim: Trim) -> list[CauseRow]:
    """Every cause, as found and, where it was measured, trimmed."""
    amounts = [(_amount(c, c.late_ns_before, c.before), _after(c)) for c in trim.causes]
    most = max((amount for pair in amounts for amount in pair), default=0.0) or 1.0
    states = 2 if trim.is_traced else 1
    return [
        CauseRow(
            title=cause.title,
            colour=css_name(cause_token(cause.cause)),
            numbers=[
                (_share(cause.before), cells.time(cause.late_ns_before)),
                (_share(cause.after), cells.time(cause.late_ns_after)),
            ][:states],
            before=f"{100 * before / most:.2f}%",
            after=f"{100 * after / most:.2f}%",
        )
        for cause, (before, after) in zip(trim.causes, amounts, strict=True)
    ]


def causes_note(trim: Trim) -> str:
    """Say what the length of the bars shows, and what the numbers are of."""
    is_timed = any(c.late_ns_before is not None for c in trim.causes)
    what = "episodes of a cause went on" if is_timed else "a cause's share of the tail"
    states = ", above as found, below trimmed" if trim.is_traced else ""
    times = _TIMES_NOTE if is_timed else ""
    note = _CAUSES_NOTE.format(over=over_of(trim), times=times)
    return f"A bar is as long as {what}{states}. {note}"


def over_of(trim: TrimDocument) -> str:
    """Say above which percentile packets are the tail whose causes are told.

    Of the scouting run that is the target; of all trials, once they are analysed, what explain has.
    """
    is_analysed = any(cause.late_ns_before is not None for cause in trim.causes)
    return Options().over if is_analysed else trim.target


def how_many(groups: Sequence[Group]) -> str:
    """Count the remedies of some groups, in words."""
    n = sum(len(group.remedies) for group in groups)
    return f"{n} remedies" if n != 1 else "1 remedy"


def _amount(cause: CauseOfTrim, late: float | None, share: float | None) -> float:
    """Give what a bar shows: time where it is known, because shares hide that a tail shrank."""
    return (share if cause.late_ns_before is None else late) or 0.0


def _after(cause: CauseOfTrim) -> float:
    return _amount(cause, cause.late_ns_after, cause.after)


def _share(share: float | None) -> str:
    return cells.NOTHING if share is None else share_words(share)


def groups(trim: Trim, when: str) -> list[Group]:
    """The remedies that take effect in one way, by the cause that asks for them."""
    members = [remedy for remedy in trim.remedies if remedy.when == when]
    return [
        Group(
            title=_title(cause),
            asks=_asks([r for r in members if r.cause == cause]),
            without_it=next(r for r in members if r.cause == cause).without_it,
            remedies=[r for r in members if r.cause == cause],
        )
        for cause in dict.fromkeys(remedy.cause for remedy in members)
    ]


def _title(cause: str) -> str:
    if not cause:
        return "no cause seen"
    return title_of(cause)


def _asks(members: Sequence[RemedyOfTrim]) -> str:
    if not members[0].cause:
        return "only the audit asks for these"
    return f"{share_words(members[0].share)} of the tail of the scouting run"


def without_words(effect: PairedRatio) -> str:
    """Say what leaving a group out did."""
    if effect.losses is not None:
        return f"not shown: {effect.losses}"
    return (
        f"without them {factor(effect.ratio)} times as long "
        f"({100 * effect.confidence:.3g} % interval {interval_words(effect.low, effect.high)}"
        f"{'' if effect.is_shown else '; no effect shown'})"
    )


def decision_tone(decision: str) -> str:
    """Give the CSS class of a decision: only what was shown is coloured."""
    if decision.startswith("kept") and decision.endswith("shown to help"):
        return "good"
    return "bad" if "worse" in decision else "neutral"


def last_lines(trim: TrimDocument) -> list[str]:
    """Say how the host stands, how to keep it so over a boot, and how to undo it."""
    kept = trim.kept
    only = f"--cores {trim.cores}{device_option(trim.waiting)} --only {','.join(kept)}"
    if trim.in_force:
        return [
            "In force now: taut host undo takes it back; "
            f"taut host apply {only} --boot makes it survive a boot."
        ]
    return [
        f"The host is as it was{f'; to keep what helps: taut host apply {only}' if kept else ''}."
    ]
