"""What `taut search` looks for: goals, and the loads it looks between.

A goal judges a load by trials at it (RFC 9971). The defaults are those of CSIT: trials of 1 s, 21 s
of them until a load is judged, half of which may lose more than the goal allows.
"""

from typing import Self

from pydantic import Field, StrictInt, model_validator

from taut.core.errors import InputError
from taut.core.units import parse_rate
from taut.experiment.fields import Model, Name, RateText, Share, TrialNs

LOSS_OF = {"ndr": 0.0, "pdr": 0.005}
"""Goals whose name says the loss: no drop, and partial drop as CSIT has it."""

PRECEDING_TARGETS = 2
EXPANSION_COEFFICIENT = 2
"""MLRsearch's defaults; they change how long a search takes, not what it finds."""

_SECOND_NS = 1_000_000_000


class GoalSpec(Model):
    """The highest load at which no more than a share of the packets is lost, or is late."""

    name: Name
    loss: Share | None = Field(default=None, lt=1)
    within_ns: TrialNs | None = Field(
        default=None, alias="within", description="a packet later than this counts as lost"
    )
    share: Share | None = Field(
        default=None, gt=0, description="how many packets must be in time; goes with within"
    )
    exceed: Share = Field(default=0.5, lt=1)
    width: Share = Field(default=0.005, gt=0, lt=1)
    first_trial_ns: TrialNs | None = Field(
        default=None,
        alias="first_trial",
        description="a trial's length at the beginning; left out: as trial",
    )
    trial_ns: TrialNs = Field(default=_SECOND_NS, alias="trial")
    sum_ns: TrialNs | None = Field(default=None, alias="sum")

    @model_validator(mode="after")
    def _is_one_goal(self) -> Self:
        if self.within_ns is None and self.share is not None:
            raise ValueError(f"goal {self.name}: share says how many are in time; add within")
        if self.within_ns is not None and self.loss is not None:
            raise ValueError(
                f"goal {self.name}: loss and within are both given; a late packet counts as lost, "
                "so give share with within"
            )
        if self.within_ns is not None and self.share is None:
            raise ValueError(f"goal {self.name}: within has no share; add share = '99.999%'")
        if self.within_ns is None and self.loss is None and self.name not in LOSS_OF:
            raise ValueError(
                f"goal {self.name}: says nothing; give loss, or within and share (ndr and pdr "
                "need neither)"
            )
        if self.shortest_ns > self.trial_ns:
            raise ValueError(f"goal {self.name}: first_trial is longer than trial; shorten it")
        if self.judged_ns < self.trial_ns:
            raise ValueError(f"goal {self.name}: sum is shorter than one trial; lengthen it")
        return self

    @property
    def loss_ratio(self) -> float:
        """The share of packets that may be lost or late."""
        if self.share is not None:
            return round(1 - self.share, 12)
        return LOSS_OF[self.name] if self.loss is None else self.loss

    @property
    def shortest_ns(self) -> int:
        """The length of the first trials at a load."""
        return self.trial_ns if self.first_trial_ns is None else self.first_trial_ns

    @property
    def judged_ns(self) -> int:
        """For how long a load is tried until it is judged; longer trials have as many."""
        return 21 * self.trial_ns if self.sum_ns is None else self.sum_ns


class SearchSpec(Model):
    """Between which loads, and for how long, a search looks."""

    least: RateText = Field(default="1kpps", alias="min")
    most: RateText = Field(default="20Mpps", alias="max")
    limit_ns: TrialNs = Field(default=1200 * _SECOND_NS, alias="limit")
    repeats: StrictInt = Field(default=3, ge=0, le=100)

    @model_validator(mode="after")
    def _has_room(self) -> Self:
        try:
            least, most = parse_rate(self.least), parse_rate(self.most)
        except InputError as error:
            raise ValueError(str(error)) from None
        if least.unit == most.unit and least.value >= most.value:
            raise ValueError(f"min {self.least} is not below max {self.most}; lower min")
        return self


DEFAULT_GOALS = (GoalSpec(name="ndr"), GoalSpec(name="pdr"))

_KEYS = tuple(field.alias or name for name, field in GoalSpec.model_fields.items())[1:]


def goal_table(text: str) -> str:
    """Turn `NAME[:key=value,...]` into the inline table that an experiment file would have.

    InputError: it does not parse; whether its keys and values make sense is the model's to say.
    """
    name, colon, options = text.partition(":")
    pairs = [option.partition("=") for option in options.split(",")] if colon else []
    shape = "write NAME[:key=value,...], like pdr or fast:within=1ms,share=99.999%"
    for key, _, value in pairs:
        if key.strip() not in _KEYS:
            raise InputError(f"--goal {text}: unknown key {key.strip()!r}; {_known()}")
        if not value.strip() or set(value) & set("\"\\'\n"):
            raise InputError(f"--goal {text}: {key.strip()} has no value; {shape}")
    if not name.strip() or set(name) & set("\"\\'\n="):
        raise InputError(f"--goal {text}: no name; {shape}")
    said = [f'{key.strip()} = "{value.strip()}"' for key, _, value in pairs]
    return "{ " + ", ".join([f'name = "{name.strip()}"', *said]) + " }"


def _known() -> str:
    return f"known are {', '.join(_KEYS)}"
