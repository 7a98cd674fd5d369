"""Each requirement judged for each device under each load: pass, fail, inconclusive or invalid."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from taut.analysis.failing import EVER_NS, Counted, Longest, Packets
from taut.analysis.load import load_words, share_words
from taut.analysis.pooling import asked_of
from taut.analysis.proof import (
    Verdict,
    chance,
    may_be_luck,
    packets_needed,
    shown,
    times_as_long,
)
from taut.analysis.validity import (
    Unmeasured,
    failed_trials,
    unmeasured,
    why_invalid,
    why_no_latency,
)
from taut.core.errors import InputError, RequirementNotMet, TautError
from taut.core.requirement import Requirement, parse_requirement, refuse_beyond
from taut.core.units import digits_of, format_ns
from taut.records.documents.load import LOOPBACK, Device, Load
from taut.records.documents.manifest import Manifest, ResolvedSpec
from taut.records.documents.results import Analysis, TrialResult, Variant
from taut.records.rundir import RunDirectory

AMONG_MANY = "by itself it would fail, but among so many requirements one may by luck (Holm)"

_SHARES_LOST = ("loss", "within", "window")
"""Requirements that a share of the packets comes back."""

_CLOCK_ERROR = 1e-6
"""How far the sender's second and that of the records may be apart."""

Found = tuple[Verdict, str, Counted | None]
"""What is shown, why in words, and the packets that were counted for it."""


@dataclass(frozen=True)
class Judged:
    """One requirement of one device under one load."""

    device: Device
    load: Load
    trials: tuple[str, ...]
    """Those it was judged by; of a device that was not measured, those that failed."""
    requirement: Requirement
    verdict: Verdict
    said: str
    """Why: what was measured, and what more it would take."""
    n: int | None
    n_eff: int | None
    """Packets counted, and as how many independent ones; None where that was not needed."""
    needed_ns: int | None
    """How long must be measured until it may pass; None: long enough, or never."""
    chance: float | None = None
    """Of so many failures where it is just met; None where none may fail, or nothing is shown."""

    @property
    def called(self) -> str:
        """The device, its surroundings and, where that is known, its load."""
        load = "" if self.load == Load() else f", {load_words(self.load)}"
        return f"{self.device.called}{load}"


def required_by(run: RunDirectory) -> list[Requirement]:
    """Give what the experiment file asked for; empty where it asked for nothing."""
    manifest = run.manifest_or_none()
    resolved = None if manifest is None else manifest.spec.resolved
    return [] if resolved is None else [parse_requirement(text) for text in resolved.require]


def to_judge(run: RunDirectory, asked: Sequence[Requirement]) -> list[Requirement]:
    """Give what is asked of a run, else what its experiment file asked for.

    InputError: latencies above the deadline of its trials, of which nothing is known.
    """
    found = list(asked) or required_by(run)
    manifest = run.manifest_or_none()
    resolved = None if manifest is None else manifest.spec.resolved
    # Manifests of captures do not have it.
    deadline_ns = None if resolved is None else resolved.others.get("deadline")
    if isinstance(deadline_ns, int):
        refuse_beyond(found, deadline_ns)
    return found


def judge_run(
    run: RunDirectory,
    analysis: Analysis,
    requirements: Sequence[Requirement],
    *,
    without_void: bool = False,
) -> list[Judged]:
    """Judge an analysed run; InputError where it has nothing that could be judged.

    A device that no trial measured is judged, too: invalid. The floor never stands in for one.
    """
    has_devices = any(not trial.device.is_floor for trial in analysis.trials)
    rows = [row for row in analysis.variants if not (has_devices and row.is_floor)]
    failed = failed_trials(t for t in analysis.trials if not (has_devices and t.device.is_floor))
    if not rows and not failed:
        raise InputError(f"{run.path}: nothing was measured, so there is nothing to check")
    trials = {trial.name: trial for trial in run.trials()}
    results = {result.name: result for result in analysis.trials}
    found: list[Judged] = []
    too_late: dict[tuple[str, ...], str] = {}
    for row in rows:
        own = [trials[name] for name in row.trials]
        measured_ns = sum(_measured_ns(results[name]) for name in row.trials)
        n_failed = len(failed.get(asked_of(row), ()))
        why = why_invalid(row, n_failed, without_void=True)
        too_late[row.trials] = why_invalid(row, n_failed, without_void=without_void)
        packets, on_time = (
            Packets(own, row.lost, n_refused=row.refused, without_void=without)
            for without in (without_void, True)
        )
        for one in requirements:
            judged = _judged(row, one, packets, measured_ns, why)
            if judged.verdict is Verdict.NOT_MET and not without_void:
                judged = _unless_void(judged, _judged(row, one, on_time, measured_ns, why))
            found.append(judged)
    found += _not_measured(unmeasured(rows, failed), requirements)
    found += _missing(run, analysis, requirements)
    return [_unless_too_late(one, too_late.get(one.trials, "")) for one in _among_all(found)]


