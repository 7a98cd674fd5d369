"""Two runs side by side: pairs of variants, what is claimed of each pair and of all together.

All figures of all devices are one table, for whose size each p-value is corrected. The floors are
a table of their own: a change of theirs is a warning, not a claim.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from taut.analysis.claims import runs_needed
from taut.analysis.difference import (
    FIGURES,
    Difference,
    Shown,
    difference,
    judge,
    percent,
    side_of,
)
from taut.analysis.load import achieved_words, load_words, share_words
from taut.analysis.pairing import Alone, AnalysedRun, Match, Silent, match_variants
from taut.analysis.pooling import asked_of
from taut.analysis.surroundings import names_among
from taut.analysis.validity import FailedTrials, failed_trials, failed_words
from taut.records.documents.comparison import PairCompared, SideCompared
from taut.records.documents.results import WITH_VOID, WITHOUT_VOID, Packets, Variant
from taut.records.documents.rfc import RFC_FILE
from taut.records.documents.search import SEARCH_FILE
from taut.records.documents.trial import AS_FOUND, BARE


@dataclass(frozen=True)
class Pair:
    """One device of A beside one of B under the same load."""

    a: Variant
    b: Variant
    differences: Sequence[Difference]
    called: tuple[str, str]
    """What names each among the devices of both runs."""
    n_failed: tuple[int, int] = (0, 0)
    """How many repetitions of each failed: nothing of them is in its numbers."""

    @property
    def label(self) -> str:
        """The devices it compares, with what of their surroundings is not as found."""
        rows = (self.a, self.b)
        names = list(self.called)
        if any(row.device.host != AS_FOUND for row in rows):
            names = [f"{n}, {row.device.host}" for n, row in zip(names, rows, strict=True)]
        if any(row.device.place != BARE for row in rows):
            names = [f"{n}, {row.device.place}" for n, row in zip(names, rows, strict=True)]
        if any(row.device.neighbour is not None for row in rows):
            names = [f"{n}, {row.device.beside}" for n, row in zip(names, rows, strict=True)]
        return names[0] if names[0] == names[1] else f"{names[0]} → {names[1]}"

    def shown(self, what: Shown) -> list[Difference]:
        """The figures whose claim is `what`."""
        return [d for d in self.differences if d.shown is what]

    @property
    def verdict(self) -> str:
        """What is claimed of this pair, in words."""
        if self.broken:
            return f"do not trust these numbers: {self.broken}"
        claims = {what: self.shown(what) for what in (Shown.FASTER, Shown.SLOWER)}
        said = [f"{what} at {_figures(figures)}" for what, figures in claims.items() if figures]
        same = ", ".join(d.name for d in self.shown(Shown.NOTHING))
        unlike = ", ".join(d.name for d in self.shown(Shown.LOSSES))
        apart = f"; losses differ too much for {unlike}" if unlike else ""
        if said:
            same = f"; no difference shown at {same}" if same else ""
            return f"B is {' and '.join(said)}{same}{apart}"
        if same:
            return f"no difference shown{apart}"
        if self.shown(Shown.TOO_FEW_RUNS):
            return f"nothing is claimed of {self.runs}"
        if apart:
            return "nothing is claimed: one side lost, or could not send, more packets"
        return "too few packets to say anything"

    @property
    def is_claimed(self) -> bool:
        """Whether any figure is claimed to be faster or slower."""
        return bool(self.shown(Shown.FASTER) or self.shown(Shown.SLOWER))

    @property
    def has_evidence(self) -> bool:
        """Whether any figure has packets enough to be judged, were there runs enough of them."""
        return any(d.evidence is not None for d in self.differences)

    @property
    def broken(self) -> str:
        """Says whose sums do not come out; empty where all do."""
        sides = [side for side, row, _ in self.sides if not row.sums_reconcile]
        return f"the sums of {' and '.join(sides)} do not come out" if sides else ""

    @property
    def sides(self) -> list[tuple[str, Variant, int]]:
        """Both sides by their letters, and how many repetitions of each failed."""
        return [("A", self.a, self.n_failed[0]), ("B", self.b, self.n_failed[1])]

    @property
    def runs(self) -> str:
        """How often each side was repeated, in words."""
        a, b = (len(row.trials) for row in (self.a, self.b))
        if a == b == 1:
            return "one run each"
        return f"{a} runs each" if a == b else f"{a} and {b} runs"

    def document(self, packets: Packets = WITH_VOID) -> PairCompared:
        """Give one entry of `taut compare --json`; `packets`: those that are compared."""
        return PairCompared(
            load=load_words(self.a.load),
            is_floor=self.a.is_floor,
            label=self.label,
            verdict=self.verdict,
            a=_side(self.a, packets),
            b=_side(self.b, packets),
            figures=tuple(d.document() for d in self.differences),
        )


@dataclass(frozen=True)
class Comparison:
    """All pairs of two runs, devices before floors, and what had no counterpart or no latency."""

    pairs: Sequence[Pair]
    alone: Sequence[Alone] = ()
    silent: Sequence[Silent] = ()
    without_void: bool = False
    """Whether packets that the generator itself held up are left out."""
    is_searched: bool = False
    """Whether the loads of A are those that a search, or a recipe, came to."""

    @property
    def devices(self) -> Sequence[Pair]:
        """What is judged: the floors only where there is nothing else."""
        return [pair for pair in self.pairs if not pair.a.is_floor] or self.pairs

    @property
    def silent_devices(self) -> Sequence[Silent]:
        """What would be judged, and has no latency in one of the runs."""
        return [one for one in self.silent if self._only_floors or not one.a.is_floor]

    @property
    def missed_devices(self) -> Sequence[Alone]:
        """What would be judged, and B should have measured as well.

        Loads that A chose itself, for it searched, are none that B should have; its devices are.
        """
        of_a = [one for one in self.alone if one.run == "A"]
        if self.is_searched:
            of_a = [one for one in of_a if one.row.device.dut not in self._in_both]
        return [one for one in of_a if self._only_floors or not one.row.is_floor]

    @property
    def _in_both(self) -> set[str | None]:
        """Devices that B has as well, under whatever load."""
        rows = [one.row for one in self.alone if one.run == "B"]
        rows += [pair.a for pair in self.pairs] + [one.a for one in self.silent]
        return {row.device.dut for row in rows}

    @property
    def _only_floors(self) -> bool:
        return all(pair.a.is_floor for pair in self.pairs)

    @property
    def verdict(self) -> str:
        """The result in one sentence, or a few."""
        n_silent = len(self.silent_devices)
        if not n_silent:
            return self._compared()
        are = "is" if n_silent == 1 else "are"
        why = "no packet came back, or every trial failed"
        return f"{self._compared()} {n_silent} more {are} not compared: {why}."

    def _compared(self) -> str:
        devices = self.devices
        if len(devices) == 1 and not self.silent_devices:
            return _sentence(devices[0].verdict)
        single = [pair for pair in devices if pair.is_claimed or pair.broken]
        rest = [pair for pair in devices if not (pair.is_claimed or pair.broken)]
        if not single and not any(pair.shown(Shown.NOTHING) for pair in devices):
            few = next((pair.verdict for pair in devices if pair.has_evidence), None)
            return _sentence(few or "too few packets to say anything")
        told = [f"{pair.label} at {load_words(pair.a.load)}: {pair.verdict}." for pair in single]
        return " ".join([*told, *_rest(rest, told)])

    def documents(self) -> tuple[PairCompared, ...]:
        """Give the entries of `taut compare --json`."""
        packets: Packets = WITHOUT_VOID if self.without_void else WITH_VOID
        return tuple(pair.document(packets) for pair in self.pairs)

    @property
    def warnings(self) -> list[str]:
        """What a reader must know before using the verdict."""
        found = [f"{one.where}: {one.why}" for one in self.silent]
        found += [word for pair in self.pairs for word in _warnings(pair)]
        alone = [f"{one.why}: {one.where}" for one in self.alone]
        return [*found, *_runs_wanted(self.pairs), *alone]


def _side(row: Variant, packets: Packets) -> SideCompared:
    device = row.device
    return SideCompared(
        *(device.dut, device.driver, device.link, device.placement, device.path),
        trials=row.trials,
        sent=row.sent,
        lost=row.lost,
        void_share=row.void_share,
        n=row.metrics.latency(packets).n,
    )


def compare_runs(a: AnalysedRun, b: AnalysedRun, *, without_void: bool = False) -> Comparison:
    """Compare two analysed runs; InputError where nothing of them is comparable."""
    matches, silent, alone = match_variants(a, b)
    population: Packets = WITHOUT_VOID if without_void else WITH_VOID
    tables = [_differences(match, a, b, population) for match in matches]
    judged: dict[int, Sequence[Difference]] = {}
    for of_floors in (False, True):
        own = [at for at, match in enumerate(matches) if match.a.is_floor is of_floors]
        together = iter(judge([d for at in own for d in tables[at]]))
        judged |= {at: list(islice(together, len(tables[at]))) for at in own}
    called = names_among((a[1].variants, b[1].variants))
    failed = [failed_trials(analysis.trials) for _, analysis in (a, b)]
    pairs = [
        Pair(*rows, judged[at], (called(rows[0]), called(rows[1])), _n_failed(rows, failed))
        for at, rows in enumerate((match.a, match.b) for match in matches)
    ]
    is_searched = any((a[0].path / name).is_file() for name in (SEARCH_FILE, RFC_FILE))
    return Comparison(pairs, alone, silent, without_void, is_searched)


def _n_failed(rows: tuple[Variant, Variant], failed: Sequence[FailedTrials]) -> tuple[int, int]:
    """Count the repetitions of both sides that failed."""
    a, b = (len(of.get(asked_of(row), ())) for row, of in zip(rows, failed, strict=True))
    return a, b


def _differences(
    match: Match, a: AnalysedRun, b: AnalysedRun, population: Packets
) -> list[Difference]:
    trials = [analysis.trials_of(row) for row, (_, analysis) in ((match.a, a), (match.b, b))]
    is_broken = not (match.a.sums_reconcile and match.b.sums_reconcile)
    sides = [[side_of(name, of_side, population) for of_side in trials] for name in FIGURES]
    return [
        difference(name, *of, is_broken=is_broken) for name, of in zip(FIGURES, sides, strict=True)
    ]


def _figures(differences: Sequence[Difference]) -> str:
    return ", ".join(f"{d.name}{_change(d)}" for d in differences)


def _change(d: Difference) -> str:
    """How much latency changed, from A to B."""
    if d.improvement is None or d.improvement_interval is None:
        return ""
    low, high = d.improvement_interval
    return (
        f" (latency {percent(-d.improvement)} %, 95 % interval {percent(-high)}..{percent(-low)} %)"
    )


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _rest(pairs: Sequence[Pair], told: Sequence[str]) -> Iterator[str]:
    """Say what is not claimed, beside what is told: shown to be nothing, or not to be judged."""
    n_shown = sum(bool(pair.shown(Shown.NOTHING)) for pair in pairs)
    n_open = len(pairs) - n_shown
    if n_shown:
        number = f"{n_shown} comparison{'s' if n_shown > 1 else ''}"
        other = "the other" if n_shown == 1 else f"the other {n_shown}"
        yield f"No difference shown in {number if n_open or not told else other}."
    if n_open:
        of = f"{n_open} more" if n_shown else "the other" if n_open == 1 else f"the other {n_open}"
        yield f"Of {of} nothing can be said: too few runs or packets, or losses differ."


def _warnings(pair: Pair) -> list[str]:
    where = f"{pair.label} at {load_words(pair.a.load)}"
    found = []
    if pair.a.is_floor and pair.is_claimed:
        found.append(f"{where}: the instrument itself changed between the runs: {pair.verdict}")
    if pair.a.device.link != pair.b.device.link:
        found.append(
            f"{where}: other paths: A over {pair.a.device.link}, B over {pair.b.device.link}"
        )
    if pair.a.lost != pair.b.lost:
        lost = [f"{row.lost} of {row.sent}" for row in (pair.a, pair.b)]
        found.append(f"{where}: lost {lost[0]} in A, {lost[1]} in B; what is lost has no latency")
    return found + [f"{where}: {words}" for side in pair.sides for words in _weaknesses(*side)]


def _weaknesses(side: str, row: Variant, n_failed: int) -> Iterator[str]:
    """Say why one side is not what it seems."""
    if not row.sums_reconcile:
        yield f"the sums of {side} do not come out: do not use its numbers"
    if n_failed:
        yield f"{failed_words(n_failed, n_failed + len(row.trials))} in {side}"
    if n_silent := row.p50_of_repetitions.count(None):
        yield (
            f"no packet came back in {n_silent} of {len(row.trials)} trials of {side}: the others "
            "alone are compared"
        )
    if row.instrument_limited:
        yield (
            "the generator itself was late in a repetition with over 1 % of the packets of "
            f"{side}, {share_words(row.void_share)} in all"
        )
    if not row.rate_ok:
        yield f"the rate of {side} was not what was asked: {achieved_words(row)}"
    if row.two_bands:
        yield f"the repetitions of {side} lie in two bands"


def _runs_wanted(pairs: Sequence[Pair]) -> Iterator[str]:
    """Say what a claim of a device takes: more repetitions, or more packets in each."""
    devices = [pair for pair in pairs if not pair.a.is_floor]
    found = [d.evidence for pair in devices for d in pair.differences]
    n_figures = sum(one is not None and one.gone is None for one in found)
    few = [pair for pair in devices if pair.shown(Shown.TOO_FEW_RUNS)]
    if not few:
        return
    alone = runs_needed(n_figures, is_paired=False)
    if any(len(row.trials) < alone for pair in few for row in (pair.a, pair.b)):
        together = runs_needed(n_figures, is_paired=False, n_differing=n_figures)
        yield (
            "a claim is made from repeated runs, since packets know nothing of what changes from "
            f"run to run: where one of these {n_figures} figures differs, {alone} repetitions a "
            f"side can show it; where all do, {together}"
        )
    for pair in few:
        short = ", ".join(_support(pair, d) for d in pair.shown(Shown.TOO_FEW_RUNS))
        if all(len(row.trials) >= alone for row in (pair.a, pair.b)):
            where = f"{pair.label} at {load_words(pair.a.load)}"
            yield f"{where}: too few repetitions have enough packets ({short}): measure longer"


def _support(pair: Pair, d: Difference) -> str:
    """Say in how many repetitions a figure has enough packets, of the side with the fewer."""
    sides = [(len(d.a.supported_ns), "A", pair.a), (len(d.b.supported_ns), "B", pair.b)]
    n, side, row = min(sides, key=lambda of: of[0])
    return f"{d.name}: {n} of {len(row.trials)} in {side}"
