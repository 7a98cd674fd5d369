"""Why packets were late, in words: what taut explain said of the trials that were traced."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from taut.analysis.cause import GRADES
from taut.analysis.causes import BY_ID
from taut.analysis.explain.predicted import Checked, Outcome, Prediction
from taut.analysis.explain.stories import call_words
from taut.analysis.explain.verdicts import RESIDUAL
from taut.analysis.load import share_words
from taut.report import cells
from taut.report.palette import cause_token, css_name

Trial = Mapping[str, Any]

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
PARTS = ("who had the core", "what", "time", "share")
_LEAST_SHARE = 1e-4
LEGEND = "; ".join(f"{grade}: {words}" for grade, words in GRADES.items())


@dataclass(frozen=True)
class Row:
    """One cause in the table of a trial."""

    title: str
    colour: str
    """A variable of the style sheet."""
    numbers: Sequence[str]
    checks: Sequence[Checked]
    ask: str
    prediction: str
    is_predicted: bool


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
    """Percent of the bar."""


@dataclass(frozen=True)
class Episode:
    """One of the worst episodes; one of an older result has its line and nothing else."""

    line: str
    facts: Sequence[tuple[str, str]]
    gap: str
    parts: Sequence[Part]
    total: str
    checks: Sequence[Checked]
    prediction: str


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


def calls(trial: Trial) -> str:
    """How many calls from other cores have a sender; empty where there were none."""
    found = trial["explanation"].get("function_calls") or {"n": 0, "sender_known": 0}
    return call_words(found["n"], found["sender_known"])


def rows(trial: Trial) -> list[Row]:
    """One row a cause, as COLUMNS."""
    return [_row(total) for total in trial["explanation"]["causes"]]


def _row(total: Mapping[str, Any]) -> Row:
    prediction = _prediction(total)
    return Row(
        title=total["title"],
        colour=_colour(total.get("cause", "unknown")),
        numbers=[
            f"{total['tail_share']:.1%}",
            cells.count(total["n_episodes"]),
            cells.count(total["n_packets"]),
            cells.time(total["total_ns"]),
            cells.time(total["worst_ns"]),
            " ".join(f"{grade}:{n}" for grade, n in total["n_by_grade"].items() if n),
        ],
        checks=prediction.most_telling,
        ask=total["ask"],
        prediction=prediction.words,
        is_predicted=prediction.outcome is Outcome.PREDICTED,
    )


def _prediction(of: Mapping[str, Any]) -> Prediction:
    """The join of cause and audit as results.json has it; older ones have ids alone."""
    if "checks" not in of:
        return Prediction(tuple(Checked(check, "", "") for check in of.get("remedies", ())), None)
    outcome = None if of["prediction"] is None else Outcome(of["prediction"])
    return Prediction(tuple(Checked(**check) for check in of["checks"]), outcome)


def episodes(trial: Trial) -> list[Episode]:
    """The worst episodes."""
    return [_episode(story) for story in trial["explanation"]["worst"]]


def _episode(story: Mapping[str, Any]) -> Episode:
    prediction = _prediction(story)
    gap = story.get("gap")
    is_whole = "n_packets" in story
    return Episode(
        line=story["line"].replace(" us", " µs"),
        facts=_facts(story, gap) if is_whole else [],
        gap=_gap_words(gap) if gap else "",
        parts=_parts(gap) if gap else [],
        total=cells.time(gap["length_ns"]) if gap else "",
        checks=prediction.in_order if is_whole else (),
        prediction=prediction.words,
    )


def _facts(story: Mapping[str, Any], gap: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """What is known of an episode, name and words."""
    cause = BY_ID.get(story["cause"])
    ties = ", ".join(f"{n:,} {word}" for word, n in story["n_by_relation"].items())
    found = [
        ("cause", f"{cause.title}: {cause.why}" if cause else story["cause"]),
        ("packets", f"{story['n_packets']:,} ({ties})"),
        ("lost, void", f"{story['n_lost']:,} lost, {story['n_void']:,} void"),
        ("first", f"packet {story['first_seq']} of direction {story['direction']}"),
        ("time in the trial", _when(story["start_ns"], story["end_ns"])),
        ("worst", f"{cells.time(story['worst_excess_ns'])} above the median"),
        ("grade", f"{story['grade']}: {GRADES[story['grade']]}"),
        ("missing evidence", "; ".join(story["missing"]) or "none"),
    ]
    if gap and gap["detail"]:
        found.insert(1, ("in detail", gap["detail"]))
    if cause and not cause.remedies:
        found.append(("remedy", cause.ask))
    if gap and story["cause"] == "measurer":
        found.insert(1, ("what held it up", _title(gap["cause"])))
    return found


def _when(start_ns: int, end_ns: int) -> str:
    return f"from {start_ns / 1e9:.6f} s, for {cells.time(end_ns - start_ns)}"


def _gap_words(gap: Mapping[str, Any]) -> str:
    return (
        f"The {gap['thread']} on core {gap['core']} did not poll for "
        f"{cells.time(gap['length_ns'])}, from {gap['start_ns'] / 1e9:.6f} s"
    )


def _parts(gap: Mapping[str, Any]) -> list[Part]:
    found = []
    left = 0.0
    for share in gap["shares"]:
        if not share["ns"] and share["label"] != RESIDUAL:
            continue
        width = 100 * share["share"]
        found.append(
            Part(
                name=_title(share["label"]),
                what=share["detail"],
                time=cells.time(share["ns"]),
                share=_percent(share["share"]),
                colour=_colour(share["label"]),
                left=f"{left:.3f}%",
                width=f"{width:.3f}%",
            )
        )
        left += width
    return found


def _percent(share: float) -> str:
    return "< 0.01 %" if 0 < share < _LEAST_SHARE else share_words(share)


def _title(cause: str) -> str:
    return BY_ID[cause].title if cause in BY_ID else cause


def _colour(cause: str) -> str:
    return css_name(cause_token(cause))
