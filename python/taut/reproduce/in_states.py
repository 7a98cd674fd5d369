"""What publications share that measure a host as found and tuned: states, cells, judged shapes."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from taut.records.documents.figures import NO_FIGURES, Figures
from taut.records.documents.results import WITHOUT_VOID, Variant
from taut.records.documents.trial import AS_FOUND, BARE
from taut.reproduce.experiment import DID_IT, Section, Variants, micros

TRIMMED = "trimmed"
STATES = (AS_FOUND, TRIMMED)
"""The publications' un-optimized and optimized, or stock and tuned."""

NOT_RUN = "not run"
_DATA = Path(__file__).with_name("data")


def data_file(name: str) -> str:
    """Give the path of a network function's file that comes with taut."""
    return str(_DATA / name)


def host_tables(without: Sequence[str]) -> list[str]:
    """Write the states of the host as TOML; none where `without` has the trimmed one."""
    if TRIMMED in without:
        return []
    profile = 'profile = "recommended"'
    return [f'[[host]]\nname = "{AS_FOUND}"', f'[[host]]\nname = "{TRIMMED}"\n{profile}']


def remedy_table(name: str, remedy: str) -> str:
    """Write a state of the host that is one remedy as TOML."""
    return f'[[host]]\nname = "{name}"\nonly = ["{remedy}"]'


def device_table(
    name: str,
    driver: str,
    nf: Sequence[str] = (),
    link: str | None = None,
    wait: str | None = None,
    placement: str | None = None,
) -> str:
    """Write one device as TOML."""
    lines = ["[[device]]", f'name = "{name}"', f'driver = "{driver}"']
    if link is not None:
        lines.append(f'link = "{link}"')
    if placement is not None:
        lines.append(f'placement = "{placement}"')
    options = []
    if nf:
        words = ", ".join(f'"{word}"' for word in nf)
        options.append(f"nf = [{words}]")
    if wait is not None:
        options.append(f'wait = "{wait}"')
    if options:
        lines.append(f"options = {{ {', '.join(options)} }}")
    return "\n".join(lines)


def find_row(
    variants: Variants,
    device: str,
    state: str,
    *,
    frame: str = "64",
    pps: float | None = None,
    place: str = BARE,
) -> Variant | None:
    """Find a device under a load; None where it was not measured or nothing came back."""
    for row in variants:
        of_load = row.load.frame == frame and pps in (None, row.load.asked_pps)
        # An emulated guest's device is called so behind its name, which has no blank.
        is_it = str(row.device.dut).partition(" ")[0] == device
        here = is_it and (row.device.host, row.device.place) == (state, place)
        if here and of_load and row.latency.n:
            return row
    return None


def on_time(row: Variant | None) -> Figures:
    """Give latencies without void packets, where any is left: the device, not the instrument."""
    if row is None:
        return NO_FIGURES
    found = row.metrics.latency(WITHOUT_VOID)
    return found if found.n else row.latency


def unsupported(row: Variant) -> Sequence[str]:
    """Name the percentiles of `on_time` that have too few independent packets above them."""
    if row.metrics.latency(WITHOUT_VOID).n:
        return row.unsupported_percentiles_without_void
    return row.doubt.unsupported_percentiles


def min_avg_max(figures: Figures) -> str:
    """Write a cell, in µs."""
    values = (figures.min_ns, figures.mean_ns, figures.max_ns)
    known = [value for value in values if value is not None]
    return NOT_RUN if len(known) < len(values) else " / ".join(map(micros, known))


def path_words(row: Variant | None) -> str:
    """Say over what a row's packets went: a published one went over cards."""
    return "" if row is None else f"{row.device.link}, {row.device.placement}"


Judged = tuple[str, bool] | None
"""What was measured, and whether it is as published; None where it cannot be judged."""

Shape = tuple[str, str, Callable[[Variants], Judged]]
"""What must come out, what was published of it, and the judge."""


def judge_shapes(title: str, shapes: Sequence[Shape], variants: Variants, note: str) -> Section:
    """Say of each shape whether it came out."""
    lines = []
    for what, published, judge in shapes:
        measured, came_out = judge(variants) or ("cannot be judged", None)
        answer = NOT_RUN if came_out is None else "yes" if came_out else "no"
        lines.append((what, published, measured, answer))
    columns = ("what must come out", "published", "measured", DID_IT)
    return Section(title, columns, tuple(lines), note)


def count(outcomes: Iterable[bool], at_least: Callable[[int], float] = float) -> Judged:
    """Judge by how many pairs came out: `at_least` of so many pairs, all when left out."""
    found = list(outcomes)
    if not found:
        return None
    return f"{sum(found)} of {len(found)}", sum(found) >= at_least(len(found))


def most_of(n: int) -> float:
    """Ask for more than half."""
    return (n + 1) / 2


def pairs(
    rows: Iterable[tuple[Variant | None, Variant | None]], figure: str
) -> list[tuple[float, float]]:
    """Give a figure of both of each pair that was measured, without void packets."""
    found = []
    for one, other in rows:
        if one is not None and other is not None:
            low, high = on_time(one).value_ns(figure), on_time(other).value_ns(figure)
            if low is not None and high is not None:
                found.append((float(low), float(high)))
    return found
