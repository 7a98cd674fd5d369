"""The run in one sentence of plain words; it claims nothing the packets do not support."""

from collections.abc import Mapping, Sequence
from typing import Any

from taut.analysis.load import load_of, load_words, main_load, share_words
from taut.core.units import format_ns

_TAIL = ("p99.9", "p99")


def verdict(variants: Sequence[Mapping[str, Any]], results: Sequence[Mapping[str, Any]]) -> str:
    """Say which device did how well at which load, and whether the numbers can be trusted."""
    load = main_load(variants)
    if load is None:
        return "Nothing was measured: " + (
            f"all {len(results)} trials failed." if results else "the run has no trials."
        )
    rows = [row for row in variants if load_of(row) == load]
    devices = sorted((r for r in rows if not r["is_floor"]), key=_p50)
    parts = [_device(row) for row in devices or rows]
    ratio = _ratio(devices)
    sentence = f"At {load_words(rows[0])}, " + "; ".join(parts)
    if ratio:
        sentence += f"; {ratio}"
    return f"{sentence}; {_floor(rows)}{_trust(rows, results)}."


def _p50(row: Mapping[str, Any]) -> float:
    p50 = row["latency_ns"]["p50"]
    return float("inf") if p50 is None else float(p50)


def _device(row: Mapping[str, Any]) -> str:
    latency = row["latency_ns"]
    if latency["p50"] is None:
        return f"{row['dut']} returned no packet"
    words = f"{row['dut']} took {format_ns(latency['p50'])} at the median"
    for name in _TAIL:
        if name not in row["unsupported_percentiles"]:
            words += f", {format_ns(latency[name])} at {name}"
            break
    words += f" and at most {format_ns(latency['max'])}"
    return words + f", {_loss(row)}"


def _loss(row: Mapping[str, Any]) -> str:
    words = f"losing {row['lost']} of {row['sent']}" if row["lost"] else "losing nothing"
    if row["unsent"]:
        words += f" ({row['unsent']} could not be sent)"
    return words


def _ratio(devices: Sequence[Mapping[str, Any]]) -> str | None:
    found = [row for row in devices if row["latency_ns"]["p50"]]
    if len(found) < 2:
        return None
    fast, slow = found[0], found[-1]
    times = slow["latency_ns"]["p50"] / fast["latency_ns"]["p50"]
    path = "" if slow["link"] == fast["link"] else " (over different paths)"
    return f"{slow['dut']}'s median is {times:.3g} times {fast['dut']}'s{path}"


def _floor(rows: Sequence[Mapping[str, Any]]) -> str:
    floors = [row for row in rows if row["is_floor"] and row["latency_ns"]["p50"] is not None]
    if not floors:
        return "no floor was measured; "
    words = " and ".join(
        f"{format_ns(row['latency_ns']['p50'])} over {row['link'] or 'its path'}" for row in floors
    )
    return f"the instrument's own floor is {words}; "


def _trust(rows: Sequence[Mapping[str, Any]], results: Sequence[Mapping[str, Any]]) -> str:
    names = {name for row in rows for name in row["trials"]}
    limited = [str(row["dut"]) for row in rows if row["instrument_limited"]]
    worst = max(float(row["void_share"]) for row in rows)
    words = f"up to {share_words(worst)} of a device's packets are void" if worst else "none void"
    words += (
        f", so {_and(limited)} {'is' if len(limited) == 1 else 'are'} instrument-limited"
        if limited
        else ", so the instrument did not limit the result"
    )
    shared = any((r["cores"] or {}).get("shared") for r in results if r["name"] in names)
    words += (
        "; generator and device shared cores, so tails are not the device's alone" if shared else ""
    )
    failed = sum(r["status"] != "whole" for r in results)
    words += f"; {failed} of {len(results)} trials failed" if failed else ""
    broken = [r["name"] for r in results if r.get("sums_reconcile") is False]
    return words + (f"; the sums of {len(broken)} trials do not reconcile" if broken else "")


def _and(names: Sequence[str]) -> str:
    unique = list(dict.fromkeys(names))
    return unique[0] if len(unique) == 1 else f"{', '.join(unique[:-1])} and {unique[-1]}"
