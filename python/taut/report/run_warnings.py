"""What to beware of before using a run's numbers: one line a kind, the rest behind a fold."""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass

from taut.analysis.load import achieved_share, achieved_words, load_words, share_words
from taut.analysis.surroundings import words_among
from taut.analysis.validity import why_no_latency
from taut.records.documents.manifest import Manifest
from taut.records.documents.results import TrialResult, Variant
from taut.records.documents.trial import CHANGES_NOTHING, Failure
from taut.report import cells, host
from taut.report.run_names import Runs, run_names, trial_names
from taut.report.scene import Device

MOST_LINES = 3
"""How many lines stand before the fold: readers skip longer lists."""

_MOST_MEDIANS = 4

_SAID_OF_ROWS = ("rate:", "instrument-limited:")
_EMPTY = "no packet came back"


@dataclass(frozen=True)
class Warned:
    """One kind of warning."""

    line: str
    details: Sequence[str] = ()
    """What it concerns, one line each."""


def lines_of(found: Sequence[Warned]) -> list[str]:
    """Give the lines before the fold."""
    return [warned.line for warned in found[:MOST_LINES]]


def folded(found: Sequence[Warned]) -> list[str]:
    """Give what is behind the fold: further lines, and of each kind whom it concerns."""
    rows = []
    for number, warned in enumerate(found):
        # A warning about a single one names it in its line.
        rows += [warned.line] if number >= MOST_LINES else []
        rows += warned.details if len(warned.details) > 1 else []
    return rows


def warnings_of(devices: Sequence[Device], runs: Runs, names: Sequence[str] = ()) -> list[Warned]:
    """Give every kind of warning, the gravest first; `names` of the runs, or their folders'."""
    names = names or run_names(runs)
    called = list(zip((analysis for _, analysis in runs), trial_names(runs, names), strict=True))
    trials = [(heading[t.name], t) for analysis, heading in called for t in analysis.trials]
    of_empty_rows = {
        heading[name]
        for analysis, heading in called
        for row in analysis.variants
        if row.latency.n == 0
        for name in row.trials
    }
    found = [
        _of_rows(
            devices,
            lambda row: not row.sums_reconcile,
            _sums_line,
            lambda _: "sums do not come out",
        ),
        _failed(trials),
        _not_kept(trials),
        _claims(trials),
        _empty(runs),
        _of_rows(devices, lambda row: row.instrument_limited, _late_line, _late_of),
        _of_rows(devices, lambda row: not row.rate_ok, _rate_line, _rate_of),
        _of_rows(devices, lambda row: row.two_bands, _bands_line, _bands_of),
        _shared(trials),
        *_states_without_effect(runs, names),
        *_audits(runs, names),
        *_of_trials(trials, of_empty_rows),
    ]
    return [warned for warned in found if warned is not None]


def _of_rows(
    devices: Sequence[Device],
    is_weak: Callable[[Variant], bool],
    line: Callable[[str, Sequence[Device]], str],
    words: Callable[[Device], str],
) -> Warned | None:
    """Make one kind of the devices whose row has this weakness."""
    concerned = [device for device in devices if is_weak(device.row)]
    if not concerned:
        return None
    rows = f"{len(concerned)} of {len(devices)} rows" if len(devices) > 1 else "the row"
    details = [f"{_at(device)}: {words(device)}" for device in concerned]
    return Warned(line(rows, concerned), details)


def _at(device: Device) -> str:
    return f"{device.label} at {load_words(device.row.load)}"


def _sums_line(rows: str, concerned: Sequence[Device]) -> str:
    return f"The sums do not come out in {rows}, {_at(concerned[0])} first: do not use them."


def _late_line(rows: str, concerned: Sequence[Device]) -> str:
    worst = max(concerned, key=lambda device: device.row.void_share)
    return (
        f"The generator itself was late in {rows}, with up to "
        f"{share_words(worst.row.void_share)} of the packets ({_at(worst)}): those tails may "
        "be its own."
    )


def _late_of(device: Device) -> str:
    return f"the generator was late with {share_words(device.row.void_share)} of the packets"


def _rate_line(rows: str, concerned: Sequence[Device]) -> str:
    worst = max(concerned, key=lambda device: abs(1 - achieved_share(device.row)))
    return f"The rate was not what was asked in {rows}: {_at(worst)} {_rate_of(worst)}."


def _rate_of(device: Device) -> str:
    return f"had {achieved_words(device.row)}"


