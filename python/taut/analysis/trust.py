"""How far a run's numbers can be trusted, and why not further: one sentence.

A percentile is trusted as far as enough independent packets lie above it, and more packets lie
above it than the generator was late with (void): what lies beyond may be all the generator's own.
"""

import re
from collections.abc import Sequence

from taut.analysis.load import share_words
from taut.core.percentiles import PERCENTILES, SUPPORT, share_above
from taut.core.units import format_ns
from taut.records.documents.results import TrialResult, Variant

_TRUST = re.compile(
    r"(.*?\.) ((?:Do not trust|No proof, and trust|Trust) [^:]*?)(?:: (.*)|\.)", re.DOTALL
)


def split_trust(verdict: str) -> tuple[str, str, str]:
    """Part a verdict into what was found, how far that is trusted and why not further.

    The last two are empty where it says nothing of trust, as when nothing was measured;
    the last one is, too, where captures support every percentile.
    """
    found = _TRUST.fullmatch(verdict)
    return (found[1], found[2], found[3] or "") if found else (verdict, "", "")


def trust_rank(trust: str) -> int:
    """Give a number, from 0, that grows with how far the words of `split_trust` trust a run."""
    if not trust:
        return 0
    if trust.startswith("Do not"):
        return 1
    reached = [trust.endswith(f" {name}") for name in PERCENTILES]
    is_proof = not trust.startswith("No proof")
    return 2 + 2 * (reached.index(True) if any(reached) else 0) + is_proof


def trust_sentence(
    rows: Sequence[Variant],
    results: Sequence[TrialResult],
    few: str = "",
    *,
    without_void: bool = False,
) -> str:
    """Say how far to trust the variants of a finding; `few` says that runs are too few for a claim.

    `without_void`: the finding leaves out packets that the generator was late with.
    """
    devices = [row for row in rows if not row.is_floor] or list(rows)
    reached = _reached(devices, without_void=without_void)
    names = {name for row in rows for name in row.trials}
    if any(r.cores is not None and r.cores.shared for r in results if r.name in names):
        reached = reached and "p50"
        shared = ["generator and device shared cores, so tails are not the device's alone"]
    else:
        shared = []
    broken, failed = _broken(results), sum(not r.is_whole for r in results)
    why = [
        *broken,
        *([few] if few else []),
        *_late(devices, reached, without_void=without_void),
        *_support(devices, reached, without_void=without_void),
        *shared,
        *([f"{failed} of {len(results)} trials failed"] if failed else []),
        *_floor(rows),
    ]
    head = "Do not trust these numbers" if broken else _head(reached, is_few=bool(few))
    return f"{head}: {'; '.join(why)}." if why else f"{head}."


def _broken(results: Sequence[TrialResult]) -> list[str]:
    n = sum(r.figures is not None and not r.figures.sums_reconcile for r in results)
    return [f"the sums of {n} {'trial' if n == 1 else 'trials'} do not come out"] if n else []


def _head(reached: str | None, *, is_few: bool) -> str:
    if reached is None:
        return "Do not trust even the medians"
    alone = "the medians alone" if reached == "p50" else f"percentiles as far as {reached}"
    return f"No proof, and trust {alone}" if is_few else f"Trust {alone}"


def _reached(devices: Sequence[Variant], *, without_void: bool) -> str | None:
    """Name the farthest percentile that may be trusted of every device; None: not the median."""
    reached = None
    for name in PERCENTILES:
        for row in devices:
            is_own = without_void or row.void_share < share_above(name)
            if not is_own or name in _unsupported(row, without_void=without_void):
                return reached
        reached = name
    return reached


def _unsupported(row: Variant, *, without_void: bool) -> Sequence[str]:
    if without_void:
        return row.unsupported_percentiles_without_void
    return row.doubt.unsupported_percentiles


def _late(devices: Sequence[Variant], reached: str | None, *, without_void: bool) -> list[str]:
    if all(row.device.is_capture for row in devices):
        return []  # a capture has no generator
    worst = max(devices, key=lambda row: row.void_share)
    share = worst.void_share
    if not share:
        return ["the generator was late with no packet"]
    said = f"the generator itself was late with up to {share_words(share)} of the packets"
    if without_void:
        return [f"{said}, which are left out here"]
    beyond = _beyond(reached)
    is_own = beyond is not None and share >= share_above(beyond)
    theirs = "the medians" if reached is None else "what is further out"
    why = f", so {theirs} may be its own" if is_own else ""
    return [f"{said} ({worst.device.dut}){why}"]


def _support(devices: Sequence[Variant], reached: str | None, *, without_void: bool) -> list[str]:
    beyond = _beyond(reached)
    if all(beyond not in _unsupported(row, without_void=without_void) for row in devices):
        return []
    where = "" if reached is None else "further out "
    return [f"{where}fewer than {SUPPORT} independent packets decide"]


def _beyond(reached: str | None) -> str | None:
    """Name the first percentile that is not trusted; None: all are."""
    names = list(PERCENTILES)
    at = 0 if reached is None else names.index(reached) + 1
    return names[at] if at < len(names) else None


def _floor(rows: Sequence[Variant]) -> list[str]:
    """Say what the same load takes without a device: no shorter latency can be measured."""
    if all(row.device.is_capture for row in rows):
        return []
    floors = [row for row in rows if row.is_floor and row.latency.p50_ns is not None]
    if not floors:
        return ["no floor was measured"]
    if len({row.load.asked_pps for row in floors}) > 1:
        return []  # one for each load: the table shows them
    by_link: dict[str | None, list[float]] = {}
    for row in floors:
        by_link.setdefault(row.device.link, []).append(row.latency.p50_ns or 0)
    words = []
    for link, medians in by_link.items():
        ends = dict.fromkeys(format_ns(end(medians)) for end in (min, max))
        words.append(f"{' to '.join(ends)} over {link}")
    return [f"the instrument's own floor is {' and '.join(words)}"]
