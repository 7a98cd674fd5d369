"""In what a device was measured: state of the host and neighbour, named where they differ."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from taut.records.documents.load import Device
from taut.records.documents.neighbour import IDLE_NEIGHBOUR
from taut.records.documents.trial import AS_FOUND

Words = Callable[[Device], tuple[str, ...]]

Surroundings = tuple[str, str]
"""The state of the host, and the neighbour."""


@dataclass(frozen=True)
class Change:
    """Two surroundings that differ in one thing: what it was, what it became, the rest."""

    before: Surroundings
    after: Surroundings

    @property
    def words(self) -> str:
        """What became of what: "trimmed beside as found"."""
        changed = [axis for axis in (0, 1) if self.before[axis] != self.after[axis]]
        old, new = (", ".join(side[axis] for axis in changed) for side in (self.before, self.after))
        return f"{new} beside {old}"

    @property
    def of_neighbour(self) -> bool:
        """Whether the neighbour is what differs."""
        return self.before[1] != self.after[1]


def changes_among(devices: Iterable[Device]) -> list[Change]:
    """Give what is set beside what: each neighbour beside the first, each state beside the first.

    Both as one device was measured in them: the other axis is the same on both sides.
    """
    found = list(dict.fromkeys(device.surroundings for device in devices))
    hosts = _first(dict.fromkeys(host for host, _ in found), AS_FOUND)
    neighbours = _first(dict.fromkeys(beside for _, beside in found), IDLE_NEIGHBOUR)
    pairs = [((host, neighbours[0]), (host, one)) for host in hosts for one in neighbours[1:]]
    pairs += [((hosts[0], beside), (one, beside)) for one in hosts[1:] for beside in neighbours]
    return [Change(a, b) for a, b in pairs if a in found and b in found]


def _first(names: Iterable[str], usual: str) -> Sequence[str]:
    return sorted(names, key=lambda name: name != usual)


def words_among(devices: Iterable[Device]) -> Words:
    """Give what names a device's surroundings among those of others: the axes that differ."""
    found = list(devices)
    in_states = len({device.host for device in found}) > 1
    with_neighbours = len({device.neighbour for device in found}) > 1

    def words(device: Device) -> tuple[str, ...]:
        named = ((device.host, in_states), (device.beside, with_neighbours))
        return tuple(word for word, differs in named if differs)

    return words
