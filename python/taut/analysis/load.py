"""Loads: what must agree before two devices are compared, and how a load is called."""

from collections import Counter
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import NamedTuple, Protocol

from taut.core.units import digits_of
from taut.records.documents.load import Load
from taut.records.documents.results import Variant


class Departures(NamedTuple):
    """How packets of one rate leave."""

    schedule: str | None
    options: tuple[tuple[str, str], ...]
    flows: int


class LoadKey(NamedTuple):
    """What tells two loads apart."""

    traffic: str | None
    frame: str | None
    both: bool | None
    asked_pps: float | None
    departures: Departures


class HasLoad(Protocol):
    """A variant, or a trial's result."""

    @property
    def load(self) -> Load: ...


def load_of(row: HasLoad) -> LoadKey:
    """Give what must be equal in two rows for their devices to be compared."""
    load = row.load
    return LoadKey(load.traffic, load.frame, load.both, load.asked_pps, departures_of(load))


def departures_of(load: Load) -> Departures:
    """How packets of one rate leave: by which schedule, with which options, in how many flows.

    Loads of two runs are compared by this: they may mean different things by one name.
    """
    # An option is a number in one file and text in another.
    options = tuple(sorted((name, str(value)) for name, value in load.schedule_options.items()))
    return Departures(load.schedule, options, load.flows or 1)


def main_load(variants: Sequence[Variant]) -> LoadKey | None:
    """The load a reader sees first: most devices, then most trials, then the lowest rate."""
    loads = Counter(load_of(row) for row in variants if not row.is_floor)
    loads = loads or Counter(load_of(row) for row in variants)
    if not loads:
        return None
    trials = {
        load: sum(len(row.trials) for row in variants if load_of(row) == load) for load in loads
    }
    return min(loads, key=lambda load: (-loads[load], -trials[load], load.asked_pps or 0))


_UNITS = ((1_000_000, "Mpkt/s"), (1_000, "kpkt/s"))


def rate_words(pps: float | None) -> str:
    """A packet rate as people say it."""
    if pps is None:
        return "unknown rate"
    for size, unit in _UNITS:
        if pps >= size:
            return f"{pps / size:.4g} {unit}"
    return f"{pps:.4g} pkt/s"


def bounds_words(lower_pps: float | None, upper_pps: float | None) -> tuple[str, str]:
    """Write a bound from below, rounded down, and one from above, rounded up: both stay true.

    With four digits, or as many more as tell them apart; empty where there is none.
    """
    n = 4
    if lower_pps is not None and upper_pps is not None and lower_pps != upper_pps:
        while f"{lower_pps:.{n}g}" == f"{upper_pps:.{n}g}":
            n += 1
    pairs = ((lower_pps, ROUND_FLOOR), (upper_pps, ROUND_CEILING))
    lower, upper = ("" if pps is None else _rounded(pps, n, how) for pps, how in pairs)
    return lower, upper


def _rounded(pps: float, n_digits: int, rounding: str) -> str:
    size, unit = next((of for of in _UNITS if pps >= of[0]), (1, "pkt/s"))
    value = Decimal(f"{pps:.7g}")  # as it is sent (rate_text)
    digits = Context(prec=n_digits, rounding=rounding).divide(value, Decimal(size))
    return f"{digits.normalize():f} {unit}"


def frame_words(frame: object) -> str:
    """Write a frame size: a number is in bytes, a name is that of a mix."""
    return f"{frame} B" if str(frame).isdigit() else str(frame)


def load_words(load: Load) -> str:
    """A load in words: rate, frames, directions; schedule and flows unless plain."""
    words = f"{rate_words(load.asked_pps)}, {frame_words(load.frame)}"
    if load.both:
        words += " in both directions"
    schedule, options, flows = departures_of(load)
    told = [] if schedule in (None, "constant") and not options else [str(schedule)]
    told += [f"{name}={value}" for name, value in load.schedule_options.items()]
    told += [f"{flows} flows"] if flows != 1 else []
    return f"{words} ({', '.join(told)})" if told else words


def share_words(share: float) -> str:
    """Write a share (0 to 1) in percent, two significant digits; 0 and 100 % only where exact."""
    percent = 100 * share
    if share in (0, 1) or percent < 10:
        return f"{digits_of(percent, 2)} %" if share != 1 else "100 %"
    return f"{min(percent, 99.9):.0f} %" if percent < 99 else f"{min(percent, 99.9):.1f} %"


def achieved_share(row: Variant) -> float:
    """Give how much of the rate that was asked of the generator it reached."""
    return row.achieved_pps / row.offered_pps if row.offered_pps else 0.0


def achieved_words(row: Variant) -> str:
    """Say how much of its rate a row had, and what was not sent."""
    unsent = [(row.unsent, ""), (row.warm_up.unsent, " in the warm-up")]
    more = [f", {n:,} packet{'s' if n > 1 else ''} unsent{where}" for n, where in unsent if n]
    return f"{digits_of(100 * achieved_share(row), 4, unlike=100)} % of it{''.join(more)}"


def loads_in_order(variants: Sequence[Variant]) -> list[LoadKey]:
    """Every load of a run: the main one first, the others by traffic, frame and rate."""
    first = main_load(variants)
    return sorted(
        {load_of(row) for row in variants},
        key=lambda load: (
            load != first,
            str(load.traffic),
            str(load.frame),
            str(load.both),
            load.asked_pps or 0,
        ),
    )


def rows_of(variants: Sequence[Variant], load: LoadKey) -> list[Variant]:
    """The variants under one load, the floor first, otherwise as the run listed its devices."""
    return sorted((r for r in variants if load_of(r) == load), key=lambda r: not r.is_floor)
