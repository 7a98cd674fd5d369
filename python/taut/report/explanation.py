"""Why packets were late, in words: what taut explain said of the trials that were traced."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from taut.analysis.load import share_words
from taut.explain import causes
from taut.explain.causes import BY_ID, title_of
from taut.explain.grades import GRADES, count_guesses, is_guess, title_words
from taut.explain.judge.kernel_path import SOFTIRQ
from taut.explain.tell.gaps import RESIDUAL
from taut.explain.tell.predicted import Prediction
from taut.explain.tell.sentences import culprit
from taut.explain.tell.stories import call_words, veto_words
from taut.explain.walk.stalls import FROM_EVENTS
from taut.records.documents.explanation import (
    CauseDocument,
    Checked,
    ExplanationDocument,
    GapDocument,
    Outcome,
    Predicted,
    StoryDocument,
)
from taut.records.documents.results import TrialResult
from taut.records.documents.trial import HOP
from taut.report import cells
from taut.report.palette import cause_token, css_name

COLUMNS = (
    "cause",
    "share of the tail",
    "episodes",
    "packets",
    "total",
    "worst",
    "grades",
    "remedy: check, and what the audit said",
)
MEANING = (
    "total: how long its episodes went on, overlaps counted once; worst: how late its latest "
    "packet was"
)
UNFOLDED = 3
"""How many episodes of a trial are shown; the others are folded."""
PARTS = ("who had the core", "what", "time", "share")
_LEAST_SHARE = 1e-4
_DEVICES = {FROM_EVENTS: "did not run", SOFTIRQ: "held packets"}
"""What devices that keep no log did while they stood still, by what stands for their thread."""
LEGEND = tuple(GRADES.items())


@dataclass(frozen=True)
class Row:
    """One cause in the table of a trial."""

    title: str
    colour: str
    """A variable of the style sheet, as CSS writes it."""
    numbers: Sequence[str]
    checks: Sequence[Checked]
    ask: str
    prediction: str
    is_predicted: bool
    is_guess: bool
    """Whether all verdicts of this cause are guesses; then the title says "maybe"."""


@dataclass(frozen=True)
class Part:
    """One part of a gap: a row of its table and a piece of its bar."""

    name: str
    what: str
    time: str
    share: str
    colour: str
    left: str
    width: str
    """Width in percent of the bar, as CSS writes it."""
    is_guess: bool
    """Whether this part is the gap's verdict, and the verdict a guess."""


@dataclass(frozen=True)
class Episode:
    """One of the worst episodes; an episode of an older result only has its line."""

    line: str
    facts: Sequence[tuple[str, str]]
    gap: str
    parts: Sequence[Part]
    total: str
    checks: Sequence[Checked]
    prediction: str


@dataclass(frozen=True)
class Traced:
    """A trial that was traced, and why its packets were late."""

    name: str
    heading: str
    """The trial's name for people."""
    explanation: ExplanationDocument


def explained(trials: Sequence[TrialResult], headings: Mapping[str, str]) -> list[Traced]:
    """The trials that were traced; their headings by name."""
    return [
        Traced(trial.name, headings[trial.name], trial.explanation)
        for trial in trials
        if trial.explanation is not None
    ]


def summary(e: ExplanationDocument) -> str:
    """How many packets were late, and what made most of them so: shares below 1 % are left out."""
    shares: dict[str, float] = {}
    for total in e.causes:
        words = _of_cause(total)
        shares[words] = shares.get(words, 0.0) + total.tail_share
    told = [f"{words} {share_words(share)}" for words, share in shares.items() if share >= 0.01]
    of = f" of {cells.count(e.packets)}" if e.packets else ""
    if e.above_packets is not None:
        of = f" recorded of {cells.count(e.above_packets)}"
    threshold = cells.time(e.threshold_ns)
    # A threshold given as a time needs no explanation.
    above = f"above {e.over} ({threshold})" if e.over.startswith("p") else f"above {threshold}"
    return f"{cells.count(e.tail_packets)}{of} packets {above}: {', '.join(told) or 'none'}."


def _of_cause(total: CauseDocument) -> str:
    words = (
        "the generator itself" if total.cause == causes.MEASURER.id else culprit(total.cause, "")
    )
    guesses = count_guesses(total.cause, total.n_by_grade)
    return f"perhaps {words} (a guess)" if 0 < guesses == total.n_packets else words


def calls(e: ExplanationDocument) -> str:
    """How many calls from other cores have a sender; empty where there were none."""
    return call_words(e.function_calls.n, e.function_calls.sender_known)


def vetoed(e: ExplanationDocument) -> str:
    """Say what the veto took back; empty for results older than this count."""
    return "" if e.vetoed is None else veto_words(e.vetoed)


def rows(e: ExplanationDocument) -> list[Row]:
    """One row a cause, as COLUMNS."""
    return [_row(total) for total in e.causes]


