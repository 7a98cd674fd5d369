"""JSON Schemas (draft 2020-12) of documents, made from the types that json_form.py reads by.

A schema accepts what the reader accepts: a key that no field has, too, and null where a field has
a default. One thing differs: to JSON Schema 5.0 is a whole number, to the reader it is none.
"""

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from types import NoneType, UnionType
from typing import Literal, TypeAlias, Union, get_args, get_origin

from taut.core.attribute_docs import attribute_docs, summary_of
from taut.records.documents.json_field import JsonField, fields_of, inline_kind
from taut.records.documents.json_form import Json, keys_of

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema: TypeAlias = dict[str, Json]

_TYPES: Mapping[object, str] = {
    NoneType: "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
}
_UNITS = {
    "ns": "nanoseconds",
    "us": "microseconds",
    "s": "seconds",
    "hz": "hertz",
    "pps": "packets a second",
    "ppb": "parts in a billion",
    "uj": "microjoules",
    "tsc": "ticks of the TSC",
    "jiffies": "jiffies",
    "percent": "percent",
}
_UNIT = re.compile(rf"(?:^|_)({'|'.join(_UNITS)})(_per_s)?$")


def schema_id(name: str, version: int | str) -> str:
    """Give the `$id` of a schema: what it describes, and in which version."""
    return f"urn:taut:schema:{name}:{version}"


def document_schema(name: str, version: int, hint: object) -> Schema:
    """Make the schema of a document of type `hint`: a dataclass, several, or a list of them."""
    maker = _Maker()
    body = maker.object_schema(hint) if isinstance(hint, type) else maker.schema(hint)
    head: Schema = {"$schema": DIALECT, "$id": schema_id(name, version), "title": f"taut {name}"}
    return head | body | {"$defs": dict(sorted(maker.made().items()))}


class _Maker:
    """Makes schemas of types; dataclasses stand once each, in `$defs`."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[type, Schema]] = {}

    def made(self) -> Mapping[str, Schema]:
        return {name: schema for name, (_, schema) in self._made.items()}

    def schema(self, hint: object) -> Schema:
        """Make the schema of any type that a document's field may have."""
        origin, arguments = get_origin(hint), get_args(hint)
        if hint is object:
            return {}
        if hint in _TYPES:
            return {"type": _TYPES[hint]}
        if origin in (Union, UnionType):
            return self._union([self.schema(argument) for argument in arguments])
        if origin is Literal:
            return {"enum": list(arguments)}
        if origin is tuple and (len(arguments) != 2 or arguments[1] is not Ellipsis):
            items = [self.schema(argument) for argument in arguments]
            n = len(items)
            return {"type": "array", "prefixItems": items, "minItems": n, "maxItems": n}
        if origin is tuple or origin is Sequence:
            return {"type": "array", "items": self.schema(arguments[0])}
        if origin is Mapping:
            inner = self.schema(arguments[1])
            return {"type": "object"} | ({"additionalProperties": inner} if inner else {})
        assert isinstance(hint, type), f"{hint}: no type of a document's field"
        if issubclass(hint, Enum):
            return {"enum": [member.value for member in hint]}
        return self._reference(hint)

    @staticmethod
    def _union(parts: Sequence[Schema]) -> Schema:
        if all(part.keys() == {"type"} for part in parts):
            return {"type": [part["type"] for part in parts]}
        return {"anyOf": parts}

    def _reference(self, kind: type) -> Schema:
        name = kind.__name__
        if name not in self._made:
            self._made[name] = (kind, {})  # Before its fields, one of which may be of the same.
            self._made[name] = (kind, self.object_schema(kind))
        assert self._made[name][0] is kind, f"{name}: two documents of one name"
        return {"$ref": f"#/$defs/{name}"}

    def object_schema(self, kind: type, taken: frozenset[str] | None = None) -> Schema:
        """Make the schema of a dataclass; `taken` are the keys of its owner, if it is inline."""
        own = keys_of(kind)
        inline = [field for field in fields_of(kind) if field.is_inline]
        rests = [of for field in inline for of in fields_of(inline_kind(field)) if of.is_rest]
        docs = attribute_docs(kind)
        properties: dict[str, Json] = {}
        patterns: dict[str, Json] = {}
        for field in fields_of(kind):
            if field.is_rest:
                inner = self.schema(get_args(field.hint)[1])
                if inner:
                    pattern = _pattern(field, own if taken is None else taken, rests)
                    patterns[pattern] = inner | _described(field, docs)
                rests.append(field)
            elif not field.is_inline:
                inner = self.schema(field.hint)
                if field.takes_default and inner:
                    inner = _or_null(inner)
                properties[field.key] = inner | _described(field, docs)
        made: dict[str, Json] = {
            "description": summary_of(kind),
            "type": "object",
            "properties": properties,
            "required": [field.key for field in fields_of(kind) if _is_wanted(field)],
            "patternProperties": patterns,
            "allOf": [self._inline(field, own if taken is None else taken) for field in inline],
        }
        return {name: value for name, value in made.items() if value}

    def _inline(self, field: JsonField, taken: frozenset[str]) -> Schema:
        """Make the schema of what stands among its owner's keys."""
        kind = inline_kind(field)
        made = self.object_schema(kind, taken)
        if NoneType not in get_args(field.hint):
            return made
        first = next(inner.key for inner in fields_of(kind) if inner.is_required)
        is_there: Schema = {"required": [first], "properties": {first: {"not": {"type": "null"}}}}
        return {"if": is_there, "then": made}


def _is_wanted(field: JsonField) -> bool:
    return field.is_required and not field.is_rest and not field.is_inline


def _or_null(schema: Schema) -> Schema:
    kind = schema.get("type")
    if schema.keys() == {"type"} and isinstance(kind, str):
        return {"type": [kind, "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def _described(field: JsonField, docs: Mapping[str, str]) -> Schema:
    """Say what a field means: its docstring, and the unit that its name ends with."""
    words = [docs[field.name]] if field.name in docs else []
    unit = _UNIT.search(field.name)
    if unit is not None:
        words.append(f"In {_UNITS[unit[1]]}{' of each second' if unit[2] else ''}.")
    return {"description": " ".join(words)} if words else {}


def _pattern(field: JsonField, taken: frozenset[str], before: Sequence[JsonField]) -> str:
    """Give a pattern of the keys that are a mapping's: what no field and none `before` it takes."""
    keys = "|".join(sorted(re.escape(name) for name in taken if field.takes(name)))
    refused = ([f"(?:{keys})$"] if keys else []) + [_ends(other) for other in before]
    return f"^{''.join(f'(?!{words})' for words in refused)}{_ends(field)}"


def _ends(field: JsonField) -> str:
    return f"{re.escape(field.prefix)}.*{re.escape(field.suffix)}$"
