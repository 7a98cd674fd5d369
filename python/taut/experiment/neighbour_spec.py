"""A [[neighbour]] of an experiment file: who else is busy while a trial is measured."""

from collections.abc import Sequence
from typing import Literal, Self

from pydantic import Field, StrictInt, model_validator

from taut.core.cpus import CpuSet, parse_cpu_list
from taut.core.errors import InputError
from taut.core.words import did_you_mean
from taut.experiment.fields import Model, Name
from taut.testbed.neighbour import NeighbourKind
from taut.testbed.neighbours import IDLE, NEIGHBOURS

Role = Literal["others", "device", "generator"]

_ROLES: tuple[Role, ...] = ("others", "device", "generator")


class NeighbourSpec(Model):
    """One neighbour; `idle` is nobody."""

    kind: str
    name: Name = Field("", validate_default=False)
    cores: str = "others"
    workers: StrictInt = Field(1, ge=1, le=64)

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, data: object) -> object:
        if not isinstance(data, dict) or not isinstance(kind := data.get("kind"), str):
            return data
        if kind not in NEIGHBOURS:
            raise ValueError(f"unknown neighbour {kind!r}{did_you_mean(kind, NEIGHBOURS)}")
        cores = data.get("cores", "others")
        # A single core may stand as a number.
        is_number = isinstance(cores, int) and not isinstance(cores, bool)
        return {"name": kind, **data, "cores": str(cores) if is_number else cores}

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if self.does.is_idle and (self.cores != "others" or self.workers != 1):
            raise ValueError(
                f"neighbour {self.name!r}: idle is nobody; leave cores and workers out"
            )
        if (self.name == IDLE.name) != self.does.is_idle:
            raise ValueError(f"neighbour {self.name!r}: idle alone is called idle, and always")
        if self.cores not in _ROLES and not self.named_cores:
            raise ValueError(f"neighbour {self.name!r}: cores is empty; leave it out, or name some")
        return self

    @property
    def does(self) -> NeighbourKind:
        """What it does, as the table of neighbours has it."""
        return NEIGHBOURS[self.kind]

    @property
    def role(self) -> Role | None:
        """Whose cores it works on; None: they are named."""
        return self.cores if self.cores in _ROLES else None

    @property
    def named_cores(self) -> CpuSet:
        """The cores that the file names; ValueError: it names none, and no role."""
        try:
            return parse_cpu_list(self.cores)
        except InputError as error:
            what = f"{error}; or one of {', '.join(_ROLES)}"
            raise ValueError(f"neighbour {self.name!r}: {what}") from None


def refuse_in_turn(neighbours: Sequence[NeighbourSpec], who: str) -> None:
    """InputError: more neighbours than one, where the whole is measured beside the same."""
    if len(neighbours) > 1:
        raise InputError(
            f"[[neighbour]]: {who} measures beside one neighbour at most; keep one in the file, or "
            "compare them with taut run"
        )
