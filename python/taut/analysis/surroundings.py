"""In what a device was measured: link, host, placement and neighbour, named where they differ."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from taut.analysis.load import load_of, rows_of
from taut.records.documents.load import Device
from taut.records.documents.neighbour import IDLE_NEIGHBOUR
from taut.records.documents.results import Variant
from taut.records.documents.trial import AS_FOUND, BARE

Names = Callable[[Variant], str]
Words = Callable[[Device], tuple[str, ...]]

Surroundings = tuple[str, str, str]
"""The state of the host, the placement, and the neighbour."""

USUAL: Surroundings = (AS_FOUND, BARE, IDLE_NEIGHBOUR)
"""What the others are set beside."""

_HOST = 0
_TOLD_FROM_LAST = (2, 1, 0)


@dataclass(frozen=True)
class Change:
    """Two surroundings that differ in one thing: what it was, what it became, the rest."""

    before: Surroundings
    after: Surroundings
    axis: int
    """Which of the surroundings differs."""

    @property
    def words(self) -> str:
        """What became of what: "trimmed beside as found"."""
        return f"{self.after[self.axis]} beside {self.before[self.axis]}"

    @property
    def of_host(self) -> bool:
        """Whether the state of the host is what differs."""
        return self.axis == _HOST

    def rest(self, among: Iterable["Change"]) -> str:
        """What is the same on both sides, as far as others of the changes differ in it."""
        sides = [side for one in among for side in (one.before, one.after)]
        same = (axis for axis in range(len(USUAL)) if axis != self.axis)
        told = (axis for axis in same if len({side[axis] for side in sides}) > 1)
        return ", ".join(self.before[axis] for axis in told)


def changes_among(devices: Iterable[Device]) -> list[Change]:
    """Give what is set beside what: of each axis every member beside the first.

    Both as one device was measured in them: the other axes are the same on both sides.
    """
    found = list(dict.fromkeys(device.surroundings for device in devices))
    axes = [
        _first(dict.fromkeys(names), USUAL[i]) for i, names in enumerate(zip(*found, strict=True))
    ]
    pairs: list[Change] = []
    for axis in _TOLD_FROM_LAST if axes else ():
        firsts = [names[:1] if i == axis else names for i, names in enumerate(axes)]
        for host, place, beside in product(*firsts):
            before = (host, place, beside)
            pairs += [Change(before, _with(before, axis, one), axis) for one in axes[axis][1:]]
    return [one for one in pairs if one.before in found and one.after in found]


def _with(around: Surroundings, axis: int, name: str) -> Surroundings:
    host, place, beside = (name if i == axis else old for i, old in enumerate(around))
    return host, place, beside


def _first(names: Iterable[str], usual: str) -> Sequence[str]:
    return sorted(names, key=lambda name: name != usual)


def words_among(devices: Iterable[Device]) -> Words:
    """Give what names a device's surroundings among those of others: the axes that differ.

    The instrument is measured on the host alone: where devices are placed says nothing of it.
    """
    found = list(devices)
    placed = {device.place for device in found if not device.is_floor}
    differ = (
        len({device.host for device in found}) > 1,
        len(placed) > 1,
        len({device.neighbour for device in found}) > 1,
    )

    def words(device: Device) -> tuple[str, ...]:
        named = zip(device.surroundings, differ, strict=True)
        told = [name for name, differs in named if differs]
        if device.is_floor and differ[1]:
            told.remove(device.place)
        return tuple(told)

    return words


def names_among(runs: Iterable[Sequence[Variant]]) -> Names:
    """Give what names a row's device among those of some runs: with its link where it needs it.

    It does where one run has it over several paths, under one load in the same surroundings. Of a
    plan with devices over three links each link has its floor.
    """
    ambiguous: set[str] = set()
    for rows in runs:
        for load in {load_of(row) for row in rows}:
            names = Counter((row.called, row.device.surroundings) for row in rows_of(rows, load))
            ambiguous |= {name for (name, _), n in names.items() if n > 1}

    def name(row: Variant) -> str:
        return f"{row.called} ({row.device.link})" if row.called in ambiguous else row.called

    return name
