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
        failed = f"all {len(results)} trials failed." if results else "the run has no trials."
        return f"Nothing was measured: {failed}"
    rows = [row for row in variants if load_of(row) == load]
    devices = sorted((row for row in rows if not row["is_floor"]), key=_p50)
    parts = [_device(row, devices[0]) for row in devices]
    captured = all(row.get("driver") == "capture" for row in rows)
    # Captures have no generator: no floor, nothing void.
    parts += [] if captured else [_floor(rows), *_void(rows)]
    parts += _trust(rows, results)
    said = f"t {load_words(rows[0])}: {'; '.join(parts)}."
    limited = _limited(rows)
    return f"{limited}: a{said}" if limited else f"A{said}"


def _limited(rows: Sequence[Mapping[str, Any]]) -> str | None:
    """What a reader must know before the first number, if the generator was held up too often."""
    names = [
        "the floor" if r["is_floor"] else str(r["dut"]) for r in rows if r["instrument_limited"]
    ]
    if not names:
        return None
    return f"Instrument-limited ({', '.join(dict.fromkeys(names))}: over 1 % of packets void)"


def _time(ns: int) -> str:
    return format_ns(ns).replace(" us", " µs")


def _p50(row: Mapping[str, Any]) -> float:
    p50 = row["latency_ns"]["p50"]
    return float("inf") if p50 is None else float(p50)


def _device(row: Mapping[str, Any], fastest: Mapping[str, Any]) -> str:
    latency = row["latency_ns"]
    if latency["p50"] is None:
        return f"{row['dut']} returned no packet"
    ratio = ""
    if row is not fastest and fastest["latency_ns"]["p50"]:
        times = f"{latency['p50'] / fastest['latency_ns']['p50']:.3g}"
        ratio = f", as {fastest['dut']}" if times == "1" else f", {times} times {fastest['dut']}"
        ratio += "" if row["link"] == fastest["link"] else " though over another path"
    tail = [f"{p} {_time(latency[p])}" for p in _TAIL if p not in row["unsupported_percentiles"]]
    inside = ", ".join([*tail[:1], f"max {_time(latency['max'])}", _loss(row)])
    return f"{row['dut']} median {_time(latency['p50'])}{ratio} ({inside})"


def _loss(row: Mapping[str, Any]) -> str:
    words = f"{row['lost']} of {row['sent']} lost" if row["lost"] else "nothing lost"
    return words + (f", {row['unsent']} could not be sent" if row["unsent"] else "")


def _floor(rows: Sequence[Mapping[str, Any]]) -> str:
    floors = [row for row in rows if row["is_floor"] and row["latency_ns"]["p50"] is not None]
    if not floors:
        return "no floor measured"
    words = [f"{_time(row['latency_ns']['p50'])} over {row['link']}" for row in floors]
    return f"the instrument's own floor is {' and '.join(words)}"


def _void(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    worst = max(float(row["void_share"]) for row in rows)
    found = f"at most {share_words(worst)} void" if worst else "no void packets"
    if not any(row["instrument_limited"] for row in rows):
        found += ", so not limited by the instrument"
    return [found]


def _trust(rows: Sequence[Mapping[str, Any]], results: Sequence[Mapping[str, Any]]) -> list[str]:
    found = []
    names = {name for row in rows for name in row["trials"]}
    if any((r["cores"] or {}).get("shared") for r in results if r["name"] in names):
        found.append("generator and device shared cores, so tails are not the device's alone")
    failed = sum(r["status"] != "whole" for r in results)
    if failed:
        found.append(f"{failed} of {len(results)} trials failed")
    broken = sum(r.get("sums_reconcile") is False for r in results)
    if broken:
        found.append(f"the sums of {broken} trials do not reconcile")
    return found