def overall(judged: Sequence[Judged]) -> Verdict:
    """Give the worst: a failure, then what is not valid, then what is not shown."""
    worst = (Verdict.NOT_MET, Verdict.INVALID, Verdict.NOT_SHOWN)
    return next((v for v in worst if any(j.verdict is v for j in judged)), Verdict.MET)


def refuse_failed(judged: Sequence[Judged]) -> None:
    """Raise RequirementNotMet where one fails."""
    failed = sum(one.verdict is Verdict.NOT_MET for one in judged)
    if failed:
        raise RequirementNotMet(f"{failed} of {len(judged)} requirements are not met")


def refuse_not_shown(judged: Sequence[Judged]) -> None:
    """Raise TautError where one is not shown to be met: too few packets, or not the device's."""
    refuse_failed(judged)
    passed = sum(one.verdict is Verdict.MET for one in judged)
    if passed < len(judged):
        n = len(judged)
        raise TautError(f"{n - passed} of {n} requirements are not shown to be met")


def _measured_ns(trial: TrialResult) -> int:
    """Say for how long a trial measured; captures are told as long as they are, --skip and all."""
    skipped_ns = 0 if trial.capture is None else trial.capture.skip_ns
    return max((trial.duration_ns or 0) - skipped_ns, 0)


def _not_measured(
    devices: Sequence[Unmeasured], requirements: Sequence[Requirement]
) -> Iterator[Judged]:
    """Judge devices of which every trial failed."""
    for device in devices:
        of, said = (device.device, device.load, device.trials), why_no_latency(device)
        for one in requirements:
            yield Judged(*of, one, Verdict.INVALID, said, None, None, None)


def _missing(
    run: RunDirectory, analysis: Analysis, requirements: Sequence[Requirement]
) -> Iterator[Judged]:
    """Judge what was planned of devices and has no trial: the run was ended, or they were removed.

    What is planned is known by the names of trials alone, here without number and repetition.
    """
    manifest = run.manifest_or_none() or Manifest()
    there = {_planned(trial.name) for trial in analysis.trials}
    missing: dict[str, list[str]] = {}
    for name in manifest.order or ():
        if _planned(name) not in there and _is_device(_planned(name), manifest):
            missing.setdefault(_planned(name), []).append(name)
    for planned, names in missing.items():
        n = len(names)
        said = f"{'none of its trials is' if n > 1 else 'its trial is not'} there, {n} planned"
        for one in requirements:
            of = (Device(dut=planned), Load(), tuple(names))
            yield Judged(*of, one, Verdict.INVALID, said, None, None, None)


def _planned(trial: str) -> str:
    return re.sub(r"^[0-9]+-|-r[0-9]+$", "", trial)


def _is_device(planned: str, manifest: Manifest) -> bool:
    """Whether a trial was planned of a device of the experiment; else it is of a floor."""
    resolved = manifest.spec.resolved or ResolvedSpec()
    named = [one for one in resolved.device if planned.startswith(one.name.replace("/", "") + "-")]
    longest = max(named, key=lambda one: len(one.name), default=None)
    return longest is not None and longest.others.get("driver") != LOOPBACK