def _bands_line(rows: str, concerned: Sequence[Device]) -> str:
    worst = max(concerned, key=_spread)
    return f"Repetitions disagree in {rows}: {_at(worst)} has {_bands_of(worst)}."


def _spread(device: Device) -> float:
    medians = _medians(device)
    return max(medians) / max(min(medians), 1)


def _medians(device: Device) -> list[float]:
    return [p50 for p50 in device.row.p50_of_repetitions if p50 is not None]


def _bands_of(device: Device) -> str:
    medians = _medians(device)
    if len(medians) <= _MOST_MEDIANS:
        return f"medians of {', '.join(map(cells.time, medians))}"
    least, greatest = cells.time(min(medians)), cells.time(max(medians))
    return f"medians of {least} to {greatest} in {len(medians)} repetitions"


_Trials = Sequence[tuple[str, TrialResult]]
"""Trials with their names for people."""


def _failed(trials: _Trials) -> Warned | None:
    failed = [(heading, trial) for heading, trial in trials if not trial.is_whole]
    if not failed:
        return None
    details = [f"{heading} failed: {_reason(trial)}" for heading, trial in failed]
    return Warned(f"{len(failed)} of {len(trials)} trials failed: {details[0]}.", details)


def _reason(trial: TrialResult) -> str:
    return (trial.failure or Failure()).reason


def _not_kept(trials: _Trials) -> Warned | None:
    details = [f"{heading}: {', '.join(t.not_kept[:3])}" for heading, t in trials if t.not_kept]
    if not details:
        return None
    return Warned(
        f"In {len(details)} of {len(trials)} trials somebody else changed the state of the host, "
        f"so nothing said of states rests on them; the rows have them: {details[0]}.",
        details,
    )


def _empty(runs: Runs) -> Warned | None:
    """Variants that have no row in any table."""
    variants = [row for _, analysis in runs for row in analysis.variants]
    around = words_among(row.device for row in variants)
    details = [
        f"{', '.join((str(row.device.dut), *around(row.device)))} at "
        f"{load_words(row.load)}: {why_no_latency(row)}"
        for row in variants
        if row.latency.n == 0
    ]
    return Warned(f"No row of {len(details)}: {details[0]}.", details) if details else None


def _claims(trials: _Trials) -> Warned | None:
    """Devices whose numbers are not what they look like."""
    found = {str(trial.device.dut): trial.device.claim for _, trial in trials if trial.device.claim}
    if not found:
        return None
    (claim, *_), names = found.values(), ", ".join(found)
    return Warned(f"{names}: {claim}.", [f"{name}: {what}" for name, what in found.items()])


def _shared(trials: _Trials) -> Warned | None:
    if not any(trial.cores is not None and trial.cores.shared for _, trial in trials):
        return None
    return Warned("Generator and device shared cores: tails are not the device's alone.")


def _states_without_effect(runs: Runs, names: Sequence[str]) -> list[Warned]:
    """States of the host that are none: a table sets them beside the host as found all the same."""
    return _of_manifests(
        runs, names, lambda manifest: [w for w in manifest.warnings if CHANGES_NOTHING in w]
    )


def _audits(runs: Runs, names: Sequence[str]) -> list[Warned]:
    return _of_manifests(runs, names, lambda manifest: host.warnings(manifest.audit))


def _of_manifests(
    runs: Runs, names: Sequence[str], lines: Callable[[Manifest], Sequence[str]]
) -> list[Warned]:
    """Give the lines of each run's manifest, with the name of the run where there are several."""
    found = []
    for (run, _), name in zip(runs, names, strict=True):
        manifest = run.manifest_or_none()
        prefix = f"{name}: " if len(runs) > 1 else ""
        found += [Warned(prefix + line) for line in (lines(manifest) if manifest else [])]
    return found


def _of_trials(trials: _Trials, of_empty_rows: Set[str]) -> list[Warned]:
    """Give the warnings that trials have themselves, except those given once for each row."""
    by_words: dict[str, list[str]] = {}
    for heading, trial in trials:
        said = (*_SAID_OF_ROWS, _EMPTY) if heading in of_empty_rows else _SAID_OF_ROWS
        for warning in trial.warnings:
            if not warning.startswith(said):
                by_words.setdefault(warning, []).append(heading)
    return [_of_words(words, concerned) for words, concerned in by_words.items()]


def _of_words(words: str, concerned: Sequence[str]) -> Warned:
    more = f" and {len(concerned) - 1} more" if len(concerned) > 1 else ""
    first = f"{words} ({concerned[0]}{more})."
    return Warned(first, [f"{name}: {words}" for name in concerned])
