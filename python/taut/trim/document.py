"""A trim as one document: RUN/trim.json, what `taut trim --json` prints and the report shows."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from taut.analysis.paired import factor, interval_words, inverse
from taut.core.cpus import CpuSet, format_cpu_list
from taut.explain.causes import title_of
from taut.host.situation import Waiting
from taut.records.documents.explanation import ExplanationDocument
from taut.records.documents.results import TrialResult
from taut.records.documents.trial import AS_FOUND
from taut.records.documents.trim import CauseOfTrim, CellOfTrim, GroupOfTrim, TrimDocument
from taut.records.rundir import TRIMMED
from taut.trim.bench import Repetition, known, known_median
from taut.trim.candidates import NO_CAUSE, When
from taut.trim.decision import Verdict
from taut.trim.looks import LEAST_PAIRS
from taut.trim.trim import Trimmed

METHOD = (
    "states measured in turn, one figure a repetition; the mean over the cells of the logarithm of "
    "after / before, its Hodges-Lehmann estimate and exact Wilcoxon signed-rank interval and test; "
    "at most 2.5 % of trims of nothing claim an effect (looks at 7, 10 and 16 pairs)"
)


def as_document(
    found: Trimmed,
    *,
    target: str,
    figure: str,
    cores: CpuSet,
    waiting: frozenset[Waiting],
    took_s: float,
) -> TrimDocument:
    """Give the whole trim; causes after the trim are missing until `with_causes` adds them."""
    whole = found.whole
    return TrimDocument(
        target=target,
        figure=figure,
        method=METHOD,
        cores=format_cpu_list(cores),
        waiting=tuple(sorted(waiting)),
        took_s=round(took_s, 1),
        verdict=found.verdict,
        sentence=sentence(found, figure),
        effect=None if whole is None else whole.effect,
        effect_with_void=None if whole is None else whole.with_void,
        cells=() if whole is None else cells_of(whole.repetitions, AS_FOUND, TRIMMED),
        causes=tuple(CauseOfTrim(c.cause, c.title, c.share, None) for c in found.causes),
        groups=tuple(
            GroupOfTrim(
                cause=cause,
                title=group_title(cause),
                remedies=tuple(c.remedy for c in found.candidates if c.cause == cause),
                without_it=compared.effect,
            )
            for cause, compared in found.groups.items()
        ),
        remedies=tuple(
            decided.candidate.document(decided.decision, decided.ratio) for decided in found.decided
        )
        or tuple(candidate.document() for candidate in found.candidates),
        kept=tuple(found.kept),
        confirmed=None if found.confirmed is None else found.confirmed.effect,
        in_force=False,
        notes=tuple(found.notes),
    )


def cells_of(repetitions: Sequence[Repetition], before: str, after: str) -> tuple[CellOfTrim, ...]:
    """Give each cell's figure in both states: every repetition, and the medians."""
    names = dict.fromkeys(cell for r in repetitions for of in r.figures.values() for cell in of)
    found = []
    for cell in names:
        values, voided = (
            {state: [of.get(state, {}).get(cell) for of in figures] for state in (before, after)}
            for figures in ([r.figures for r in repetitions], [r.with_void for r in repetitions])
        )
        found.append(
            CellOfTrim(
                cell=cell,
                before=known_median(values[before]),
                after=known_median(values[after]),
                before_with_void=known_median(voided[before]),
                after_with_void=known_median(voided[after]),
                before_of_repetitions=tuple(map(known, values[before])),
                after_of_repetitions=tuple(map(known, values[after])),
            )
        )
    return tuple(found)


