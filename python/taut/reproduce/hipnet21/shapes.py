"""What of hipnet21 must come out on any machine: the forwarder's tail, inspection, overload."""

from collections.abc import Mapping, Sequence
from itertools import product

from taut.records.documents.trial import AS_FOUND
from taut.reproduce.experiment import Variants
from taut.reproduce.hipnet21.live import (
    FILTER,
    FORWARDER,
    LABELS,
    PROGRAMS,
    QUICK_PPS,
    WIRE,
    is_overloaded,
    knee,
    rates_of,
    row_of,
)
from taut.reproduce.hipnet21.over_rates import shapes_of_rates
from taut.reproduce.in_states import (
    STATES,
    TRIMMED,
    Judged,
    Shape,
    count,
    most_of,
    pairs,
    unsupported,
)


def _of_forwarder(shape: Shape) -> Shape:
    """Judge a shape over the rates of the forwarder, trimmed if that was measured."""
    what, published, judge = shape

    def judged(variants: Variants) -> Judged:
        for state in (TRIMMED, AS_FOUND):
            found = (
                row_of(variants, "forwarder", state, pps) for pps in rates_of(variants, "forwarder")
            )
            rows = [row for row in found if row is not None]
            if rows:
                return judge(rows)
        return None

    return f"forwarder: {what}", published, judged


def _slower(variants: Variants, than: Mapping[str, str]) -> Judged:
    """Count the loads, below overload, at which the median of a value is above its key's."""
    both = []
    for (one, other), state in product(than.items(), STATES):
        for pps in rates_of(variants, other):
            rows = (row_of(variants, one, state, pps), row_of(variants, other, state, pps))
            if not is_overloaded(*rows):
                both.append(rows)
    return count((low < high for low, high in pairs(both, "p50")), most_of)


def _of_programs(found: Sequence[Judged]) -> Judged:
    """Judge programs as one: it has to come out of each that was measured."""
    judged = {program: of for program, of in zip(PROGRAMS, found, strict=True) if of is not None}
    words = "; ".join(f"{program} {of[0]}" for program, of in judged.items())
    return (words, all(of[1] for of in judged.values())) if judged else None


def _inspecting(variants: Variants) -> Judged:
    return _of_programs([_slower(variants, {"bridge": f"{of}_forward"}) for of in PROGRAMS])


def _with_rules(variants: Variants) -> Judged:
    return _of_programs([_slower(variants, {f"{of}_forward": f"{of}_filter"}) for of in PROGRAMS])


def _rules_overload_first(variants: Variants) -> Judged:
    """Compare the rates of the first overload, where rules brought a program there."""
    outcomes = []
    for program, state in product(PROGRAMS, STATES):
        wire, rules = (
            knee(variants, f"{program}_{mode}", state)[1] for mode in ("forward", "filter")
        )
        if rules is not None:
            at_pps = float("inf") if wire is None else wire.load.asked_pps or 0
            outcomes.append((rules.load.asked_pps or 0) <= at_pps)
    return count(outcomes)


def _overload_is_a_buffer(variants: Variants) -> Judged:
    both = []
    for device, state in product((*WIRE.devices, *FILTER.devices), STATES):
        over = knee(variants, device, state)[1]
        both.append((row_of(variants, device, state, QUICK_PPS[0]), over))
    return count(10 * low <= high for low, high in pairs(both, "p50"))


def _lower_tail(variants: Variants) -> Judged:
    both = []
    for device in LABELS:
        for pps in rates_of(variants, device):
            rows = [row_of(variants, device, state, pps) for state in (TRIMMED, AS_FOUND)]
            is_known = not any(row and "p99.9" in unsupported(row) for row in rows)
            if is_known and not is_overloaded(*rows):
                both.append((rows[0], rows[1]))
    return count((less < more for less, more in pairs(both, "p99.9")), most_of)


SHAPES: tuple[Shape, ...] = (
    *map(_of_forwarder, shapes_of_rates(1.25, {"p99": 1.25, "p99.9": 1.5, "p99.99": 2, "max": 3})),
    (
        "an IPS without rules takes longer than the bridge over the same link: median, most loads",
        f"{WIRE.p50_us} / {FORWARDER.p50_us} µs",
        _inspecting,
    ),
    (
        "rules take longer than none: the median, most loads",
        f"{FILTER.p50_us} / {WIRE.p50_us} µs",
        _with_rules,
    ),
    ("with rules, overload comes no later", "60 to 70 / 80 kpkt/s", _rules_overload_first),
    ("in overload the median is 10 x that at 10 kpkt/s", "30 ms", _overload_is_a_buffer),
    ("trimmed, p99.9 is lower, of most loads", "", _lower_tail),
)
