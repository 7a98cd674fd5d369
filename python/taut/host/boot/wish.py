"""What somebody wants at boot, and why: the input of every form of boot configuration."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from taut.core.errors import InputError
from taut.host.boot.item import BootItem, ModuleOption, Sysctl, SysfsValue, UnitState

Valued = Sysctl | SysfsValue | ModuleOption | UnitState
"""Items that are a name and a value; kernel parameters are more (command_line.py)."""
V = TypeVar("V", Sysctl, SysfsValue, ModuleOption, UnitState)


@dataclass(frozen=True)
class Wish:
    """One item and the reason for it, in a few words."""

    item: BootItem
    reason: str


def wishes_of(wishes: Iterable[Wish], kind: type[V]) -> list[tuple[V, str]]:
    """Give the items of one kind, each once, with their reasons; InputError where two differ."""
    found: dict[str, tuple[V, list[str]]] = {}
    for item, reason in _of_kind(wishes, kind):
        name = name_of(item)
        first, reasons = found.setdefault(name, (item, []))
        if first != item:
            raise InputError(
                f"{name}: {value_of(first)} ({reasons[0]}) and {value_of(item)} ({reason}) exclude"
                " each other; leave one of the two remedies out"
            )
        if reason not in reasons:
            reasons.append(reason)
    return [(item, "; ".join(reasons)) for item, reasons in found.values()]


def name_of(item: Valued) -> str:
    """What is set."""
    match item:
        case Sysctl():
            return item.key
        case SysfsValue():
            return item.path
        case ModuleOption():
            return f"{item.module}.{item.option}"
        case UnitState():
            return item.unit


def value_of(item: Valued) -> str:
    """What it is set to."""
    if isinstance(item, UnitState):
        return "enabled" if item.is_enabled else "disabled"
    return item.value


def _of_kind(wishes: Iterable[Wish], kind: type[V]) -> Iterator[tuple[V, str]]:
    for wish in wishes:
        if isinstance(wish.item, kind):
            yield wish.item, wish.reason
