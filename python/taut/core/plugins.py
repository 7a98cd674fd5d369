"""Members of taut's tables that other packages bring: named by metadata, imported when used.

A table names taut's own members one by one (ADR 2). Beside them stand those that an installed
package names as entry points of the table's group (`taut.checks`), by the name the member has.
What clashes, or cannot be imported, is left out with one line (PluginWarning) and stops nothing
else. docs/adr/0016 says why.
"""

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from typing import Generic, TypeVar, cast

from taut.core.errors import InputError

Member = TypeVar("Member")
Asked = TypeVar("Asked")

_PREFIX = "taut."
_OURS = "taut itself"


class PluginWarning(UserWarning):
    """A plug-in that is left out: one line that says which, and why."""


@dataclass(frozen=True)
class Plugin:
    """A member of a table as a package's metadata names it; nothing of it is imported."""

    group: str
    name: str
    package: str
    version: str
    target: str
    """Where the member is: `module:object`."""

    def __str__(self) -> str:
        return f"{self.name} of {self.package} {self.version}"


@dataclass(frozen=True)
class Standing:
    """A plug-in, and why it is left out; None: it is a member like taut's own."""

    plugin: Plugin
    why_not: str | None


class _RefusedError(Exception):
    """A plug-in that may not stand in its table."""


def lack(missing: Callable[[Asked], str | None], of: Asked) -> str | None:
    """Say what this machine lacks for a member of a table; whose code fails over that, lacks it."""
    try:
        return missing(of)
    except Exception as error:  # noqa: BLE001 - code of others may raise anything
        return f"what it lacks cannot be told, its code failed: {words_of(error)}"


def words_of(error: BaseException) -> str:
    """Give an error of somebody else's code in one line, with its type."""
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return " ".join(reason.split())


class Family(Generic[Member]):
    """What may stand in one table beside taut's own members, and what does."""

    def __init__(
        self,
        group: str,
        kind: type,
        built_in: Iterable[Member],
        name_of: Callable[[Member], str],
        *,
        refuses: Callable[[Member], str | None] = lambda _: None,
        claims: Callable[[Member], Iterable[str]] = lambda _: (),
    ) -> None:
        """Make it of taut's own members.

        `kind` is a dataclass or a Protocol. `refuses` says why a member may not come from a
        plug-in; `claims` gives what no two members may have in common, besides the name.
        """
        self.group, self._kind = group, kind
        self._name_of, self._refuses, self._claims = name_of, refuses, claims
        self.built_in: Mapping[str, Member] = {name_of(member): member for member in built_in}
        self._owners = {
            claim: f"{name} of {_OURS}"
            for name, member in self.built_in.items()
            for claim in claims(member)
        }
        self._begun: set[Plugin] = set()
        self._added: dict[str, Member] = {}
        self._why_not: dict[Plugin, str] = {}

    def declared(self) -> tuple[Plugin, ...]:
        """Name the plug-ins of this table; none is imported."""
        return declared(self.group)

    def added(self) -> Mapping[str, Member]:
        """Import all plug-ins of this table; give those that may stand in it, by their names."""
        for plugin in self.declared():
            self._try(plugin)
        return self._added

    def find(self, name: str) -> Member:
        """Give one member, and import no other's plug-in.

        KeyError: nobody has that name. InputError: a plug-in has it that is left out.
        """
        if name in self.built_in:
            return self.built_in[name]
        named = [plugin for plugin in self.declared() if plugin.name == name]
        if not named:
            raise KeyError(name)
        self._try(named[0], quiet=True)
        if name not in self._added:
            raise InputError(f"plug-in {named[0]}: {self._why_not[named[0]]}")
        return self._added[name]

    def standings(self) -> tuple[Standing, ...]:
        """Import all plug-ins of this table; say of each whether it stands there."""
        self.added()
        return tuple(Standing(plugin, self._why_not.get(plugin)) for plugin in self.declared())

    def _try(self, plugin: Plugin, *, quiet: bool = False) -> None:
        if plugin in self._begun:
            return
        # Before the import: what a plug-in imports may ask for this table.
        self._begun.add(plugin)
        try:
            member = self._checked(plugin)
            claims = dict.fromkeys(self._claims(member), str(plugin))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - code of others may raise anything
            refused = isinstance(error, _RefusedError)
            why = str(error) if refused else f"its code failed: {words_of(error)}; {_MEND}"
            self._why_not[plugin] = why
            if not quiet:
                warnings.warn(f"plug-in {plugin}: {why}", PluginWarning, stacklevel=2)
            return
        self._owners |= claims
        self._added[plugin.name] = member
        _USED.append(plugin)

    def _checked(self, plugin: Plugin) -> Member:
        """Import a member. _RefusedError: it clashes, cannot be imported, or is no member.

        What a broken member itself raises where it is looked at comes out as it is.
        """
        if plugin.name in self.built_in:
            raise _RefusedError(f"{plugin.name} is a name of {_OURS}; {_RENAME}")
        others = [str(p) for p in self.declared() if p.name == plugin.name and p != plugin]
        if others:
            raise _RefusedError(f"also {', '.join(others)}; uninstall one")
        member = self._imported(plugin)
        if why := self._refuses(member):
            raise _RefusedError(why)
        for claim in self._claims(member):
            if claim in self._owners:
                raise _RefusedError(f"{claim} is what {self._owners[claim]} has; {_RENAME}")
        return member

    def _imported(self, plugin: Plugin) -> Member:
        found = _import(plugin)
        if isinstance(found, type):
            raise _RefusedError(f"{plugin.target} is a class; name an object of it")
        if lacking := _lacks(found, self._kind):
            raise _RefusedError(f"{plugin.target} is no {self._kind.__name__}: {lacking}")
        member = cast(Member, found)
        if self._name_of(member) != plugin.name:
            raise _RefusedError(
                f"{plugin.target} calls itself {self._name_of(member)!r}; "
                "give the entry point that name"
            )
        return member


