"""What is wrong with a parameter of a kernel command line."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What sort of fault a parameter has."""

    UNKNOWN = "unknown"  # no kernel we know takes it
    MISSPELT = "misspelt"  # nor this, but one takes a name like it
    INERT = "inert"  # this kernel, or this combination, makes nothing of it
    MALFORMED = "malformed"  # a value the kernel refuses
    CONTRADICTORY = "contradictory"  # with another parameter, or with the machine
    DEPRECATED = "deprecated"
    DANGEROUS = "dangerous"  # gives up security, correctness or the hardware's lifetime
    MISUNDERSTOOD = "misunderstood"  # does something else than guides say


class Gravity(StrEnum):
    """How much it matters; `error` and `danger` make a command line wrong."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"  # it does not do what it says
    DANGER = "danger"  # it does, and that is the trouble


@dataclass(frozen=True)
class Problem:
    """One thing to say of one parameter."""

    kind: Kind
    parameter: str
    """As it was written, with its value."""
    severity: Gravity
    message: str
    remedy: str = ""

    @property
    def is_wrong(self) -> bool:
        """Whether the command line should not stay as it is."""
        return self.severity in (Gravity.ERROR, Gravity.DANGER)


def worst_first(problem: Problem) -> int:
    """Order of a report; problems of one gravity stay in the order of the command line."""
    return -list(Gravity).index(problem.severity)
