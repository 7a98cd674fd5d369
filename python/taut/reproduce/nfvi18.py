"""nfvi18: what tuning the host does to the slowest packet of an L2 forwarder and a firewall.

Nadathur et al., Intel, "NFV-I Host Configuration For Low Latency", 2018: L2 forward (addresses
rewritten) and a virtual firewall, on bare metal, in a virtual machine and in a container, polling
and by interrupt, on a stock host and on a tuned real-time kernel. Ours: all three places, and
the kernel that runs, as found and trimmed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType

from taut.analysis.load import rate_words
from taut.records.documents.results import Variant
from taut.records.documents.trial import AS_FOUND, BARE
from taut.reproduce.experiment import PublishedExperiment, Section, Variants, micros
from taut.reproduce.in_states import (
    NOT_RUN,
    STATES,
    TRIMMED,
    Judged,
    Shape,
    count,
    data_file,
    device_table,
    find_row,
    host_tables,
    judge_shapes,
    min_avg_max,
    most_of,
    on_time,
    pairs,
    path_words,
    remedy_table,
)

RATES = ("10kpps", "100kpps")
RATES_PPS = (10_000.0, 100_000.0)
GOAL_NS = 100_000
"""Of the publication: no packet takes longer on the tuned host."""
PUBLISHED_REDUCTION = "up to 98 %"

SHALLOW = "c1"
"""The host as found, but that the measured cores sleep no deeper than this."""

_PAPER = "NFV-I 2018"
CONTAINER = "container"


@dataclass(frozen=True)
class Row:
    """A function in one mode, and the device that stands for it."""

    function: str
    mode: str
    device: str


ROWS = (
    Row("L2 forward", "poll", "l2"),
    Row("L2 forward", "interrupt", "l2_interrupt"),
    Row("L2 forward", "poll, over veth", "l2_veth"),
    Row("L2 forward", "interrupt: the kernel's bridge, which rewrites nothing", "bridge"),
    Row("firewall", "poll", "firewall"),
    Row("firewall", "interrupt", "firewall_interrupt"),
)
DEVICES = tuple(row.device for row in ROWS)
CONTAINED = tuple(row for row in ROWS if not row.device.endswith(("_veth", "bridge")))
"""Those that are measured in a container, too: the kernel's bridge runs in none."""
VM = "vm"
VM_ROWS = (
    Row("L2 forward", "poll", "l2_vm"),
    Row("L2 forward", "interrupt", "l2_vm_interrupt"),
    Row("firewall", "poll", "firewall_vm"),
    Row("firewall", "interrupt", "firewall_vm_interrupt"),
)
N_QUICK = 2
"""Each trial boots a guest: --quick has one function, polling and by interrupt."""
VM_RATE, VM_RATE_PPS = "1kpps", 1_000.0
"""What an emulated guest carries as well: a packet takes its processor ten times as long."""
PLACES = {BARE: "bare metal", CONTAINER: "container"}
POLLING = ("l2", "l2_veth", "firewall")
BY_INTERRUPT = {"l2": "l2_interrupt", "l2_veth": "bridge", "firewall": "firewall_interrupt"}
"""The same function over the same link, by who polls."""

_NOTE = (
    "64 B at 10 and 100 kpkt/s constant; the rates are taut's. `On time`: without packets that "
    "overlap a stall of the generator. Over virtio the same forwarder polls and sleeps; the bridge "
    "goes over veth and the kernel, so the forwarder stands beside it over veth, too. Of the "
    "publication no row's numbers are known here: its goal and its reduction stand below. It "
    "measured for hours, three times (--set duration=2h --set record=tail)."
)
_SHAPE_NOTE = (
    "Without packets that overlap a stall of the generator. Trimmed is what `taut host plan` "
    "recommends and what needs no boot: the kernel is the one that runs, not a real-time one."
)


DEPTHS = {AS_FOUND: "as deep as found", SHALLOW: "C1 at most"}
_DEPTH_NOTE = (
    "Of the publication no numbers are known here. Who polls never idles: no difference is "
    "expected but by turbo. Where there is nothing to limit, as in a guest, the state is left out. "
    "Other depths: `taut host effect` tries one setting."
)


