"""Two runs side by side: pairs of variants, what is claimed of each, and in all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from taut.analysis.difference import Difference, Shown, Side, difference, percent, sides_of
from taut.analysis.load import load_words
from taut.analysis.pairing import AnalysedRun, Match, match_variants
from taut.analysis.results import read_distribution
from taut.analysis.statistics import MAIN, WITHOUT_VOID, selections, summarise

COMPARISON_FORMAT = 1

_IDENTITY = ("dut", "driver", "link", "placement", "path", "trials", "sent", "lost", "void_share")


@dataclass(frozen=True)
class Pair:
    """One device of A beside one of B under the same load."""

    a: Mapping[str, Any]
    b: Mapping[str, Any]
    differences: Sequence[Difference]

    @property
    def label(self) -> str:
        """Whom it compares."""
        names = ["floor" if row["is_floor"] else str(row["dut"]) for row in (self.a, self.b)]
        return names[0] if names[0] == names[1] else f"{names[0]} → {names[1]}"

    def shown(self, what: Shown) -> list[Difference]:
        """The figures of which this is claimed."""
        return [d for d in self.differences if d.shown is what]

    @property
    def verdict(self) -> str:
        """What is claimed of this pair, in words."""
        claims = {what: self.shown(what) for what in (Shown.FASTER, Shown.SLOWER)}
        said = [f"{what} at {_figures(figures)}" for what, figures in claims.items() if figures]
        same = ", ".join(d.name for d in self.shown(Shown.NOTHING))
        if not said:
            return "no difference shown" if same else "too few packets to say anything"
        return f"B is {' and '.join(said)}" + (f"; no difference shown at {same}" if same else "")

    @property
    def is_claimed(self) -> bool:
        """Whether any difference is."""
        return bool(self.shown(Shown.FASTER) or self.shown(Shown.SLOWER))

    def as_json(self) -> dict[str, object]:
        """One entry of `taut compare --json`."""
        return {
            "load": load_words(self.a),
            "is_floor": self.a["is_floor"],
            "label": self.label,
            "verdict": self.verdict,
            "a": _identity(self.a),
            "b": _identity(self.b),
            "figures": [d.as_json() for d in self.differences],
        }


@dataclass(frozen=True)
class Comparison:
    """All pairs of two runs, devices before floors, and what had no counterpart."""

    pairs: Sequence[Pair]
    unmatched: Sequence[str]

    @property
    def verdict(self) -> str:
        """The result in one sentence."""
        devices = [pair for pair in self.pairs if not pair.a["is_floor"]] or self.pairs
        if len(devices) == 1:
            return _sentence(devices[0].verdict)
        claimed = [pair for pair in devices if pair.is_claimed]
        if not claimed:
            return f"No difference shown in {len(devices)} comparisons."
        return " ".join(
            f"{pair.label} at {load_words(pair.a)}: {pair.verdict}." for pair in claimed
        ) + _rest(len(devices) - len(claimed))

    def as_json(self) -> dict[str, object]:
        """The document of `taut compare --json`."""
        return {
            "format": COMPARISON_FORMAT,
            "verdict": self.verdict,
            "pairs": [pair.as_json() for pair in self.pairs],
            "warnings": self.warnings,
        }

    @property
    def warnings(self) -> list[str]:
        """What a reader must know before using the verdict."""
        return [word for pair in self.pairs for word in _warnings(pair)] + list(self.unmatched)


def _identity(row: Mapping[str, Any]) -> dict[str, object]:
    return {key: row[key] for key in _IDENTITY} | {"n": row["latency_ns"]["n"]}


def compare_runs(a: AnalysedRun, b: AnalysedRun, *, without_void: bool = False) -> Comparison:
    """Compare two analysed runs; InputError where nothing of them is comparable."""
    matches, unmatched = match_variants(a, b)
    population = WITHOUT_VOID if without_void else MAIN
    return Comparison([_pair(match, a, b, population) for match in matches], unmatched)


def _pair(match: Match, a: AnalysedRun, b: AnalysedRun, population: str) -> Pair:
    sides_a, sides_b = _sides(match.a, a, population), _sides(match.b, b, population)
    return Pair(match.a, match.b, [difference(n, sides_a[n], sides_b[n]) for n in sides_a])


def _sides(row: Mapping[str, Any], run: AnalysedRun, population: str) -> dict[str, Side]:
    directory, document = run
    tables = [read_distribution(directory.path, name) for name in row["trials"]]
    summary = summarise(pa.concat_tables(tables), "latency", selections([0]))[population]
    key = "latency_without_void_ns" if population == WITHOUT_VOID else "latency_ns"
    blocks = [t[key] for t in document["trials"] if t["name"] in row["trials"]]
    return sides_of(summary, blocks)


def _figures(differences: Sequence[Difference]) -> str:
    return ", ".join(f"{d.name}{_change(d)}" for d in differences)


def _change(one: Difference) -> str:
    """How much latency changed, from A to B."""
    if one.improvement is None or one.improvement_interval is None:
        return ""
    low, high = one.improvement_interval
    return (
        f" (latency {percent(-one.improvement)} %, "
        f"95 % interval {percent(-high)}..{percent(-low)} %)"
    )


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _rest(n: int) -> str:
    if not n:
        return ""
    return f" No difference shown in {'the other' if n == 1 else f'the other {n}'}."


def _warnings(pair: Pair) -> list[str]:
    where = f"{pair.label} at {load_words(pair.a)}"
    found = []
    if pair.a["is_floor"] and pair.is_claimed:
        found.append(f"{where}: the instrument itself changed between the runs: {pair.verdict}")
    if pair.a["link"] != pair.b["link"]:
        found.append(f"{where}: other paths: A over {pair.a['link']}, B over {pair.b['link']}")
    if pair.a["lost"] != pair.b["lost"]:
        lost = [f"{row['lost']} of {row['sent']}" for row in (pair.a, pair.b)]
        found.append(f"{where}: lost {lost[0]} in A, {lost[1]} in B; what is lost has no latency")
    for side, row in (("A", pair.a), ("B", pair.b)):
        if row["instrument_limited"]:
            found.append(f"{where}: {side} is instrument-limited (over 1 % of packets void)")
        if row["two_bands"]:
            found.append(f"{where}: the repetitions of {side} lie in two bands")
    if min(len(pair.a["trials"]), len(pair.b["trials"])) < 3:
        found.append(
            f"{where}: fewer than 3 repetitions: an interval from packets alone knows nothing of "
            "what changes from run to run"
        )
    return found
