"""How a field of a document stands in JSON: a document says so beside the field, json_form.py asks.

A field's name is its key unless `key` says otherwise. A key that is not there takes the field's
default; a key nobody knows is left alone, since a newer taut may have added it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from dataclasses import Field as DataclassField
from types import NoneType
from typing import get_args, get_type_hints

_KEY, _INLINE, _LEFT_OUT = "key", "inline", "left_out"
_PREFIX, _SUFFIX, _PROMISED = "prefix", "suffix", "promised"

INLINE: Mapping[str, object] = {_INLINE: True}
"""Metadata of a field whose own keys stand among its owner's; where it is None, all are null."""

LEFT_OUT: Mapping[str, object] = {_LEFT_OUT: True}
"""Metadata of a field that is not written where it is None."""


def key(name: str) -> dict[str, object]:
    """Metadata of a field whose JSON key is not its name: `from`, or a name of older documents."""
    return {_KEY: name}


def rest(*, prefix: str = "", suffix: str = "", promised: Sequence[str] = ()) -> dict[str, object]:
    """Metadata of a mapping that takes the keys no field has, with this prefix and this suffix.

    The suffix is left out of the mapping's names, the prefix is kept. The first field that fits
    takes a key.
    `promised` names are null where the document, standing inline in another, is None.
    """
    return {_PREFIX: prefix, _SUFFIX: suffix, _PROMISED: tuple(promised)}


@dataclass(frozen=True)
class JsonField:
    """How one field of a document stands in JSON."""

    name: str
    key: str
    is_inline: bool
    is_left_out: bool
    is_rest: bool
    prefix: str
    suffix: str
    promised: tuple[str, ...]
    is_required: bool
    takes_default: bool  # where the document says null
    hint: object

    def takes(self, name: str) -> bool:
        """Whether a key that no field has is this mapping's."""
        return self.is_rest and name.startswith(self.prefix) and name.endswith(self.suffix)


_FIELDS: dict[type, tuple[JsonField, ...]] = {}


def fields_of(kind: type) -> tuple[JsonField, ...]:
    """Give how each field of a document stands in JSON; worked out once for each kind."""
    if kind not in _FIELDS:
        _FIELDS[kind] = _look_at(kind)
    return _FIELDS[kind]


def _look_at(kind: type) -> tuple[JsonField, ...]:
    assert is_dataclass(kind), f"{kind.__name__}: no document"
    hints = get_type_hints(kind)
    return tuple(
        JsonField(
            name=field.name,
            key=str(field.metadata.get(_KEY, field.name)),
            is_inline=_INLINE in field.metadata,
            is_left_out=_LEFT_OUT in field.metadata,
            is_rest=_SUFFIX in field.metadata,
            prefix=str(field.metadata.get(_PREFIX, "")),
            suffix=str(field.metadata.get(_SUFFIX, "")),
            promised=field.metadata.get(_PROMISED, ()),
            is_required=_is_required(field),
            takes_default=not _is_required(field) and NoneType not in get_args(hints[field.name]),
            hint=hints[field.name],
        )
        for field in fields(kind)
        if field.init
    )


def _is_required(field: DataclassField[object]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def default_format(kind: type) -> int | None:
    """Give the `format` that a document is written with; None: it has none."""
    formats = (field.default for field in fields(kind) if field.name == "format")
    return next((found for found in formats if isinstance(found, int)), None)


def inline_kind(field: JsonField) -> type:
    """Give the document that stands inline, of `X` and of `X | None`."""
    kind = next(a for a in (*get_args(field.hint), field.hint) if isinstance(a, type))
    assert is_dataclass(kind)
    return kind
