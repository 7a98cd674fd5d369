"""The packet paths of the self-test, and what is done to each: two tables.

To add a path: a line in PATHS.  To add an act: a line in ACTS, with the verdicts that are right.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from taut.core.errors import InputError
from taut.experiment.model import DeviceSpec
from taut.explain import causes
from taut.explain.cause import Cause


class Kind(Enum):
    """What explain can watch there."""

    FLOOR = "floor"  # no device
    KERNEL_FLOOR = "kernel floor"  # no device, and softirqs on the way
    KERNEL = "kernel"  # the device is the kernel
    PROCESS = "process"  # the device is one
    CHAIN = "chain"  # several in a row, which take turns where cores are few


class Target(Enum):
    """What an act is aimed at."""

    CORE = "core"  # the device's; the generator's where there is no device
    DEVICE = "device"  # its process
    GENERATOR = "generator"


@dataclass(frozen=True)
class PacketPath:
    """One way of packets from the generator back to it."""

    name: str
    kind: Kind
    driver: str
    link: str
    rate: str = "100kpps"
    """Where the kernel handles each packet fewer: it notes ten events of each."""
    options: Mapping[str, str] = field(default_factory=dict)
    only: Sequence[str] = ()
    """The acts that are made on it; empty: all that its kind can feel."""

    @property
    def device(self) -> DeviceSpec:
        """The device as an experiment names it."""
        return DeviceSpec(
            driver=self.driver, name=self.name, link=self.link, options=dict(self.options)
        )


@dataclass(frozen=True)
class PathAct:
    """One disturbance, made again and again for a while."""

    name: str
    inject: str  # as `taut inject` takes it
    target: Target
    cause: Cause  # its cause in the timeline of the disturbed thread
    right: Mapping[Kind, Sequence[Cause]]  # verdicts of late packets; where it is not made, nothing
    per_s: int = 40
    wants_group: bool = False
    """Whether its control group has to exist before the trace begins."""


_RULES = Path(__file__).with_name("data") / "rules.txt"

PATHS = (
    PacketPath("floor_memif", Kind.FLOOR, "loopback", "memif"),
    PacketPath("floor_veth", Kind.KERNEL_FLOOR, "loopback", "veth", rate="20kpps"),
    PacketPath("linux_bridge", Kind.KERNEL, "linux_bridge", "veth", rate="20kpps"),
    PacketPath(
        "linux_bridge_napi",
        Kind.KERNEL,
        "linux_bridge",
        "veth",
        rate="20kpps",
        options={"placement": "threaded"},
    ),
    PacketPath(
        "linux_router",
        Kind.KERNEL,
        "linux_router",
        "veth",
        rate="20kpps",
        options={"placement": "threaded"},
    ),
    # Its interrupt runs the softirq over a hog, as the bridge's does: no hog is felt.
    PacketPath(
        "linux_firewall",
        Kind.KERNEL,
        "linux_firewall",
        "veth",
        rate="20kpps",
        options={"rules": str(_RULES)},
        only=("softirq", "generator-stop"),
    ),
    # By NAPI threads, as the router: over RPS no hog is felt.
    PacketPath(
        "ovs_kernel",
        Kind.KERNEL,
        "ovs_kernel",
        "veth",
        rate="20kpps",
        options={"placement": "threaded"},
    ),
    PacketPath("testpmd", Kind.PROCESS, "testpmd", "memif"),
    PacketPath("l2fwd", Kind.PROCESS, "l2fwd", "memif"),
    PacketPath("eager", Kind.PROCESS, "taut_forward", "memif"),
    PacketPath(
        "buffered",
        Kind.PROCESS,
        "taut_forward",
        "memif",
        options={"transmit": "buffered:32,100us"},
    ),
    PacketPath(
        "buffered_no_timer",
        Kind.PROCESS,
        "taut_forward",
        "memif",
        options={"transmit": "buffered:32,none"},
    ),
    PacketPath(
        "interrupt",
        Kind.PROCESS,
        "taut_forward",
        "virtio",
        rate="10kpps",
        options={"wait": "interrupt"},
    ),
    PacketPath("ovs_dpdk", Kind.PROCESS, "ovs_dpdk", "memif"),
    PacketPath("suricata", Kind.PROCESS, "suricata", "veth", rate="10kpps"),
    PacketPath("snort", Kind.PROCESS, "snort", "veth", rate="10kpps"),
    PacketPath("chain", Kind.CHAIN, "chain", "memif", rate="10kpps"),
)

_FLOORS = {Kind.FLOOR: (causes.MEASURER,), Kind.KERNEL_FLOOR: (causes.MEASURER,)}

ACTS = (
    PathAct(
        "fair-hog",
        "preemption:length=3ms",
        Target.CORE,
        causes.PREEMPTION,
        {**_FLOORS, Kind.KERNEL: (causes.KSOFTIRQD_WAIT,), Kind.PROCESS: (causes.PREEMPTION,)},
    ),
    PathAct(
        "fifo-hog",
        "fifo-preemption:length=2ms",
        Target.CORE,
        causes.FIFO_PREEMPTION,
        {**_FLOORS, Kind.KERNEL: (causes.KSOFTIRQD_WAIT,), Kind.PROCESS: (causes.FIFO_PREEMPTION,)},
    ),
    PathAct(
        "softirq",
        "softirq",
        Target.CORE,
        causes.SOFTIRQ,
        {Kind.KERNEL_FLOOR: (causes.MEASURER,), Kind.KERNEL: (causes.SOFTIRQ,)},
    ),
    PathAct(
        "device-stop",
        "stopped:length=5ms",
        Target.DEVICE,
        causes.STOPPED,
        {Kind.PROCESS: (causes.STOPPED,)},
    ),
    PathAct(
        "generator-stop",
        "measurer-stall:length=3ms",
        Target.GENERATOR,
        causes.STOPPED,
        dict.fromkeys(Kind, (causes.MEASURER,)),
    ),
    # On one core hops take turns of 4 ms and more: what is shorter makes nobody late.
    PathAct(
        "long-fifo-hog",
        "fifo-preemption:length=20ms",
        Target.CORE,
        causes.FIFO_PREEMPTION,
        {Kind.CHAIN: (causes.FIFO_PREEMPTION,)},
        per_s=10,
    ),
    PathAct(
        "hop-stop",
        "stopped:length=30ms",
        Target.DEVICE,
        causes.STOPPED,
        {Kind.CHAIN: (causes.STOPPED,)},
        per_s=10,
    ),
    # The last: until the trace ends its control group has to stay.
    PathAct(
        "quota",
        "throttled",
        Target.DEVICE,
        causes.THROTTLED,
        {Kind.PROCESS: (causes.THROTTLED,)},
        wants_group=True,
    ),
)


def paths_of(names: Sequence[str]) -> tuple[PacketPath, ...]:
    """Give paths by their names, in the table's order. InputError: there is none of that name."""
    known = {path.name for path in PATHS}
    for name in names:
        if name not in known:
            raise InputError(f"--path {name}: not one of {', '.join(one.name for one in PATHS)}")
    return tuple(path for path in PATHS if path.name in names)


def acts_on(path: PacketPath) -> tuple[PathAct, ...]:
    """Give the acts that are made on a path, in order."""
    felt = (act for act in ACTS if path.kind in act.right)
    return tuple(act for act in felt if not path.only or act.name in path.only)