class Nfvi18(PublishedExperiment):
    """The experiment and its published numbers."""

    name = "nfvi18"
    states = (TRIMMED, SHALLOW)
    depths: Mapping[str, str] = MappingProxyType({SHALLOW: "R19-now"})

    def optional_devices(self) -> Mapping[str, str]:
        """Give what stands on veth links, which only root can make."""
        return {"l2_veth": "linux_bridge", "bridge": "linux_bridge"}

    def optional_places(self) -> Mapping[str, str]:
        """Give the container, which wants a runtime, and the machine, which wants QEMU."""
        return {CONTAINER: CONTAINER, VM: VM}

    def spec_text(self, *, quick: bool, without: Sequence[str] = ()) -> str:
        """Write both rates through every device; quick is short and makes no claim."""
        tables = [_HEAD_QUICK if quick else _HEAD]
        tables += [text for name, text in _devices().items() if name not in without]
        tables += [] if CONTAINER in without else [_PLACEMENTS]
        tables += host_tables(without)
        tables += [remedy_table(*of) for of in self.depths.items() if of[0] not in without]
        in_guests = VM_ROWS[:N_QUICK] if quick else VM_ROWS
        guests = [] if VM in without else [row.device for row in in_guests]
        tables += [text for name, text in _guests().items() if name in guests]
        tables.append(_traffic("constant", [d for d in DEVICES if d not in without], RATES))
        tables += [_traffic("in_guests", guests, [VM_RATE])] if guests else []
        return "\n\n".join(tables) + "\n"

    def compare(self, variants: Variants) -> list[Section]:
        """Set what was published beside what was measured."""
        return [
            _table(variants),
            _by_depth(variants),
            judge_shapes(f"{_PAPER}: the shape", _SHAPES, variants, _SHAPE_NOTE),
            _NOT_HERE,
        ]


_HEAD = """name = "nfvi18"
seed = 18
repetitions = 3
duration = "30s"
warm_up = "1s\""""
_PLACEMENTS = f"""[[placement]]
name = "{BARE}"

[[placement]]
name = "{CONTAINER}"
devices = [{", ".join(f'"{row.device}"' for row in CONTAINED)}]"""
_HEAD_QUICK = """name = "nfvi18-quick"
seed = 18
repetitions = 1
duration = "2s"
warm_up = "300ms"
deadline = "200ms"
trace = "off\""""


def _devices() -> dict[str, str]:
    firewall = f"firewall:rules={data_file('rules.txt')}"
    return {
        "l2": device_table("l2", "taut_forward", ["mac_swap"], "virtio"),
        "l2_interrupt": device_table(
            "l2_interrupt", "taut_forward", ["mac_swap"], "virtio", "interrupt"
        ),
        "l2_veth": device_table("l2_veth", "taut_forward", ["mac_swap"], link="veth"),
        "bridge": device_table("bridge", "linux_bridge"),
        "firewall": device_table("firewall", "taut_forward", [firewall], "virtio"),
        "firewall_interrupt": device_table(
            "firewall_interrupt", "taut_forward", [firewall], "virtio", "interrupt"
        ),
    }


def _guests() -> dict[str, str]:
    functions = {"L2 forward": "mac_swap", "firewall": f"firewall:rules={data_file('rules.txt')}"}
    return {
        row.device: device_table(
            row.device,
            "taut_forward",
            [functions[row.function]],
            "vhost",
            row.mode,
            placement=VM,
        )
        for row in VM_ROWS
    }


def _traffic(name: str, devices: Sequence[str], rates: Sequence[str]) -> str:
    lines = [f'[[traffic]]\nname = "{name}"\nschedule = "constant"\nframes = [64]']
    for key, words in (("devices", devices), ("rates", rates)):
        listed = ", ".join(f'"{word}"' for word in words)
        lines.append(f"{key} = [{listed}]")
    return "\n".join(lines)


def _table(variants: Variants) -> Section:
    lines = [line for row in ROWS for line in _placed(variants, row, BARE)]
    lines += [line for row in CONTAINED for line in _placed(variants, row, CONTAINER)]
    lines += [_guest(variants, row) for row in VM_ROWS]
    ways = [f"{state}{words}" for state in STATES for words in ("", ", on time")]
    columns = ("min / avg / max, µs", "mode", "placement", "offered", *ways, "path")
    return Section(f"{_PAPER}: stock and tuned", columns, tuple(lines), _NOTE)


