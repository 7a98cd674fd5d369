"""What somebody wants at boot, and why: the input of every form of boot configuration."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from taut.core.errors import InputError
from taut.host.boot.item import BootItem, ModuleOption, Sysctl, SysfsValue, UnitState

Valued = Sysctl | SysfsValue | ModuleOption | UnitState
"""Items with a name and a value; kernel parameters are more complex (command_line.py)."""
V = TypeVar("V", Sysctl, SysfsValue, ModuleOption, UnitState)


@dataclass(frozen=True)
class BootWish:
    """One item and the reason for it."""

    item: BootItem
    reason: str
    by: str = ""
    """Id of the remedy that wants it, for error messages; empty: they give the reason."""

    @property
    def wisher(self) -> str:
        return self.by or self.reason


def wishes_of(wishes: Iterable[BootWish], kind: type[V]) -> list[tuple[V, str]]:
    """Give the items of one kind, each once, with their reasons; InputError where two differ."""
    found: dict[str, tuple[V, str, list[str]]] = {}
    for wish in wishes:
        item = wish.item
        if not isinstance(item, kind):
            continue
        name = name_of(item)
        first, wisher, reasons = found.setdefault(name, (item, wish.wisher, []))
        if first != item:
            raise InputError(
                f"{name}: {value_of(first)} ({wisher}) and {value_of(item)} ({wish.wisher}) exclude"
                " each other; leave one of the two remedies out"
            )
        if wish.reason not in reasons:
            reasons.append(wish.reason)
    return [(item, "; ".join(reasons)) for item, _, reasons in found.values()]


def name_of(item: Valued) -> str:
    """Name what the item sets: two items of one name and different values contradict each other."""
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
    """Give the value that the item sets, as text."""
    if isinstance(item, UnitState):
        return "enabled" if item.is_enabled else "disabled"
    return item.value


def one_line(text: str) -> str:
    """Put a reason on one line, so that it fits into a comment."""
    return " ".join(text.split())