_RENAME = "the package has to take another"
_MEND = "mend or uninstall it"


class NamedTable(Mapping[str, Member]):
    """A table by name whose plug-ins are imported one by one, when their names are looked up.

    Who goes through the whole table imports all of them, and is not shown those left out.
    """

    def __init__(self, family: Family[Member]) -> None:
        self.family = family

    def __getitem__(self, name: str) -> Member:
        """Give a member. InputError: its plug-in is left out, and why."""
        return self.family.find(name)

    def __contains__(self, name: object) -> bool:
        """Whether there is such a name; also of a plug-in that is left out."""
        return name in self.names()

    def __iter__(self) -> Iterator[str]:
        yield from self.family.built_in
        yield from self.family.added()

    def __len__(self) -> int:
        return len(self.family.built_in) + len(self.family.added())

    def names(self) -> list[str]:
        """Give all names; nothing is imported."""
        added = (plugin.name for plugin in self.family.declared())
        return list(dict.fromkeys([*self.family.built_in, *added]))


def declared(group: str) -> tuple[Plugin, ...]:
    """Name what installed packages add to a table; nothing of theirs is imported."""
    return groups().get(group, ())


def used() -> tuple[Plugin, ...]:
    """Give the plug-ins this process has imported and uses, by table and name."""
    return _sorted(_USED)


_USED: list[Plugin] = []


@cache
def groups() -> Mapping[str, tuple[Plugin, ...]]:
    """Give what is declared for each table, also for those there are not."""
    # Here, not above: every command imports this file, and few need a table.
    from importlib import metadata

    points = metadata.entry_points()
    return {
        group: _sorted(
            Plugin(group, point.name, point.dist.name, point.dist.version, point.value)
            for point in points.select(group=group)
            if point.dist is not None
        )
        for group in sorted(points.groups)
        if group.startswith(_PREFIX)
    }


def _sorted(plugins: Iterable[Plugin]) -> tuple[Plugin, ...]:
    return tuple(sorted(plugins, key=lambda plugin: (plugin.group, plugin.name, plugin.package)))


def _import(plugin: Plugin) -> object:
    """Import what a plug-in names. _RefusedError: that fails, in whatever way."""
    from importlib import import_module

    module, _, attribute = plugin.target.partition(":")
    try:
        # What it prints would stand in the document of --json.
        with redirect_stdout(sys.stderr):
            found: object = import_module(module.strip())
        for name in attribute.strip().split("."):
            found = getattr(found, name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - code of others may raise anything
        raise _RefusedError(f"cannot be imported: {words_of(error)}; {_MEND}") from None
    return found


def _lacks(found: object, kind: type) -> str:
    """Say what an object lacks of a dataclass or a Protocol; empty: nothing."""
    if not getattr(kind, "_is_protocol", False):
        return "" if isinstance(found, kind) else f"it is of type {type(found).__name__}"
    missing = [name for name in vars(kind) if not name.startswith("_") and not hasattr(found, name)]
    return f"it has no {', '.join(missing)}" if missing else ""
