"""The run in two sentences of plain words: what was found, and how far it can be trusted.

Devices are compared with the one of the least median, run by run. Since the run itself picks that
device, the table that is judged has a figure for every two devices under the load.
"""

from collections.abc import Sequence
from itertools import combinations

from taut.analysis.claim_words import few_words, times_words
from taut.analysis.claims import judge_table
from taut.analysis.load import load_of, load_words, main_load
from taut.analysis.runs import ratio_evidence
from taut.analysis.states import TAIL, found_of_states
from taut.analysis.trust import trust_sentence
from taut.analysis.validity import after_warm_up
from taut.core.units import format_ns
from taut.records.documents.results import TrialResult, Variant

_MOST_DEVICES = 4
"""The sentence names at most so many devices; the table below it has all."""


def verdict(variants: Sequence[Variant], results: Sequence[TrialResult]) -> str:
    """Say which device did how well at which load, and how far that can be trusted."""
    load = main_load(variants)
    if load is None:
        failed = f"all {len(results)} trials failed." if results else "the run has no trials."
        return f"Nothing was measured: {failed}"
    in_turn = found_of_states(results)
    if in_turn is not None:
        trust = trust_sentence(variants, results, in_turn.few, without_void=True)
        return f"{in_turn.sentence} {trust}"
    rows = [row for row in variants if load_of(row) == load]
    devices = sorted((row for row in rows if not row.is_floor), key=_p50)
    beside, few = _beside_the_first(devices, results)
    return f"{_found(rows, devices, beside)} {trust_sentence(rows, results, few)}"


def _found(rows: Sequence[Variant], devices: Sequence[Variant], beside: Sequence[str]) -> str:
    parts = [_device(row, said) for row, said in zip(devices, beside, strict=True)]
    more = len(parts) - _MOST_DEVICES
    if more > 0:
        # The slowest says more than those between.
        parts = [*parts[: _MOST_DEVICES - 1], f"{more} more in the table", parts[-1]]
    found = "; ".join(parts) or "no device, the instrument's own floor alone"
    return f"At {load_words(rows[0].load)}: {found}."


def _p50(row: Variant) -> float:
    p50 = row.latency.p50_ns
    return float("inf") if p50 is None else float(p50)


def _beside_the_first(
    devices: Sequence[Variant], results: Sequence[TrialResult]
) -> tuple[list[str], str]:
    """Say for every device but the first how many times the first one's median its median is.

    Also say how few the runs are where they are too few for a claim; else that is empty.
    """
    runs = [[r for r in results if r.name in row.trials] for row in devices]
    pairs = {
        (i, j): evidence
        for i, j in combinations(range(len(devices)), 2)
        if (evidence := ratio_evidence(runs[i], runs[j], "p50")) is not None
    }
    judged = dict(zip(pairs, judge_table(list(pairs.values())), strict=True))
    said = [""] * len(devices)
    few = ""
    for (i, j), evidence in pairs.items():
        if i == 0:
            said[j] = times_words(evidence, judged[i, j], str(devices[0].device.dut))
            few = few or few_words(evidence, judged[i, j])
            if devices[j].device.link != devices[0].device.link:
                said[j] += ", over another path"
    return said, few


def _device(row: Variant, beside: str) -> str:
    latency, dut = row.latency, row.device.dut
    if latency.p50_ns is None:
        return f"{dut} returned no packet{after_warm_up(row)}"
    tail = [
        f"{p} {format_ns(value)}"
        for p in TAIL
        if p not in row.doubt.unsupported_percentiles
        and (value := latency.percentiles_ns[p]) is not None
    ]
    inside = ", ".join([*([beside] if beside else tail[:1]), *_loss(row)])
    words = f"{dut} median {format_ns(latency.p50_ns)}"
    return f"{words} ({inside})" if inside else words


def _loss(row: Variant) -> list[str]:
    words = [f"{row.lost:,} of {row.sent:,} packets lost"] if row.lost else []
    return words + ([f"{row.unsent:,} could not be sent"] if row.unsent else [])