def _judged(
    row: Variant, asked: Requirement, packets: Packets, measured_ns: int, invalid: str
) -> Judged:
    of = (row.device, row.load, row.trials, asked)
    if invalid:
        return Judged(*of, Verdict.INVALID, invalid, None, None, None)
    verdict, said, counted = _RULES[asked.what](asked, packets)
    n_failed = 0 if counted is None else counted.n_failed
    why, needed_ns = why_not_shown(asked, verdict, row.due, row.refused, n_failed, measured_ns)
    if why:
        verdict, said = Verdict.NOT_SHOWN, f"{said}; {why}"
    elif verdict is Verdict.NOT_SHOWN and counted is not None and counted.n_eff:
        times = times_as_long(counted.n_eff_failed, counted.n_eff, asked.share_above)
        if times is not None:
            needed_ns = math.ceil(measured_ns * times)
            longer = f"measure {digits_of(times, 2)} times as long, {format_ns(needed_ns)} in all"
            said = f"{said}; {longer}"
    if counted is None:
        return Judged(*of, verdict, said, None, None, needed_ns)
    luck = None
    if asked.share_above > 0 and counted.n_eff:
        luck = chance(counted.n_eff_failed, counted.n_eff, asked.share_above)
    return Judged(*of, verdict, said, counted.n, counted.n_eff, needed_ns, luck)


def _among_all(judged: Sequence[Judged]) -> list[Judged]:
    """Leave open what fails by itself, where one of so many requirements may by luck."""
    return [
        replace(one, verdict=Verdict.NOT_SHOWN, said=f"{one.said}; {AMONG_MANY}")
        if is_luck and one.verdict is Verdict.NOT_MET
        else one
        for one, is_luck in zip(judged, may_be_luck([one.chance for one in judged]), strict=True)
    ]


def _unless_void(judged: Judged, on_time: Judged) -> Judged:
    """Blame the device only for what packets show that the generator did not hold up."""
    if on_time.verdict is Verdict.NOT_MET:
        chances = [c for c in (judged.chance, on_time.chance) if c is not None]
        return replace(judged, chance=max(chances, default=None))
    said = f"{judged.said}; not so without packets that the generator itself held up"
    return replace(judged, verdict=Verdict.INVALID, said=said)


def _unless_too_late(judged: Judged, why: str) -> Judged:
    """Let nothing but a failure be said where the generator was late with too many packets.

    What those show that it was on time with, the device did, however many others there are. That it
    would do as well with them nobody knows.
    """
    if not why or judged.verdict is Verdict.NOT_MET:
        return judged
    return replace(judged, verdict=Verdict.INVALID, said=why, n=None, n_eff=None, needed_ns=None)


def why_not_shown(
    asked: Requirement,
    verdict: Verdict,
    n_due: int,
    n_refused: int,
    n_failed: int,
    measured_ns: int,
) -> tuple[str, int | None]:
    """Say why what did not fail is not shown after all, and how long shows it; "": as it was.

    `n_refused`: less those that the generator was late with. Where, with these, more failed than
    may, no length shows it.
    """
    is_refused = n_refused > 0 and n_refused + n_failed > asked.share_above * n_due
    is_open = verdict in (Verdict.MET, Verdict.NOT_SHOWN)
    if is_open and is_refused and asked.what in _SHARES_LOST:
        said = f"the link refused {n_refused:,} of the {n_due:,} that were due, as a full one does"
        return said, None
    if verdict is Verdict.MET and measured_ns < asked.least_ns:
        said = f"{format_ns(measured_ns)} of {format_ns(asked.least_ns)} were measured"
        return said, asked.least_ns
    return "", None


def worth_words(n_failed: float, n_eff: int, share: float) -> str:
    """Say as how many independent packets some count, and what would show that enough are in time.

    `n_failed`: of `n_eff` those that failed; `share`: what may.
    """
    said = f"worth {n_eff:,} independent ones"
    if n_failed and n_failed >= share * n_eff:
        return f"{said}; as often as packets failed, no length would show that it is met"
    needed = packets_needed(n_failed, share)
    return f"{said}, {needed:,} would show it if none of the rest failed"


