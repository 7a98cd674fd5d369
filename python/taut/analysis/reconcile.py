"""Check that a trial's counters add up, so that no packet is lost between two of them.

due = sent + unsent, sent = matched + lost, received = matched + duplicates + orphans + late; for
the whole trial, for each direction, and between the generator's counters and the records.
"""

from collections.abc import Mapping

from taut.analysis.distribution import Counts
from taut.records.documents.generator import GeneratorResult
from taut.records.documents.results import ColdCounts, WarmCounts

COUNTERS = (
    "due",
    "sent",
    "unsent",
    "received",
    "matched",
    "lost",
    "late",
    "duplicates",
    "orphans",
    "out_of_sequence",
    "void",
)
PACKETS = ("due", "sent", "unsent", "matched", "lost", "void")
"""Counters that are kept separately for packets due in the warm-up and after it."""

# What the records count independently of the generator; `received` is a sum of these.
_RECORDED = ("due", "sent", "unsent", "matched", "lost", "late", "duplicates", "orphans")


def failed_sums(generator: GeneratorResult, counts: Counts | None) -> list[str]:
    """Say in words which sums do not come out; empty when all do."""
    failures: list[str] = []
    directions = generator.directions
    for name, counters in [
        ("total", generator.counters),
        *((f"direction {i}", c) for i, c in enumerate(directions)),
    ]:
        failures += [f"{name}: {failure}" for failure in _sums(counters)]
    for name in COUNTERS:
        total, parts = generator.counters.get(name), [d[name] for d in directions if name in d]
        is_known = total is not None and parts and len(parts) == len(directions)
        if is_known and total != sum(parts):
            failures.append(f"{name}: {total} in total, {sum(parts)} over the directions")
    if counts is not None:
        failures += _against_records(generator.counters, counts)
    return failures


def by_warm_up(counters: Mapping[str, int], counts: Counts | None) -> tuple[WarmCounts, ColdCounts]:
    """Split the counters of a trial: those after the warm-up, and those of the warm-up.

    The generator counts both, whatever is recorded. Captures have their records; of older trials
    without every packet a value of the warm-up may be None, and is then among the others.
    """
    if "lost_cold" not in counters and counts is not None:
        recorded = {cold: total_counts(counts, cold=cold) for cold in (False, True)}
        return (
            WarmCounts(**{name: recorded[False].get(name, 0) for name in PACKETS}),
            ColdCounts(**{name: recorded[True].get(name, 0) for name in PACKETS}),
        )
    cold: dict[str, int | None] = {
        "due": counters.get("cold"),
        "unsent": counters.get("unsent_cold"),
        "lost": counters.get("lost_cold"),
        "void": counters.get("void_cold"),
    }
    cold["sent"] = _difference(cold["due"], cold["unsent"])
    cold["matched"] = _difference(cold["sent"], cold["lost"])
    warm = {name: counters[name] - (cold[name] or 0) for name in PACKETS}
    return WarmCounts(**warm, lost_void=counters.get("lost_void")), ColdCounts(**cold)


def _difference(whole: int | None, part: int | None) -> int | None:
    return None if whole is None or part is None else whole - part


def total_counts(counts: Counts, *, cold: bool | None = None) -> dict[str, int]:
    """Add up the records' counters over directions; cold, not cold, or (None) all."""
    total: dict[str, int] = {}
    for (_, is_cold), row in counts.items():
        if cold is None or cold == is_cold:
            for name, value in row.items():
                total[name] = total.get(name, 0) + value
    return total


def _sums(c: Mapping[str, int]) -> list[str]:
    right_sides = {
        "due": ("sent", "unsent"),
        "sent": ("matched", "lost"),
        "received": ("matched", "duplicates", "orphans", "late"),
    }
    return [
        f"{name} is {c[name]} but {' + '.join(parts)} is {sum(c[p] for p in parts)}"
        for name, parts in right_sides.items()
        if c[name] != sum(c[p] for p in parts)
    ]


def _against_records(counters: Mapping[str, int], counts: Counts) -> list[str]:
    recorded = total_counts(counts)
    # Departures that were still to come when the run ended have no record.
    unrecorded = dict.fromkeys(("due", "unsent"), counters.get("abandoned", 0))
    return [
        f"{name}: the generator counted {counters[name]}, its records say {recorded.get(name, 0)}"
        for name in _RECORDED
        if counters[name] - unrecorded.get(name, 0) != recorded.get(name, 0)
    ]
