"""Values of an experiment file: text with a unit in, a number or its one spelling out."""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictInt

from taut.core.errors import InputError
from taut.core.requirement_profiles import all_requirements
from taut.core.units import parse_duration_ns, parse_share, spell_rate

MIN_FRAME = 64
"""Ethernet's minimum; headers, probe and FCS fill it."""
MAX_FRAME = 1518
MAX_TRIAL_NS = 86_400_000_000_000
"""For its duration, its warm-up and its deadline each (dataplane/generator/config.c)."""
_NAME = r"^[a-z0-9][a-z0-9_.]*$"
_DIGITS = re.compile("[0-9]{1,9}")

Frame = int | Literal["imix"]
Record = Literal["all", "tail", "none", "auto"]
Trace = Literal["auto", "continuous", "tail", "off"]


def _explained(parse: Callable[[str], int | str]) -> Callable[[object], int | str]:
    """Make a parser of taut.core.units a validator: its message is kept, the key is added."""

    def validate(value: object) -> int | str:
        if not isinstance(value, str):
            raise ValueError(f"{value!r} has no unit; write it as text, like {_EXAMPLES[parse]!r}")
        try:
            return parse(value)
        except InputError as error:
            raise ValueError(str(error)) from None

    return validate


_EXAMPLES: dict[Callable[[str], int | str], str] = {parse_duration_ns: "10s", spell_rate: "100kpps"}


def _is_frame(value: object) -> object:
    """Take bytes or `imix`, as taut-generate does; bytes also as text, as of --set."""
    if value == "imix":
        return value
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{value!r} is no frame size; write bytes, like 64, or 'imix'")
    if not MIN_FRAME <= value <= MAX_FRAME:
        raise ValueError(
            f"{value} B: a frame holds headers, probe and FCS, {MIN_FRAME} to {MAX_FRAME} B"
        )
    return value


def _trace_word(value: object) -> object:
    """Accept true and false, which older experiment files have in place of a mode."""
    if isinstance(value, bool):
        return "continuous" if value else "off"
    return value


def _is_not_zero(value: int) -> int:
    if value <= 0:
        raise ValueError("nothing would be measured; give a time above 0")
    return value


def _is_within_a_day(value: int) -> int:
    if value > MAX_TRIAL_NS:
        raise ValueError("longer than a day, which is the most a trial can take; shorten it")
    return value


DurationNs = Annotated[
    int, BeforeValidator(_explained(parse_duration_ns)), AfterValidator(_is_within_a_day)
]
TrialNs = Annotated[DurationNs, AfterValidator(_is_not_zero)]
RateText = Annotated[str, BeforeValidator(_explained(spell_rate))]
FrameSize = Annotated[Frame, BeforeValidator(_is_frame)]
TraceMode = Annotated[Trace, BeforeValidator(_trace_word)]
Name = Annotated[str, Field(pattern=_NAME)]
Core = Annotated[StrictInt, Field(ge=0)] | Literal["auto"]


def _share(value: object) -> object:
    """Take a share as a number from 0 to 1 or as text in %."""
    if isinstance(value, str):
        try:
            return parse_share(value)
        except InputError as error:
            raise ValueError(str(error)) from None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"{value!r} is no share; write 0.005 or '0.5%'")
    return value


Share = Annotated[float, BeforeValidator(_share)]


class Model(BaseModel):
    """Frozen, strict about keys; a key is written as its alias."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=False)


def _requirements(given: object) -> object:
    """Take requirements as the texts that `taut check` reads, each checked: a table or a list."""
    profiles: object = []
    if isinstance(given, Mapping):
        rules = {str(key): value for key, value in given.items()}
        profiles = rules.pop("profile", [])
        texts = [f"{key} {value}" for key, value in rules.items()]
    elif isinstance(given, list | tuple):
        texts = [str(text) for text in given]
    else:
        return given
    profiles = profiles if isinstance(profiles, list) else [profiles]
    try:
        return tuple(one.text for one in all_requirements(texts, [str(p) for p in profiles]))
    except InputError as error:
        raise ValueError(str(error)) from None


Requirements = Annotated[tuple[str, ...], BeforeValidator(_requirements)]
