"""An effect as one document: RUN/effect.json, what `taut host effect --json` prints."""

from collections.abc import Sequence

from taut.analysis.paired import factor, interval_words, inverse
from taut.core.cpus import CpuSet, format_cpu_list
from taut.host.knob import KnobSet
from taut.records.documents.effect import (
    ChangeOfEffect,
    CountOffOn,
    EffectDocument,
    FigureOfEffect,
    KnobOfEffect,
    OffOn,
    SetOfEffect,
)
from taut.records.documents.generator import INSTRUMENT_LIMIT
from taut.trim.bench import known
from taut.trim.effect import (
    CONFIDENCE,
    STOLEN,
    FigureEffect,
    Measured,
    SetEffect,
    Shown,
    confidence_of,
)
from taut.trim.effect_run import LISTED

METHOD = (
    "as found and every set in turn, A B B A; of each pair of runs the logarithm of on / off (of "
    "the time stolen on - off), their Hodges-Lehmann estimate and exact Wilcoxon signed-rank "
    "interval and test; all intervals hold together with 95 % (Bonferroni), p is of its figure "
    "alone"
)
_HEADLINES = ("p99.9", "p99.99", "p99", "p50")
"""The sentence is about the first of these figures that is shown to differ."""
_MUCH_LOST = 1e-4
"""A share of lost packets as large as that of packets above the last percentile."""


def as_document(
    found: Sequence[SetEffect],
    sets: Sequence[KnobSet],
    trials: Sequence[Measured],
    *,
    percentiles: Sequence[str],
    n_claims: int,
    repetitions: int,
    duration_ns: int | None,
    cores: CpuSet,
) -> EffectDocument:
    """Give the document; `duration_ns` is a trial's without warm-up, None where trials differ."""
    by_name = {one.state.name: one for one in sets}
    return EffectDocument(
        method=METHOD,
        confidence=CONFIDENCE,
        confidence_of_each=confidence_of(n_claims),
        cores=format_cpu_list(cores),
        repetitions=repetitions,
        duration_ns=duration_ns,
        percentiles=tuple(percentiles),
        cells=tuple(dict.fromkeys(trial.cell for trial in trials)),
        sets=tuple(_set(one, by_name[one.name]) for one in found),
        notes=tuple(notes_of(found, sets, trials, percentiles)),
    )


def _set(one: SetEffect, knobs: KnobSet) -> SetOfEffect:
    """Give one set: what it turns, and what that does."""
    return SetOfEffect(
        name=one.name,
        sentence=sentence(one),
        knobs=tuple(KnobOfEffect(k.name, k.summary, k.why, k.source) for k in knobs.knobs),
        changes=tuple(
            ChangeOfEffect(change.setting.name, change.wanted) for change in knobs.changes
        ),
        figures=tuple(_figure(figure) for figure in one.figures),
        lost=CountOffOn(*one.lost),
        sent=CountOffOn(*one.sent),
        void_share=OffOn(*one.void_share),
    )


def _figure(figure: FigureEffect) -> FigureOfEffect:
    off, on = figure.medians
    return FigureOfEffect(
        name=figure.name,
        unit="share" if figure.name == STOLEN else "ns",
        off=off,
        on=on,
        off_of_repetitions=tuple(map(known, figure.off)),
        on_of_repetitions=tuple(map(known, figure.on)),
        scale=figure.scale,
        effect=figure.claim,
        shown=figure.shown,
    )


def sentence(one: SetEffect) -> str:
    """Say what a set does in one sentence."""
    claimed = sorted(
        (f for f in one.percentiles if f.claim is not None), key=lambda f: _HEADLINES.index(f.name)
    )
    shown = [figure for figure in claimed if figure.shown is not Shown.NOTHING]
    if not claimed and one.losses is not None:
        return f"{one.name}: not shown: {one.losses}; what is lost has no latency."
    if not claimed:
        return (
            f"{one.name}: not shown: too few pairs are left; trials failed or lost their state, or "
            "one device under a load is better by a lost packet and another worse."
        )
    if not shown:
        words = _words(claimed[0])
        stolen = one.figures[-1].shown
        besides = f", but {stolen} time stolen" if stolen in (Shown.LESS, Shown.MORE) else ""
        return f"{one.name}: no effect on packets shown{besides} ({words})."
    head = shown[0]
    against = [_claimed(figure) for figure in shown if figure.shown is not head.shown]
    but = f"; but {' and '.join(against)}" if against else ""
    return f"{one.name}: {_claimed(head)}{but}."


def _claimed(figure: FigureEffect) -> str:
    if figure.claim is None:
        return figure.name
    ratio = figure.claim.estimate
    less = figure.shown is Shown.LESS
    times = f"{factor(1 / ratio)} times shorter" if less else f"{factor(ratio)} times longer"
    return f"{figure.name} {times} ({_doubt(figure)})"


def _words(figure: FigureEffect) -> str:
    if figure.claim is None:
        return figure.name
    return f"{figure.name} {factor(figure.claim.estimate)} times as long, {_doubt(figure)}"


def _doubt(figure: FigureEffect) -> str:
    claim = figure.claim
    if claim is None:
        return ""
    low, high = claim.low, claim.high
    if figure.shown is Shown.LESS:
        low, high = inverse(high), inverse(low)
    return (
        f"{100 * CONFIDENCE:.0f} % interval {interval_words(low, high)}; {claim.n_pairs} "
        f"pairs, p = {claim.p_value:.2g}"
    )


def notes_of(
    found: Sequence[SetEffect],
    sets: Sequence[KnobSet],
    trials: Sequence[Measured],
    percentiles: Sequence[str],
) -> list[str]:
    """Say what a reader of the table has to know."""
    notes = [note for one in sets for note in one.notes]
    missing = [name for name in LISTED if name not in percentiles]
    if missing:
        notes.append(
            f"{', '.join(missing)}: fewer than 10 packets of a run lie above; lengthen it."
        )
    void = [trial for trial in trials if trial.void_share > INSTRUMENT_LIMIT]
    if void:
        notes.append(
            f"In {len(void)} of {len(trials)} runs the generator itself was held up during more "
            f"than {100 * INSTRUMENT_LIMIT:.0f} % of the packets. They are in no "
            "percentile; a set that moves work to the generator's core makes them more."
        )
    if any(trial.n_not_kept for trial in trials):
        n_runs = sum(trial.n_not_kept > 0 for trial in trials)
        notes.append(
            f"In {n_runs} of {len(trials)} runs somebody else took back settings meanwhile: they "
            "do not count."
        )
    notes += [_losses_note(one) for one in found if one.losses is not None]
    if any(abs(on - off) > _MUCH_LOST * max(one.sent) for one in found for off, on in [one.lost]):
        notes.append("What is lost has no latency: compare the losses first.")
    if all(f.shown in (Shown.NOTHING, Shown.NOT_LOGGED) for one in found for f in one.figures):
        notes.append("No effect shown is not the same as no effect.")
    return notes


def _losses_note(one: SetEffect) -> str:
    of = ", ".join(figure.name for figure in one.figures if figure.shown is Shown.LOSSES)
    return f"{one.name}: {one.losses}: what is lost has no latency, so nothing is claimed of {of}."
