"""The JSON Schema of an experiment's file, made of the models that read it.

It says less than they know of how keys go together: `taut run --dry-run` has the last word. Where a
text would do as a number ("3" for 3), it wants the number.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from taut.core.attribute_docs import attribute_docs, summary_of
from taut.core.units import DURATION_PATTERN, RATE_PATTERN, SHARE_PATTERN, format_ns
from taut.core.version import taut_version
from taut.dut.drivers import DRIVERS
from taut.experiment import model
from taut.experiment.fields import (
    MAX_FRAME,
    MIN_FRAME,
    DurationNs,
    FrameSize,
    RateText,
    Requirements,
    Share,
    Trace,
    TraceMode,
)
from taut.experiment.model import Spec
from taut.host.checks import CHECKS
from taut.records.documents.described import MemberDescribed, OptionDescribed
from taut.records.documents.json_schema import DIALECT, schema_id
from taut.testbed.links import LINKS
from taut.testbed.neighbours import NEIGHBOURS
from taut.testbed.placements import PLACEMENTS

Schema = dict[str, Any]

SUMMARY = "The experiment that taut run reads: devices x places x loads x hosts x neighbours."


def _first_of(kind: object) -> object:
    """Give the function through which a value of an annotated type goes before anything else."""
    return get_args(kind)[1].func


_TEXTS: Mapping[object, Schema] = {
    _first_of(DurationNs): {
        "type": "string",
        "pattern": DURATION_PATTERN,
        "examples": ["10s", "500ms", "100us"],
    },
    _first_of(Share): {
        "anyOf": [
            {"type": "number", "minimum": 0, "maximum": 1},
            {"type": "string", "pattern": SHARE_PATTERN},
        ],
        "examples": ["0.5%", 0.005],
    },
    _first_of(Requirements): {
        "description": "Names of requirements, as taut check takes them, and what they must keep; "
        "or a list of its rules.",
        "anyOf": [
            {
                "type": "object",
                "properties": {
                    "profile": {
                        "anyOf": [
                            {"type": "string"},
                            {"type": "array", "items": {"type": "string"}},
                        ]
                    }
                },
                "additionalProperties": {"type": "string"},
            },
            {"type": "array", "items": {"type": "string"}},
        ],
        "examples": [{"p99.99": "< 25us", "loss": "= 0"}, ["p99.99 < 25us", "loss = 0"]],
    },
    _first_of(RateText): {
        "type": "string",
        "pattern": RATE_PATTERN,
        "examples": ["100kpps", "50Mbps"],
    },
    _first_of(FrameSize): {
        "anyOf": [
            {"type": "integer", "minimum": MIN_FRAME, "maximum": MAX_FRAME},
            {"enum": ["imix"]},
            {"type": "string", "pattern": "^[0-9]{1,9}$"},
        ]
    },
    _first_of(TraceMode): {"enum": [*get_args(Trace), True, False]},
}
"""What may be written for values that are read from text, by the function that reads them."""

_LENGTH = {"duration", "warm_up", "deadline", "gap_threshold", "trial", "limit"}
"""Keys whose defaults are nanoseconds in the models, and text in a file."""


def experiment_schema(schedules: Sequence[MemberDescribed] | None) -> Schema:
    """Make it; `schedules` are taut-generate's, None where it is not built: any name is one."""
    kinds: list[type[BaseModel]] = [Spec]
    families = (DRIVERS, PLACEMENTS)
    kinds += dict.fromkeys(of.options_type for family in families for of in family.values())
    refs, made = models_json_schema(
        [(kind, "validation") for kind in kinds], schema_generator=_Generator
    )
    parts: Schema = made["$defs"]
    options = {kind: refs[kind, "validation"] for kind in kinds[1:]}
    _tell_devices(parts["DeviceSpec"], options)
    _tell_placements(parts["PlacementSpec"], options)
    if schedules is not None:
        _tell_schedules(parts["TrafficSpec"], schedules)
    words = [{"enum": [check.id for check in CHECKS]}, {"pattern": f"^(?:{_any_check()})-"}]
    for key in ("only", "without"):
        parts["HostSpec"]["properties"][key]["items"] |= {"anyOf": words}
    neighbour = parts["NeighbourSpec"]["properties"]
    neighbour["kind"]["enum"] = list(NEIGHBOURS)
    neighbour["cores"]["type"] = ["string", "integer"]
    _tell_links(parts["Spec"]["properties"]["links"])
    for name, part in parts.items():
        _tell_keys(name, part)
    head: Schema = {
        "$schema": DIALECT,
        "$id": schema_id("experiment", taut_version()),
        "title": "taut experiment",
    }
    spec: Schema = parts.pop("Spec")
    return head | spec | {"description": SUMMARY, "$defs": parts}


def _any_check() -> str:
    return "|".join(check.id for check in CHECKS)


class _Generator(GenerateJsonSchema):
    """Says what is written, not what is made of it; TOML has no null."""

    def function_before_schema(
        self, schema: core_schema.BeforeValidatorFunctionSchema
    ) -> JsonSchemaValue:
        """Give the form of a text that is read by a function."""
        function = schema["function"]["function"]
        if function in _TEXTS:
            return dict(_TEXTS[function])
        inner = super().function_before_schema(schema)
        if "$ref" not in inner and inner.get("type") != "object":
            raise TypeError(f"{function}: what it reads is not in _TEXTS; or use WithJsonSchema")
        return inner

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """Give what stands there where something does."""
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002 - pydantic's
        """Set none: they repeat the key."""
        return False