def _slowest(asked: Requirement, packets: Packets) -> Found:
    counted = packets.failing(asked.limit, is_strict=asked.is_strict, with_lost=False)
    limit = format_ns(asked.limit)
    failed = f"took {limit} or more" if asked.is_strict else f"took more than {limit}"
    return _of_share(asked, packets, counted, failed)


def _within(asked: Requirement, packets: Packets) -> Found:
    deadline_ns = asked.deadline_ns or 0
    counted = packets.failing(deadline_ns, is_strict=False, with_lost=True)
    failed = f"were lost or took more than {format_ns(deadline_ns)}"
    return _of_share(asked, packets, counted, failed)


def _window(asked: Requirement, packets: Packets) -> Found:
    found = packets.out_of_window(asked.earliest_ns, asked.deadline_ns or 0)
    by_class = f"{found.n_early:,} early, {found.n_late:,} late, {found.n_lost:,} lost"
    return _of_share(asked, packets, found, f"did not come in their window ({by_class})")


def _loss(asked: Requirement, packets: Packets) -> Found:
    counted = packets.failing(EVER_NS, is_strict=False, with_lost=True)
    return _of_share(asked, packets, counted, "were lost")


def _fastest(asked: Requirement, packets: Packets) -> Found:
    counted = packets.sooner(asked.limit, is_strict=asked.is_strict)
    word = "at most" if asked.is_strict else "less than"
    return _of_share(asked, packets, counted, f"took {word} {format_ns(asked.limit)}")


def _of_share(asked: Requirement, packets: Packets, counted: Counted, failed: str) -> Found:
    share = asked.share_above
    said = f"{counted.n_failed:,} of {counted.n:,} packets {failed}"
    if not counted.n:
        return Verdict.NOT_SHOWN, packets.why_none, None
    if share <= 0:
        return shown(counted.n_failed, counted.n, share), said, counted
    if counted.n_eff is None:
        return Verdict.NOT_SHOWN, f"{said}; {packets.why_unknown}", None
    said = f"{said}, {share_words(share)} may"
    verdict = shown(counted.n_eff_failed, counted.n_eff, share)
    if verdict is Verdict.NOT_SHOWN:
        said = f"{said}; {worth_words(counted.n_eff_failed, counted.n_eff, share)}"
    return verdict, said, counted


def _longest(asked: Requirement, packets: Packets) -> Found:
    deadline_ns = asked.deadline_ns or 0
    longest = packets.longest(deadline_ns)
    if longest is None:
        return Verdict.NOT_SHOWN, packets.why_unknown, None
    if not _is_short_enough(asked, longest):
        return Verdict.NOT_MET, _longest_words(asked, longest), None
    with_refused = longest
    if packets.n_refused:
        with_refused = packets.longest(deadline_ns, with_refused=True) or longest
    if _is_short_enough(asked, with_refused):
        return Verdict.MET, _longest_words(asked, longest), None
    said = f"{_longest_words(asked, longest)}; with what the link refused, as a full one does, "
    return Verdict.NOT_SHOWN, said + _longest_words(asked, with_refused), None


def _is_short_enough(asked: Requirement, longest: Longest) -> bool:
    if asked.what != "outage":
        n = longest.n_in_a_row
        return n < asked.limit if asked.is_strict else n <= asked.limit
    # Two times that were rounded, by a clock whose rate is a fit.
    slack_ns = 1 + _CLOCK_ERROR * asked.limit
    if asked.is_strict:
        return not longest.outage_ns or longest.outage_ns + slack_ns < asked.limit
    return longest.outage_ns - slack_ns <= asked.limit


def _longest_words(asked: Requirement, longest: Longest) -> str:
    if asked.what == "outage":
        return f"the longest outage took {format_ns(longest.outage_ns)}"
    return f"at most {longest.n_in_a_row:,} in a row lost or late"


_RULES: Mapping[str, Callable[[Requirement, Packets], Found]] = {
    "p": _slowest,
    "max": _slowest,
    "min": _fastest,
    "loss": _loss,
    "within": _within,
    "window": _window,
    "in_a_row": _longest,
    "outage": _longest,
}
