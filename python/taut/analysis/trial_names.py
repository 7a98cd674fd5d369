"""How trials are called where people read: device, load, repetition; never by their folders."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from taut.analysis.load import LoadKey, load_of, load_words, rate_words
from taut.analysis.surroundings import words_among
from taut.records.documents.load import Device, Load, claim_mark
from taut.records.documents.results import TrialResult
from taut.records.documents.trial import TrialDocument


def trial_of(name: str, meta: TrialDocument) -> TrialResult:
    """Read from a trial's document what its heading needs, as results have it."""
    return TrialResult(
        name, repetition=meta.repetition, device=device_of(meta), load=load_of_trial(meta)
    )


def device_of(meta: TrialDocument) -> Device:
    """Say through what a trial sent its packets."""
    dut = meta.dut
    neighbour = None if meta.neighbour is None else meta.neighbour.name
    place = (dut.link, dut.placement, meta.host.name)
    claim = None if dut.guest is None else dut.guest.claim
    # Wherever a number of it stands, this does: its name in tables, figures and sentences.
    name = dut.name if claim is None else f"{dut.name}{claim_mark(claim)}"
    return Device(name, dut.driver, *place, dut.path, neighbour, claim, dut.version)


def load_of_trial(meta: TrialDocument) -> Load:
    """Say what a trial sent."""
    traffic = meta.traffic
    return Load(
        traffic.name,
        traffic.schedule,
        traffic.options,
        traffic.frame,
        traffic.flows,
        traffic.both,
        asked_pps=traffic.offered_pps,
    )


def headings(trials: Sequence[TrialResult]) -> dict[str, str]:
    """Name the trials of one run, by the names of their folders; no two alike.

    The state of the host, the neighbour, the whole load, the path and at last the folder stand in
    it only where trials would be called alike without.
    """
    surroundings = words_among(trial.device for trial in trials)
    of_rate: dict[float | None, set[LoadKey | None]] = {}
    for trial in trials:
        of_rate.setdefault(trial.load.asked_pps, set()).add(_load(trial))
    same_load = all(len(loads) == 1 for loads in of_rate.values())

    def words(trial: TrialResult) -> str:
        parts = [_device(trial), *surroundings(trial.device)]
        if trial.load.asked_pps is not None:
            load = trial.load
            parts.append(rate_words(load.asked_pps) if same_load else load_words(load))
        if trial.repetition is not None:
            parts.append(f"repetition {trial.repetition}")
        return ", ".join(filter(None, parts))

    found = {trial.name: words(trial) for trial in trials}
    found = _told_apart(found, trials, lambda trial: f"over {trial.device.link}")
    return _told_apart(found, trials, lambda trial: trial.name)


def _load(trial: TrialResult) -> LoadKey | None:
    return None if trial.load.asked_pps is None else load_of(trial)


def _device(trial: TrialResult) -> str:
    if trial.device.is_floor:
        return f"floor over {trial.device.link}"
    return trial.device.dut or trial.name


def _told_apart(
    names: Mapping[str, str], trials: Sequence[TrialResult], more: Callable[[TrialResult], str]
) -> dict[str, str]:
    """Add more to those that are called alike."""
    counts = Counter(names.values())
    by_name = {trial.name: trial for trial in trials}
    return {
        name: f"{words} ({more(by_name[name])})" if counts[words] > 1 else words
        for name, words in names.items()
    }
