"""Every kind of setting; the journal finds them by name."""

from typing import Any

from taut.host.setting import Setting
from taut.host.settings.cpuset_partition import CpusetController, CpusetPartition
from taut.host.settings.ethtool import EthtoolSetting
from taut.host.settings.file import FileSetting
from taut.host.settings.held_latency import HeldLatency
from taut.host.settings.irq_placement import IrqPlacement
from taut.host.settings.placed_file import PlacedFile
from taut.host.settings.placed_folder import PlacedFolder
from taut.host.settings.resctrl import ResctrlGroup, ResctrlSchemata
from taut.host.settings.swap import SwapArea
from taut.host.settings.systemd_unit import SystemdUnit
from taut.host.settings.thread_affinity import ThreadAffinity
from taut.host.settings.thread_scheduler import ThreadScheduler

KINDS: dict[str, type[Any]] = {
    kind.kind: kind
    for kind in (
        CpusetController,
        CpusetPartition,
        EthtoolSetting,
        FileSetting,
        HeldLatency,
        IrqPlacement,
        PlacedFile,
        PlacedFolder,
        ResctrlGroup,
        ResctrlSchemata,
        SwapArea,
        SystemdUnit,
        ThreadAffinity,
        ThreadScheduler,
    )
}

__all__ = [
    "KINDS",
    "CpusetController",
    "CpusetPartition",
    "EthtoolSetting",
    "FileSetting",
    "HeldLatency",
    "IrqPlacement",
    "PlacedFile",
    "PlacedFolder",
    "ResctrlGroup",
    "ResctrlSchemata",
    "Setting",
    "SwapArea",
    "SystemdUnit",
    "ThreadAffinity",
    "ThreadScheduler",
]
