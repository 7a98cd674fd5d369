"""What the self-test found, for a terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console

from taut.explain import causes
from taut.explain.causes import OF_INJECTOR
from taut.report.columns import labels, numbers, print_columns
from taut.report.paragraph import INDENT, print_paragraph
from taut.self_test.confusion import Confusion

_MOST_TOLD = 4


@dataclass(frozen=True)
class Result:
    """What a self-test of a polling thread found, by cause."""

    core: int
    least_ns: int
    control: Mapping[str, int]
    """How many verdicts each cause had while nothing was injected."""
    control_seconds: float
    causes: tuple[Confusion, ...]
    not_proved: Mapping[str, str]
    load: tuple[float, float]
    """Load average before and after."""

    def natural(self, one: Confusion) -> float | None:
        """How many verdicts of this cause the control would have had in the same time."""
        if self.control_seconds <= 0 or OF_INJECTOR[one.cause] is causes.MEASURER:
            return None
        return self.control.get(one.cause, 0) * one.seconds / self.control_seconds


def print_result(console: Console, result: Result) -> None:
    """Print what became of the acts, where the verdicts came from, each kind of miss."""
    load = " to ".join(f"{value:.1f}" for value in result.load)
    print_paragraph(console, f"Injected on core {result.core}, load average {load}")
    _print_acts(result.causes, console)
    _print_verdicts(result, console)
    for one in result.causes:
        for line in _remarks(one):
            print_paragraph(console, f"{one.cause}: {line}", hanging=INDENT)
    for line in _EXPLAINED:
        print_paragraph(console, line.format(least=result.least_ns / 1000))
    by_reason: dict[str, list[str]] = {}
    for name, why in result.not_proved.items():
        by_reason.setdefault(why, []).append(name)
    for why, names in by_reason.items():
        told = f"not proved here: {', '.join(names)}: {why}"
        print_paragraph(console, told, hanging=INDENT)


def _remarks(one: Confusion) -> list[str]:
    lines = [f"{n:,} missed: {why}" for why, n in one.why_missed.items()]
    if one.n_off_core:
        lines.append(f"{one.n_off_core:,} acts more took the core from another thread: not counted")
    if one.beside:
        lines.append(f"larger beside it: {_counted(one.beside)}")
    if one.others:
        lines.append(f"another's: {_counted(one.others)}")
    return [*lines, *one.notes]


def _counted(counts: Mapping[str, int]) -> str:
    told = [f"{name} {n:,}" for name, n in list(counts.items())[:_MOST_TOLD]]
    more = sum(counts.values()) - sum(list(counts.values())[:_MOST_TOLD])
    return ", ".join(told) + (f" and {more:,} more" if more else "")


def one_line(one: Confusion) -> str:
    """Say of one cause what matters, as soon as it is done."""
    return (
        f"{one.cause}: {one.n_felt:,} acts felt in {one.seconds:.0f} s, "
        f"recall {percent(one.recall)}, found {percent(one.found)}, "
        f"precision {percent(one.precision)}"
    )


def _print_acts(causes: Sequence[Confusion], console: Console) -> None:
    titles = ("acts", "felt", "right", "beside", "missed", "recall", "found", "sender")
    rows = [
        (
            one.cause,
            f"{one.n_acts:,}",
            f"{one.n_felt:,}",
            f"{one.n_right:,}",
            f"{one.n_beside:,}",
            f"{sum(one.why_missed.values()):,}",
            percent(one.recall),
            percent(one.found),
            percent(one.sender) if one.sender is not None else "",
        )
        for one in causes
    ]
    print_columns(console, [labels("cause"), *map(numbers, titles)], rows)


def _print_verdicts(result: Result, console: Console) -> None:
    titles = ("said", "at act", "own", "other", "none", "precision", "raw", "control", "less it")
    rows = []
    for one in result.causes:
        natural = result.natural(one)
        rows.append(
            (
                OF_INJECTOR[one.cause].id,
                f"{one.n_said:,}",
                f"{one.n_at_act:,}",
                f"{one.n_injectors:,}",
                f"{one.n_others:,}",
                f"{one.n_unexplained:,}",
                percent(one.precision),
                percent(one.precision_raw),
                "" if natural is None else f"{natural:,.0f}",
                "" if natural is None else percent(one.precision_less(natural)),
            )
        )
    print_columns(console, [labels("verdict"), *map(numbers, titles)], rows)


_EXPLAINED = (
    "An act is felt if a gap of {least:g} µs or more is at it. right: the gap has its verdict; "
    "beside: it has a share of the gap, and another cause a larger one; missed: neither. recall: "
    "right of felt; found: right and beside of felt; sender: of the acts with their cause in the "
    "gap, those whose sender explain names, and it is who injects.",
    "said: gaps with the verdict from the first act to the last; at act: a false one may be there "
    "by chance, as often as acts take of the time: up to a third; own: at no act that counts, but "
    "the kernel names who injects; other: at no act, and the kernel names another thread or "
    "function: this machine did that by itself; none: nothing says whose. precision: all but none; "
    "raw: all but other and none; control: what a run without acts had of it in the same time; "
    "less it: raw, with that taken off what was said.",
)


def percent(share: float | None) -> str:
    """Write a share (0 to 1) in percent; None: there was nothing to share."""
    return "-" if share is None else f"{100 * share:.1f} %"
