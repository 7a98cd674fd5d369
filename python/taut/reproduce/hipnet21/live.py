"""What hipnet21 is on this machine: its devices, its loads, and rows of them in a run.

Theirs were DPDK's l2fwd and Snort over cards, on bare metal and in a virtual machine, under two
kernels. Ours: virtual ports, the kernel that runs as found and trimmed, and a guest with what its
image has.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from taut.dut.drivers.suricata import RING_PACKETS
from taut.records.documents.results import Variant
from taut.records.documents.trial import BARE
from taut.reproduce.experiment import Variants
from taut.reproduce.hipnet21.published import FRAME, PUBLISHED_NS
from taut.reproduce.in_states import data_file, device_table, find_row, host_tables

QUICK_PPS = (10_000, 40_000, 80_000, 120_000)
OVERLOAD_PPS = 400_000
"""For devices over veth, in case that they take all that the paper offered."""
SATURATED_LOSS = 0.001

VM = "vm"
MACHINES: Mapping[str, str] = {VM: "amd64", "vm_rt": "rt"}
"""Places in a guest and its kernel there; --quick has the first."""
GUEST = "forwarder_vm"
GUEST_PPS = 1_000
"""What an emulated guest carries as well."""


@dataclass(frozen=True)
class Function:
    """What the paper measured, with its levels, and the devices that stand for it."""

    title: str
    devices: Mapping[str, str]
    """Of whom, and over what."""
    p50_us: float
    max_us: str


FORWARDER = Function(
    "L2 forwarder",
    {
        "forwarder": "taut-forward, memif",
        "l2fwd": "DPDK's l2fwd, memif",
        "bridge": "the kernel's bridge, veth",
    },
    3.2,
    "4.3",
)
WIRE = Function(
    "IPS forwarding",
    {"suricata_forward": "Suricata, veth", "snort_forward": "Snort, veth"},
    14.6,
    "16 to 46",
)
FILTER = Function(
    "IPS filtering",
    {"suricata_filter": "Suricata, veth", "snort_filter": "Snort, veth"},
    17,
    "21 to 76",
)
FUNCTIONS = (FORWARDER, WIRE, FILTER)
PROGRAMS = ("suricata", "snort")
LABELS = {name: f"{of.title}, {label}" for of in FUNCTIONS for name, label in of.devices.items()}
OPTIONAL: Mapping[str, str] = {
    "l2fwd": "l2fwd",
    "bridge": "linux_bridge",
    **{f"{program}_{mode}": program for program in PROGRAMS for mode in ("forward", "filter")},
}
"""Devices that a machine may lack, and the driver of each."""
RINGS: Mapping[str, str] = {
    "linux_bridge": "the kernel's backlog",
    "suricata": f"{RING_PACKETS:,} packets",
    "snort": "128 MB, as its module has it",
}
"""What the device itself holds of packets that wait, by driver."""


def spec_text(*, quick: bool, without: Sequence[str]) -> str:
    """Write the paper's rates through every device that this machine has."""
    devices = {name: text for name, text in _devices().items() if name not in without}
    over_veth = [name for name in devices if name in OPTIONAL and name != "l2fwd"]
    machines = [name for name in list(MACHINES)[: 1 if quick else None] if name not in without]
    tables = [_HEAD_QUICK if quick else _HEAD, *devices.values(), *host_tables(without)]
    if machines:
        tables += [device_table(GUEST, "taut_forward", link="vhost"), _place(BARE, devices)]
        tables += [_place(name, [GUEST], VM, MACHINES[name]) for name in machines]
    tables.append(_traffic("constant", devices, QUICK_PPS if quick else PUBLISHED_NS))
    tables += [_traffic("overload", over_veth, [OVERLOAD_PPS])] if over_veth else []
    tables += [_traffic("in_guests", [GUEST], [GUEST_PPS])] if machines else []
    return "\n\n".join(tables) + "\n"


_HEAD = """name = "hipnet21"
seed = 21
repetitions = 3
duration = "30s"
warm_up = "1s\""""
_HEAD_QUICK = """name = "hipnet21-quick"
seed = 21
repetitions = 1
duration = "2s"
warm_up = "300ms"
deadline = "200ms"
trace = "off\""""


def _devices() -> dict[str, str]:
    found = {
        "forwarder": device_table("forwarder", "taut_forward"),
        "l2fwd": device_table("l2fwd", "l2fwd"),
        "bridge": device_table("bridge", "linux_bridge"),
    }
    rules = f'options = {{ mode = "filter", rules = "{data_file("inspection.txt")}" }}'
    for program in PROGRAMS:
        wire, filtering = f"{program}_forward", f"{program}_filter"
        found[wire] = device_table(wire, program)
        found[filtering] = f"{device_table(filtering, program)}\n{rules}"
    return found


def _place(name: str, devices: Iterable[str], kind: str = BARE, kernel: str | None = None) -> str:
    lines = ["[[placement]]", f'name = "{name}"', f'kind = "{kind}"']
    lines.append(f"devices = {_listed(devices)}")
    return "\n".join([*lines, *([] if kernel is None else [f'options.kernel = "{kernel}"'])])


def _traffic(name: str, devices: Iterable[str], rates_pps: Iterable[int]) -> str:
    return (
        f'[[traffic]]\nname = "{name}"\nschedule = "constant"\nframes = [{FRAME}]\n'
        f"devices = {_listed(devices)}\nrates = {_listed(f'{n // 1000}kpps' for n in rates_pps)}"
    )


def _listed(words: Iterable[str]) -> str:
    return "[" + ", ".join(f'"{word}"' for word in words) + "]"


def row_of(
    variants: Variants, device: str, state: str, pps: float, place: str = BARE
) -> Variant | None:
    """Find a device under a load; None where it was not measured or nothing came back."""
    return find_row(variants, device, state, frame=str(FRAME), pps=pps, place=place)


def rates_of(variants: Variants, device: str) -> list[float]:
    """Give the rates that a device was measured at, the lowest first."""
    # An emulated guest's device is called so behind its name.
    mine = (row for row in variants if str(row.device.dut).partition(" ")[0] == device)
    return sorted({row.load.asked_pps for row in mine if row.load.asked_pps})


def is_overloaded(*rows: Variant | None) -> bool:
    """Whether any of them lost more than a stall loses."""
    return any(row is not None and row.loss_ratio > SATURATED_LOSS for row in rows)


def knee(variants: Variants, device: str, state: str) -> tuple[Variant | None, Variant | None]:
    """Give the highest rate below the first overload, and that; None: there is none."""
    carried = None
    for pps in rates_of(variants, device):
        row = row_of(variants, device, state, pps)
        if row is not None and is_overloaded(row):
            return carried, row
        carried = row or carried
    return carried, None
