"""Where neighbours work, and what that does to a measurement: said before it starts.

Left to taut, a neighbour works on the cores that nobody measures on and taut itself does not use;
where there are none, on taut's own. With two cores all are measured: then it is the device's, since
on the generator's it would make packets void, of which nothing can be said.
"""

from collections.abc import Iterable, Iterator

from taut.core.cpus import CpuSet, format_cpu_list
from taut.core.errors import InputError
from taut.experiment.cores import Cores
from taut.experiment.neighbour_spec import NeighbourSpec
from taut.testbed.neighbour import AskedNeighbour


def asked_of(neighbour: NeighbourSpec, cores: Cores) -> AskedNeighbour:
    """Give a neighbour its cores; InputError: it names one that cannot be used."""
    on = _cores_of(neighbour, cores)
    return AskedNeighbour(neighbour.name, neighbour.does, on, neighbour.workers)


def working(neighbours: Iterable[NeighbourSpec], cores: Cores) -> list[AskedNeighbour]:
    """Give all that do anything, with their cores."""
    return [asked_of(one, cores) for one in neighbours if not one.does.is_idle]


def notes_of(neighbours: Iterable[NeighbourSpec], cores: Cores) -> Iterator[str]:
    """Say which neighbours share a core with what is measured, and what that means."""
    by_core: dict[CpuSet, list[str]] = {}
    for one in working(neighbours, cores):
        by_core.setdefault(one.cores, []).append(one.name)
    for on, names in by_core.items():
        who = f"neighbour{'s' if len(names) > 1 else ''} {', '.join(names)}"
        if cores.generator in on:
            yield (
                f"{who} on the generator's core {cores.generator}: packets delayed there are "
                "void, and the rate may not be reached; name other cores"
            )
        devices = [core for core in on if core in (cores.device, *cores.further)]
        if devices and cores.generator not in devices:
            yield (
                f"{who} on the device's core {format_cpu_list(devices)}: they take turns there, "
                "and the tail is the scheduler's time slice before anything else"
            )


def _cores_of(neighbour: NeighbourSpec, cores: Cores) -> CpuSet:
    match neighbour.role:
        case "generator":
            return (cores.generator,)
        case "device":
            return tuple(sorted({cores.device, *cores.further}))
        case "others":
            if cores.others:
                return cores.others
            return (cores.device if cores.runner in cores.measured else cores.runner,)
        case None:
            named = neighbour.named_cores
    for core in named:
        if core not in cores.usable:
            raise InputError(
                f"neighbour {neighbour.name!r}: core {core} cannot be used here; these can: "
                f"{format_cpu_list(cores.usable)}"
            )
    return named
