"""The table of causes: a file for each kind, by who took the time. A new cause is a row there.

Those of plug-ins stand behind. Code names a cause by its row (`causes.TIMER`), so that a type
checker finds one without a row; documents name it by its id. cause.py says what the fields of a row
mean.
"""

from collections.abc import Mapping

from taut.core.plugins import Family
from taut.explain.cause import Cause, claims, refuses
from taut.explain.causes import calls, hardware, interrupts, packets, scheduler, thread, unknown
from taut.explain.causes.calls import *
from taut.explain.causes.hardware import *
from taut.explain.causes.interrupts import *
from taut.explain.causes.packets import *
from taut.explain.causes.scheduler import *
from taut.explain.causes.thread import *
from taut.explain.causes.unknown import *

_KINDS = (
    interrupts,  # of the core itself
    calls,  # from another core
    scheduler,  # another thread ran, or this one might not
    thread,  # what it asked for itself
    hardware,  # processor, firmware, hypervisor
    packets,  # those before, and the measurer
    unknown,
)

_OURS: tuple[Cause, ...] = tuple(
    row for kind in _KINDS for row in vars(kind).values() if isinstance(row, Cause)
)

FAMILY = Family("taut.causes", Cause, _OURS, lambda cause: cause.id, refuses=refuses, claims=claims)

CAUSES: tuple[Cause, ...] = (*_OURS, *FAMILY.added().values())
"""Every row of every kind, as they stand there, and those of plug-ins."""

BY_ID: Mapping[str, Cause] = {cause.id: cause for cause in CAUSES}

NUMBER: Mapping[Cause, int] = {cause: number for number, cause in enumerate(CAUSES)}
"""The position in CAUSES, as arrays hold a cause."""

OF_VECTOR: Mapping[str, Cause] = {name: cause for cause in CAUSES for name in cause.vectors}
OF_INJECTOR: Mapping[str, Cause] = {cause.made.name: cause for cause in CAUSES if cause.made}
OF_CALL: Mapping[str, Cause] = {name: cause for cause in CAUSES for name in cause.calls}


def title_of(cause: str) -> str:
    """Name a cause in words; what is no row here, as of another taut, stays as it is."""
    return BY_ID[cause].title if cause in BY_ID else cause
