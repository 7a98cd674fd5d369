"""Every kind of setting; the journal finds them by name."""

from typing import Any

from taut.host.setting import Setting
from taut.host.settings.file import FileSetting
from taut.host.settings.placed_file import PlacedFile
from taut.host.settings.systemd_unit import SystemdUnit
from taut.host.settings.thread_affinity import ThreadAffinity
from taut.host.settings.thread_scheduler import ThreadScheduler

KINDS: dict[str, type[Any]] = {
    kind.kind: kind
    for kind in (
        FileSetting,
        PlacedFile,
        SystemdUnit,
        ThreadAffinity,
        ThreadScheduler,
    )
}

__all__ = [
    "KINDS",
    "FileSetting",
    "PlacedFile",
    "Setting",
    "SystemdUnit",
    "ThreadAffinity",
    "ThreadScheduler",
]
