"""What a program says of itself with --describe, as far as Python asks it."""

from dataclasses import dataclass, field

from taut.records.documents.json_field import rest
from taut.records.documents.json_form import JsonObject


@dataclass(frozen=True)
class OptionDescribed:
    """One option, of a program or of a member of a family."""

    name: str
    help: str = ""
    others: JsonObject = field(default_factory=dict, metadata=rest())


@dataclass(frozen=True)
class MemberDescribed:
    """A schedule, a network function, a transmit policy."""

    name: str
    options: tuple[OptionDescribed, ...] = ()
    others: JsonObject = field(default_factory=dict, metadata=rest())

    @property
    def option_names(self) -> list[str]:
        """Names of the options that may be set."""
        return [option.name for option in self.options]


@dataclass(frozen=True)
class Described:
    """One program; a family it does not have is empty."""

    options: tuple[OptionDescribed, ...] = ()
    schedules: tuple[MemberDescribed, ...] = ()
    network_functions: tuple[MemberDescribed, ...] = ()
    transmit: tuple[MemberDescribed, ...] = ()
    others: JsonObject = field(default_factory=dict, metadata=rest())