def _row(total: CauseDocument) -> Row:
    prediction = _prediction(total.predicted, total.remedies)
    guesses = count_guesses(total.cause, total.n_by_grade)
    return Row(
        title=title_words(total.title, guesses, total.n_packets),
        colour=_colour(total.cause),
        numbers=[
            share_words(total.tail_share),
            cells.count(total.n_episodes),
            cells.count(total.n_packets),
            cells.time(total.total_ns),
            cells.time(total.worst_ns),
            " ".join(f"{grade}:{n}" for grade, n in total.n_by_grade.items() if n),
        ],
        checks=prediction.most_telling,
        ask=total.ask,
        prediction=prediction.words,
        is_predicted=prediction.outcome is Outcome.PREDICTED,
        is_guess=0 < guesses == total.n_packets,
    )


def _prediction(predicted: Predicted, remedies: Sequence[str] | None) -> Prediction:
    """Give the audit's checks of a cause from results.json; older results only have their ids."""
    if predicted.checks is None:
        return Prediction(tuple(Checked(check, "", "") for check in remedies or ()), None)
    return Prediction(predicted.checks, predicted.prediction)


def above_words(e: ExplanationDocument, median: str) -> str:
    """Say above what packets are late; empty: older results do not."""
    if e.base_ns is None:
        return ""
    if not e.base_ns:
        return "above zero (overload)"
    return f"above {median if e.base_ns == e.p50_ns else cells.time(e.base_ns)}"


def episodes(e: ExplanationDocument) -> list[Episode]:
    return [_episode(story, e) for story in e.worst]


def _episode(story: StoryDocument, e: ExplanationDocument) -> Episode:
    prediction = _prediction(story.predicted, story.remedies)
    gap = story.gap
    is_whole = story.n_packets is not None
    return Episode(
        line=story.line,
        facts=_facts(story, gap, e) if is_whole else [],
        gap=_gap_words(gap) if gap else "",
        parts=_parts(gap) if gap else [],
        total=cells.time(gap.length_ns) if gap else "",
        checks=prediction.in_order if is_whole else (),
        prediction=prediction.words,
    )


def _facts(
    story: StoryDocument, gap: GapDocument | None, e: ExplanationDocument
) -> list[tuple[str, str]]:
    """What is known of an episode, name and words."""
    cause = BY_ID.get(story.cause)
    median = f"the median ({cells.time(e.p50_ns)})"
    ties = ", ".join(f"{n:,} {word}" for word, n in story.n_by_relation.items())
    maybe = "maybe " if is_guess(story.cause, story.grade) else ""
    found = [
        ("cause", f"{maybe}{cause.title}: {cause.why}" if cause else maybe + story.cause),
        ("packets", f"{story.n_packets:,} ({ties})"),
        ("lost", f"{story.n_lost:,}"),
        *([("could not be sent", f"{story.n_unsent:,}")] if story.n_unsent else []),
        ("generator late", f"with {story.n_void:,}"),
        ("first", f"packet {story.first_seq} of direction {story.direction}"),
        ("time in the trial", _when(story.start_ns, story.end_ns)),
        ("worst", f"{cells.time(story.worst_excess_ns)} {above_words(e, median)}".strip()),
        ("grade", f"{story.grade}: {GRADES[story.grade]}"),
        ("missing evidence", "; ".join(story.missing) or "none"),
    ]
    if gap and gap.detail:
        found.insert(1, ("in detail", gap.detail))
    if cause and not cause.remedies:
        found.append(("remedy", cause.ask))
    if gap and story.cause == causes.MEASURER.id:
        maybe = "maybe " if is_guess(gap.cause, gap.grade) else ""
        found.insert(1, ("what held it up", maybe + title_of(gap.cause)))
    return found


def _when(start_ns: int, end_ns: int) -> str:
    return f"from {start_ns / 1e9:.6f} s, for {cells.time(end_ns - start_ns)}"


def _gap_words(gap: GapDocument) -> str:
    who, stood = gap.thread, "did not poll"
    if gap.thread in _DEVICES:
        who, stood = "device", _DEVICES[gap.thread]
    subject = who.capitalize() if who.startswith(HOP) else f"The {who}"
    return (
        f"{subject} on core {gap.core} {stood} for "
        f"{cells.time(gap.length_ns)}, from {gap.start_ns / 1e9:.6f} s"
    )


def _parts(gap: GapDocument) -> list[Part]:
    found = []
    left = 0.0
    doubtful = gap.cause if is_guess(gap.cause, gap.grade) else None
    for share in gap.shares:
        is_doubtful = share.label == doubtful
        if not share.ns and share.label != RESIDUAL:
            continue
        width = 100 * share.share
        found.append(
            Part(
                name=("maybe " if is_doubtful else "") + title_of(share.label),
                what=share.detail,
                time=cells.time(share.ns),
                share=_percent(share.share),
                colour=_colour(share.label),
                left=f"{left:.3f}%",
                width=f"{width:.3f}%",
                is_guess=is_doubtful,
            )
        )
        left += width
    return found


def _percent(share: float) -> str:
    return "< 0.01 %" if 0 < share < _LEAST_SHARE else share_words(share)


def _colour(cause: str) -> str:
    return css_name(cause_token(cause))