def with_causes(document: TrimDocument, results: Sequence[TrialResult]) -> TrimDocument:
    """Set the tail's causes before and after side by side, over all trials that were traced.

    `before` and `after` are shares of the late packets (above each trial's p99.9);
    `late_ns_before` and `late_ns_after` say how long episodes went on, in ns per million packets.
    """
    shares = {state: _shares(results, state) for state in (AS_FOUND, TRIMMED)}
    late = {state: _late_ns(results, state) for state in (AS_FOUND, TRIMMED)}
    if not shares[AS_FOUND]:
        return document
    causes = sorted(
        {*shares[AS_FOUND], *shares[TRIMMED]},
        key=lambda cause: -max(late[AS_FOUND].get(cause, 0), late[TRIMMED].get(cause, 0)),
    )
    compared = tuple(
        CauseOfTrim(
            cause=cause,
            title=title_of(cause),
            before=shares[AS_FOUND].get(cause, 0.0),
            after=shares[TRIMMED].get(cause, 0.0) if shares[TRIMMED] else None,
            late_ns_before=late[AS_FOUND].get(cause, 0.0),
            late_ns_after=late[TRIMMED].get(cause, 0.0) if shares[TRIMMED] else None,
        )
        for cause in causes
    )
    return replace(document, causes=compared)


def _explained(
    results: Sequence[TrialResult], state: str
) -> Iterator[tuple[TrialResult, ExplanationDocument]]:
    """Give the traced trials of devices (not floors) in a state, with their explanations."""
    for result in results:
        is_device = result.device.host == state and not result.device.is_floor
        if is_device and not result.not_kept and result.explanation is not None:
            yield result, result.explanation


def _shares(results: Sequence[TrialResult], state: str) -> dict[str, float]:
    packets: Counter[str] = Counter()
    for _, explanation in _explained(results, state):
        for cause in explanation.causes:
            packets[cause.cause] += cause.n_packets
    total = sum(packets.values())
    return {cause: n / total for cause, n in packets.items()} if total else {}


def _late_ns(results: Sequence[TrialResult], state: str) -> dict[str, float]:
    late: Counter[str] = Counter()
    n_packets = 0
    for result, explanation in _explained(results, state):
        n_packets += result.latency().n
        for cause in explanation.causes:
            late[cause.cause] += cause.total_ns
    return {cause: 1e6 * ns / n_packets for cause, ns in late.items()} if n_packets else {}


def group_title(cause: str) -> str:
    """Name a group of remedies."""
    if cause == NO_CAUSE:
        return "no cause seen"
    return title_of(cause)


def sentence(found: Trimmed, figure: str) -> str:
    """Say in one sentence what the trim showed, or why it shows nothing."""
    whole = found.whole
    effect = None if whole is None else whole.effect
    if whole is None and not found.is_tried:
        n_now = sum(c.when is When.NOW for c in found.candidates)
        if not n_now:
            return "Nothing to trim: no remedy that taut could try takes effect on a running host."
        return f"Nothing was changed: {n_now} remedies could be tried on the running host."
    if whole is None:
        return f"Not shown: the budget ended before {LEAST_PAIRS} pairs of runs, the fewest."
    if whole.losses is not None:
        return f"Not shown: {whole.losses}; what is lost has no latency that could be compared."
    if effect is None:
        n_whole = sum(r.log_ratio(whole.before, whole.after) is not None for r in whole.repetitions)
        return (
            f"Not shown: of {len(whole.repetitions)} pairs of runs {n_whole} are usable; of the "
            f"others {found.unusable}."
        )
    n = f"{effect.n_pairs} pairs of runs, p = {effect.p_value:.2g}"
    interval = f"{100 * effect.confidence:.3g} % interval"
    if found.verdict is Verdict.HELPS:
        ends = interval_words(inverse(effect.high), inverse(effect.low))
        return (
            f"Trimming this host makes the {figure} {factor(inverse(effect.ratio))} times shorter "
            f"({interval} {ends}; {n})."
        )
    ends = interval_words(effect.low, effect.high)
    if found.verdict is Verdict.HARMS:
        return (
            f"Trimming this host makes the {figure} {factor(effect.ratio)} times longer ("
            f"{interval} {ends}; {n}): everything is put back."
        )
    return (
        f"No effect shown: trimmed over as found, the {figure} is {factor(effect.ratio)} times as "
        f"long ({interval} {ends}; {n}). That is not the same as no effect."
    )