def _placed(variants: Variants, row: Row, place: str) -> Iterator[tuple[str, ...]]:
    for pps in RATES_PPS:
        found = [find_row(variants, row.device, s, pps=pps, place=place) for s in STATES]
        path = next((path_words(r) for r in found if r is not None), "")
        cells = (cell for r in found for cell in _cells(r))
        yield (row.function, row.mode, PLACES[place], rate_words(pps), *cells, path)


def _guest(variants: Variants, row: Row) -> tuple[str, ...]:
    found = [find_row(variants, row.device, s, pps=VM_RATE_PPS, place=VM) for s in STATES]
    claim = next((r.device.claim for r in found if r is not None and r.device.claim), None)
    path = next((path_words(r) for r in found if r is not None), "")
    cells = (cell for r in found for cell in _cells(r))
    place = "VM" if claim is None else f"VM, {claim}"
    return (row.function, row.mode, place, rate_words(VM_RATE_PPS), *cells, path)


def _cells(row: Variant | None) -> tuple[str, str]:
    if row is None:
        return ("not run", "not run")
    return min_avg_max(row.latency), min_avg_max(on_time(row))


def _by_depth(variants: Variants) -> Section:
    lines = [
        (row.function, row.mode, rate_words(pps), *(_most(variants, row, pps, s) for s in DEPTHS))
        for row, pps in product(ROWS, RATES_PPS)
    ]
    columns = ("max, on time, µs", "mode", "offered", *DEPTHS.values())
    return Section(f"{_PAPER}: maximum by depth of C-state", columns, tuple(lines), _DEPTH_NOTE)


def _most(variants: Variants, row: Row, pps: float, state: str) -> str:
    most = on_time(find_row(variants, row.device, state, pps=pps)).max_ns
    return NOT_RUN if most is None else micros(most, 4)


def _goal(variants: Variants) -> Judged:
    """Look at the worst maximum of those that poll."""
    rows = (find_row(variants, d, TRIMMED, pps=pps) for d, pps in product(POLLING, RATES_PPS))
    worst = [ns for row in rows for ns in [on_time(row).max_ns] if ns is not None]
    return (f"{micros(max(worst), 4)} µs", max(worst) <= GOAL_NS) if worst else None


def _reduction(variants: Variants) -> Judged:
    """Count the loads whose maximum tuning lowers, and give the most that it does."""
    both = (
        (find_row(variants, d, TRIMMED, pps=pps), find_row(variants, d, AS_FOUND, pps=pps))
        for d, pps in product(DEVICES, RATES_PPS)
    )
    maxima = pairs(both, "max")
    judged = count((tuned < stock for tuned, stock in maxima), most_of)
    if judged is None:
        return None
    best = max(1 - tuned / stock for tuned, stock in maxima)
    return f"{judged[0]}, by up to {100 * best:.0f} %", judged[1]


def _faster(variants: Variants, than: Mapping[str, str]) -> Judged:
    """Count the loads and states in which the median of a key is below that of its value."""
    both = (
        (find_row(variants, one, state, pps=pps), find_row(variants, other, state, pps=pps))
        for (one, other), pps, state in product(than.items(), RATES_PPS, STATES)
    )
    return count(low < high for low, high in pairs(both, "p50"))


def _polling_is_faster(variants: Variants) -> Judged:
    return _faster(variants, BY_INTERRUPT)


def _filtering_takes_time(variants: Variants) -> Judged:
    return _faster(variants, {"l2": "firewall"})


_SHAPES: tuple[Shape, ...] = (
    ("trimmed, no packet of who polls takes over 100 µs", "the goal: max <= 100 µs", _goal),
    ("trimmed, the maximum is lower, of most loads", PUBLISHED_REDUCTION, _reduction),
    ("polling is faster than interrupts, over the same link: the median", "", _polling_is_faster),
    ("the firewall takes longer than L2 forward: the median", "", _filtering_takes_time),
)

_NOT_HERE = Section(
    f"{_PAPER}: what is not repeated",
    ("of the publication", "here"),
    (
        ("virtual machine", "Debian's kernel; emulated where KVM runs none, then no latency"),
        ("tuned real-time kernel", "not booted: the kernel that runs, with settings of run time"),
        ("SMIs of each core before and after", "not built"),
        ("network cards", "veth and virtio; over cards: --set device.NAME.link=pci"),
    ),
)

NFVI18 = Nfvi18()