def _tell_devices(device: Schema, options: Mapping[type[BaseModel], Schema]) -> None:
    """Say what each driver takes: which links, which options."""
    properties = device["properties"]
    properties["driver"]["enum"] = list(DRIVERS)
    properties["link"]["enum"] = list(LINKS)
    # For editors, which complete what stands here; what holds of one driver is below.
    own = dict.fromkeys(driver.options_type for driver in DRIVERS.values())
    properties["options"] = {"anyOf": [options[kind] for kind in own]}
    cases = {
        name: {
            "description": driver.summary,
            "properties": {
                "link": {"enum": list(driver.link_kinds)},
                "options": options[driver.options_type],
            },
        }
        for name, driver in DRIVERS.items()
    }
    device |= _by_word("driver", cases)


def _tell_placements(placement: Schema, options: Mapping[type[BaseModel], Schema]) -> None:
    """Say what each kind takes; a table without one has the kind that it is called after."""
    properties = placement["properties"]
    properties["kind"]["enum"] = list(PLACEMENTS)
    properties["options"] = {"anyOf": [options[kind.options_type] for kind in PLACEMENTS.values()]}
    cases = {
        name: {"description": kind.summary, "properties": {"options": options[kind.options_type]}}
        for name, kind in PLACEMENTS.items()
    }
    placement |= _by_word("kind", cases)


def _tell_schedules(traffic: Schema, schedules: Sequence[MemberDescribed]) -> None:
    """Say which schedules there are, and the options of each."""
    properties = traffic["properties"]
    properties["schedule"]["enum"] = [schedule.name for schedule in schedules]
    options = [{of.name: _option(of) for of in schedule.options} for schedule in schedules]
    properties["options"]["properties"] = {
        name: of for each in options for name, of in each.items()
    }
    cases = {
        schedule.name: {
            "properties": {"options": {"properties": each, "additionalProperties": False}}
        }
        for schedule, each in zip(schedules, options, strict=True)
    }
    traffic |= _by_word("schedule", cases, properties["schedule"]["default"])


def _option(option: OptionDescribed) -> Schema:
    """Say what a value may be: any may be text, which only the generator reads."""
    limits = {"min": "minimum", "max": "maximum"}
    bounds = {limits[key]: value for key, value in option.others.items() if key in limits}
    number = "integer" if option.others.get("type") == "uint" else "number"
    return {"type": [number, "string"], "description": option.help} | bounds


def _by_word(key: str, cases: Mapping[str, Schema], default: str | None = None) -> Schema:
    """Give what holds for each word that a key may have; `default` is the word where it is absent.

    A chain of if, then and else: beside `allOf` Taplo completes no keys. Tombi wants to be told
    that none of them names all keys.
    """
    made: Schema = {}
    for word, then in reversed(list(cases.items())):
        is_it: Schema = {"properties": {key: {"enum": [word]}}, "additionalProperties": True}
        if word != default:
            is_it["required"] = [key]
        case = {"if": is_it, "then": then | {"additionalProperties": True}}
        made = case | ({"else": made | {"additionalProperties": True}} if made else {})
    return made


def _tell_links(links: Schema) -> None:
    kinds = {kind.name: {"type": "object", "description": kind.summary} for kind in LINKS.values()}
    links |= {"properties": kinds, "additionalProperties": False}


def _tell_keys(name: str, part: Schema) -> None:
    """Say what each key of a table means, unless its field does, and spell its default."""
    kind = next((of for of in _models(Spec) if of.__name__ == name), None)
    if kind is None:
        return
    part["description"] = summary_of(kind)
    part.pop("title", None)
    said = attribute_docs(kind)
    for field_name, field in kind.model_fields.items():
        key = field.alias or field_name
        made = part["properties"][key]
        words = field.description or said.get(field_name) or _COMMENTS.get((_table(kind), key))
        if words is None and ("", key) in _COMMENTS:
            words = f"{_COMMENTS['', key]} (for this table only)"
        for inner in _models_in(field.annotation):
            words = words or summary_of(inner)
        if words is not None:
            made["description"] = words
        if key in _LENGTH and isinstance(made.get("default"), int):
            made["default"] = format_ns(made["default"])
        if made.get("default", "") in ("", None, []):
            made.pop("default", None)


def _table(kind: type[BaseModel]) -> str:
    """Name the table of the file that a model reads; the file's own keys stand in none."""
    fields = Spec.model_fields.items()
    return next((name for name, field in fields if kind in _models_in(field.annotation)), "")


def _models(kind: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Give a model and those of its tables."""
    yield kind
    for field in kind.model_fields.values():
        for inner in _models_in(field.annotation):
            yield from _models(inner)


def _models_in(annotation: object) -> list[type[BaseModel]]:
    found = [annotation, *get_args(annotation)]
    return [kind for kind in found if isinstance(kind, type) and issubclass(kind, BaseModel)]


def _comments(text: str) -> Iterator[tuple[tuple[str, str], str]]:
    """Give what an example of an experiment says of each key, by its table: the comment at it."""
    table = ""
    for line in text.splitlines():
        head = re.match(r" *\[+([a-z_.]+)\]+(?: +# (.*))?", line)
        if head is not None:
            table = head[1]
            if head[2]:
                yield ("", table.partition(".")[0]), head[2]
        entry = re.match(r" *(?:# )?([a-z_]+) = .*?  +# (.*)", line)
        if entry is not None:
            yield (table, entry[1]), entry[2]


_COMMENTS: Mapping[tuple[str, str], str] = dict(reversed(list(_comments(model.__doc__ or ""))))
"""By table and key; of a key that stands there twice the first."""
