"""What only a pair of captures has, in words: classes of frames, clocks, content classes."""

from collections.abc import Mapping, Sequence
from typing import Any

from taut.report import cells

Trial = Mapping[str, Any]

CLASS_COLUMNS = (
    "pair",
    "matched",
    "lost",
    "duplicates",
    "beyond window",
    "orphans",
    "ambiguous in",
    "ambiguous out",
    "truncated in",
    "truncated out",
    "negative",
    "out of sequence",
)
CONTENT_COLUMNS = (
    "pair",
    "field",
    "value",
    "packets",
    "is",
    "by (95 %)",
    "median",
    "of the others",
    "share of its tail",
    "p (corrected)",
    "first packets",
)
_FIRST = 4


def captures_of(trials: Sequence[Trial]) -> list[Trial]:
    """The trials that were made of captures."""
    return [trial for trial in trials if trial.get("capture")]


def is_capture(row: Mapping[str, Any]) -> bool:
    """Whether a variant was captured, not generated: no floor, no void, no schedule."""
    return bool(row["driver"] == "capture")


def class_row(trial: Trial) -> list[str]:
    """Frames by class, as CLASS_COLUMNS."""
    of = trial["capture"]
    plain = ("matched", "lost", "duplicates", "beyond_window", "orphans")
    by_side = [of[name][side] for name in ("ambiguous", "truncated") for side in _SIDES]
    numbers = [*(of[name] for name in plain), *by_side, of["negative"], of["out_of_sequence"]]
    return [str(trial["dut"]), *(cells.count(n) for n in numbers)]


_SIDES = ("ingress", "egress")


def clock_words(trial: Trial) -> str:
    """What the lower envelope says about the two clocks."""
    clocks = trial["capture"]["clocks"]
    if clocks["drift_ppb"] is None:
        return f"{trial['dut']}: too few packets to say whether the clocks drift"
    drift, doubt = clocks["drift_ppb"], clocks["drift_uncertainty_ppb"]
    shown = "drift" if abs(drift) > doubt else "no drift shown"
    return (
        f"{trial['dut']}: {shown}: {drift:.3g} ± {doubt:.2g} ns a second; offset plus the least "
        f"latency is {cells.time(clocks['offset_plus_least_latency_ns'])} ± "
        f"{cells.time(clocks['offset_uncertainty_ns'])} (lower envelope, "
        f"{cells.count(clocks['n_points'])} stretches)"
    )


def content_words(trial: Trial) -> str:
    """What the search by content came to, in one line."""
    content = trial["capture"]["content"]
    if content is None:
        return f"{trial['dut']}: content not searched; --content does"
    if content["not_searched"]:
        return f"{trial['dut']}: content not searched: {content['not_searched']}"
    n = len(content["classes"])
    n_open = sum(bool(found.get("alternative")) for found in content["classes"])
    found = f"{n} classes of packets are" if n > 1 else "1 class of packets is"
    words = f"{found} slower or faster for what is in them" if n else "no packet is slow for "
    words += "" if n else "what is in it"
    if n_open:
        words += ", or for something else that would look the same"
        words += f" ({n_open} of them)" if n > n_open else ""
    together = content.get("captures", 1)
    of = f"{together} captures, " if together > 1 else ""
    return f"{trial['dut']}: {words} ({of}{content['tests']:,} tests)"


def content_rows(trial: Trial) -> list[list[str]]:
    """The content classes, as CONTENT_COLUMNS."""
    content = trial["capture"]["content"] or {"classes": []}
    return [[str(trial["dut"]), *_content_row(found)] for found in content["classes"]]


def open_words(trial: Trial) -> list[str]:
    """What would look the same as a class, a line each."""
    content = trial["capture"]["content"] or {"classes": []}
    return [
        f"{trial['dut']}: {found['field']} = {_value(found)}, or {found['alternative']}: "
        "a capture in which the value comes at another place settles it (--with)"
        for found in content["classes"]
        if found.get("alternative")
    ]


def _value(found: Mapping[str, Any]) -> str:
    """A value, marked where something else would look the same."""
    return str(found["value"]) + (" (?)" if found.get("alternative") else "")


def position_words(trial: Trial) -> list[str]:
    """Runs of neighbours that differ from the rest by far, a line each."""
    positions = (trial["capture"]["content"] or {}).get("positions") or {"runs": [], "n_runs": 0}
    lines = [f"{trial['dut']}: {_run_words(run)}" for run in positions["runs"]]
    n_more = positions["n_runs"] - len(lines)
    if n_more:
        runs = "run" if n_more == 1 else "runs"
        lines.append(f"{trial['dut']}: {cells.count(n_more)} more {runs} of neighbours like these")
    return lines


def _run_words(run: Mapping[str, Any]) -> str:
    n_packets = run["last_position"] - run["first_position"] + 1
    first, last = cells.count(run["first_position"]), cells.count(run["last_position"])
    places = first if n_packets == 1 else f"{first} to {last}"
    noun = "packet" if n_packets == 1 else "packets"
    if run["where"] == "inside":
        which = f"{noun} {places}"
    else:
        number = "" if n_packets == 1 else f"{cells.count(n_packets)} "
        which = f"the {run['where']} {number}{noun} ({places})"
    be = "is" if n_packets == 1 else "are"
    by = cells.time(abs(run["median_ns"] - run["rest_median_ns"]))
    return (
        f"{which} {be} {run['direction']} than the rest by {by}, from {run['time_ns'] / 1e9:.6f} s"
    )


def _content_row(found: Mapping[str, Any]) -> list[str]:
    low, high = found["shift_interval_ns"]
    tail = found["tail"]
    packets = [
        f"#{p['position']} at {p['time_ns'] / 1e9:.6f} s" for p in found["first_packets"][:_FIRST]
    ]
    more = found["packets"] - len(packets)
    return [
        str(found["field"]),
        _value(found),
        cells.count(found["packets"]),
        str(found["direction"]),
        f"{cells.time(found['shift_ns'])} ({cells.time(low)} to {cells.time(high)})",
        cells.time(found["median_ns"]),
        cells.time(found["rest_median_ns"]),
        f"{100 * tail['of_tail']:.3g} % of {cells.count(tail['n'])}",
        f"{found['p_corrected']:.1g}",
        ", ".join(packets) + (f" and {cells.count(more)} more" if more > 0 else ""),
    ]
