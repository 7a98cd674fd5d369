"""Loads: what must agree before two devices are compared, and how a load is called."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any


def load_of(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """What must agree for devices to stand in one comparison."""
    return row["traffic"], row["frame"], row["both"], row["asked_pps"], departures_of(row)


def departures_of(row: Mapping[str, Any]) -> tuple[object, ...]:
    """How packets of one rate leave: by which schedule, with which options, in how many flows.

    A traffic's name says that within a run; two runs may mean different things by one name.
    """
    options = row.get("schedule_options") or {}
    # An option is a number in one file and text in another.
    told = tuple(sorted((name, str(value)) for name, value in options.items()))
    return row.get("schedule"), told, row.get("flows") or 1


def main_load(variants: Sequence[Mapping[str, Any]]) -> tuple[Any, ...] | None:
    """The load a reader sees first: most devices, then most trials, then the lowest rate."""
    loads = Counter(load_of(row) for row in variants if not row["is_floor"])
    loads = loads or Counter(load_of(row) for row in variants)
    if not loads:
        return None
    trials = {
        load: sum(len(row["trials"]) for row in variants if load_of(row) == load) for load in loads
    }
    return min(loads, key=lambda load: (-loads[load], -trials[load], load[3] or 0))


def rate_words(pps: float | None) -> str:
    """A packet rate as people say it."""
    if pps is None:
        return "unknown rate"
    for size, unit in ((1e6, "Mpkt/s"), (1e3, "kpkt/s")):
        if pps >= size:
            return f"{pps / size:.4g} {unit}"
    return f"{pps:.4g} pkt/s"


def frame_words(frame: object) -> str:
    """Frame sizes are bytes, or the name of a mix."""
    return f"{frame} B" if str(frame).isdigit() else str(frame)


def load_words(row: Mapping[str, Any]) -> str:
    """The load of a variant: rate, frames, directions; schedule and flows unless plain."""
    words = f"{rate_words(row['asked_pps'])}, {frame_words(row['frame'])}"
    if row["both"]:
        words += " in both directions"
    schedule, options, flows = departures_of(row)
    told = [] if schedule in (None, "constant") and not options else [str(schedule)]
    told += [f"{name}={value}" for name, value in row.get("schedule_options", {}).items()]
    told += [f"{flows} flows"] if flows != 1 else []
    return f"{words} ({', '.join(told)})" if told else words


def share_words(share: float) -> str:
    """A share in percent with two digits that count; 0 % and 100 % only where they are meant."""
    percent = 100 * share
    if share in (0, 1) or percent < 10:
        return f"{percent:.2g} %" if share != 1 else "100 %"
    return f"{min(percent, 99.9):.0f} %" if percent < 99 else f"{min(percent, 99.9):.1f} %"


def loads_in_order(variants: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    """Every load of a run: the main one first, the others by traffic, frame and rate."""
    first = main_load(variants)
    loads = {load_of(row) for row in variants}
    return sorted(
        loads, key=lambda at: (at != first, str(at[0]), str(at[1]), str(at[2]), at[3] or 0)
    )


def rows_of(
    variants: Sequence[Mapping[str, Any]], load: tuple[Any, ...]
) -> list[Mapping[str, Any]]:
    """The variants under one load, the floor first, otherwise as the run listed its devices."""
    return sorted((r for r in variants if load_of(r) == load), key=lambda r: not r["is_floor"])
