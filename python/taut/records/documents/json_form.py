"""Documents to and from JSON: frozen dataclasses inside, JSON at the edge.

json_field.py says how each field stands in it. A value of another type is InputError, with the path
of the key in it.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from taut.core.errors import InputError
from taut.records.documents.json_field import JsonField, default_format, fields_of, inline_kind

if TYPE_CHECKING:
    Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None
else:
    Json = object
"""Any JSON value: the type of what taut passes on without reading it."""

JsonObject: TypeAlias = Mapping[str, Json]

T = TypeVar("T")


def plain(value: object) -> Json:
    """Give a part of a document as the dicts, lists and scalars that json.dump takes."""
    if isinstance(value, Enum):
        return plain(value.value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if is_dataclass(value):
        return plain_object(value)
    if isinstance(value, Iterable):
        return [plain(inner) for inner in value]
    raise TypeError(f"{type(value).__name__}: has no form in JSON")


def plain_object(document: object) -> dict[str, Json]:
    """Give a dataclass as the dict that json.dump takes."""
    found: dict[str, Json] = {}
    for field in fields_of(type(document)):
        value = getattr(document, field.name)
        if value is None and field.is_left_out:
            continue
        if field.is_inline:
            found |= _nulls(inline_kind(field)) if value is None else plain_object(value)
        elif field.is_rest:
            found |= {f"{name}{field.suffix}": plain(inner) for name, inner in value.items()}
        else:
            found[field.key] = plain(value)
    return found


def _nulls(kind: type) -> dict[str, Json]:
    """Give every key that a document always has, each null."""
    found: dict[str, Json] = {}
    for field in fields_of(kind):
        if field.is_inline:
            found |= _nulls(inline_kind(field))
        elif field.is_rest:
            found |= {f"{name}{field.suffix}": None for name in field.promised}
        elif not field.is_left_out:
            found[field.key] = None
    return found


def parse(kind: type[T], document: object, where: str) -> T:
    """Read a document; InputError, which begins with `where`, for one of another form."""
    try:
        found = _reader(kind)(document)
    except _Wrong as wrong:
        raise InputError(f"{where}: {wrong}; the file is damaged, or of another taut") from None
    assert isinstance(found, kind)
    return found


class NewerFormatError(InputError):
    """A document of a newer taut: what this one makes of it may be wrong."""


def read_document(kind: type[T], path: Path) -> T:
    """Read a file that holds one document; InputError: not there, no JSON, of another form."""
    found = read_json(path)
    refuse_newer(kind, found, path)
    return parse(kind, found, str(path))


def refuse_newer(kind: type, document: object, path: Path) -> None:
    """NewerFormatError: the format of a document is above the one that this taut writes."""
    ours = default_format(kind)
    written = format_of(document)
    if ours is not None and isinstance(written, int) and written > ours:
        raise NewerFormatError(f"{path}: format {written}, this taut reads {ours}; update taut")


def format_of(document: object) -> object:
    """Give the `format` that a document says it has; None: it says none."""
    return document.get("format") if isinstance(document, Mapping) else None


def read_json(path: Path) -> object:
    """Read JSON that taut wrote; InputError says which file when there is none."""
    try:
        found: object = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: not found; is this a run directory of taut?") from None
    except (ValueError, RecursionError) as error:  # json's own, too many digits, too deep
        raise InputError(f"{path}: not JSON ({error}); the file is damaged") from None
    return found


def read_object(text: str) -> JsonObject | None:
    """Give the object that a program printed; None: it printed something else."""
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


class _Wrong(Exception):
    """A value of another form; every level it passes through adds its key in front."""

    def __init__(self, wanted: str, found: object) -> None:
        super().__init__()
        self.path: list[str] = []
        self.why = f"{wanted} expected, {_KINDS.get(type(found), type(found).__name__)} found"

    def inside(self, name: object) -> "_Wrong":
        self.path.insert(0, str(name))
        return self

    def __str__(self) -> str:
        return f"{'.'.join(self.path)}: {self.why}" if self.path else self.why


_KINDS: Mapping[type, str] = {
    dict: "an object",
    list: "a list",
    str: "text",
    int: "a number",
    float: "a number",
    bool: "a truth value",
    NoneType: "nothing",
}
_Reader: TypeAlias = Callable[[object], object]


_READERS: dict[object, _Reader] = {}


def _reader(hint: object) -> _Reader:
    """Give what reads a value of a type."""
    if hint not in _READERS:
        _READERS[hint] = _new_reader(hint)
    return _READERS[hint]


def _new_reader(hint: object) -> _Reader:
    """Make the reader of a type; the types that a document's fields may have are all here."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is object:
        return lambda value: value
    if origin in (Union, UnionType):
        return _union_reader(arguments)
    if origin is Literal:
        return _one_of(arguments)
    if origin is tuple and (len(arguments) != 2 or arguments[1] is not Ellipsis):
        return _tuple_reader([_reader(argument) for argument in arguments])
    if origin is tuple or origin is Sequence:
        return _list_reader(_reader(arguments[0]))
    if origin is Mapping:
        return _mapping_reader(_reader(arguments[1]))
    assert isinstance(hint, type), f"{hint}: no type of a document's field"
    if issubclass(hint, Enum):
        by_value = {member.value: member for member in hint}
        take = _one_of(tuple(by_value))
        return lambda value: by_value[take(value)]
    return _object_reader(hint) if is_dataclass(hint) else _scalar_reader(hint)


def _scalar_reader(kind: type) -> _Reader:
    wanted = _KINDS[kind]
    allowed = (int, float) if kind is float else (kind,)

    def read(value: object) -> object:
        if type(value) in allowed:
            return value
        raise _Wrong(wanted, value)

    return read


def _one_of(values: Sequence[object]) -> _Reader:
    def read(value: object) -> object:
        if isinstance(value, str) and value in values:
            return value
        raise _Wrong(" or ".join(map(str, values)), value)

    return read


def _union_reader(arguments: Sequence[object]) -> _Reader:
    """Give what takes the first of several types that fits; most are a type or None."""
    readers = [_reader(argument) for argument in arguments if argument is not NoneType]
    may_be_none = NoneType in arguments

    def read(value: object) -> object:
        if value is None and may_be_none:
            return None
        for reader in readers[:-1]:
            try:
                return reader(value)
            except _Wrong:
                continue
        return readers[-1](value)

    return read


def _list_reader(inner: _Reader) -> _Reader:
    def read(value: object) -> object:
        if not isinstance(value, list | tuple):
            raise _Wrong("a list", value)
        return tuple(_inside(i, inner, one) for i, one in enumerate(value))

    return read


def _tuple_reader(inner: Sequence[_Reader]) -> _Reader:
    def read(value: object) -> object:
        if not isinstance(value, list | tuple) or len(value) != len(inner):
            raise _Wrong(f"a list of {len(inner)}", value)
        return tuple(
            _inside(i, reader, one)
            for i, (reader, one) in enumerate(zip(inner, value, strict=True))
        )

    return read


def _mapping_reader(inner: _Reader) -> _Reader:
    def read(value: object) -> object:
        if not isinstance(value, Mapping):
            raise _Wrong("an object", value)
        return {str(name): _inside(name, inner, one) for name, one in value.items()}

    return read


def _object_reader(kind: type) -> _Reader:
    """Read the dataclass `kind`; its fields are looked at when the first one is read."""

    def read(value: object) -> object:
        if isinstance(value, kind):
            return value  # Read before, or made here.
        if not isinstance(value, Mapping):
            raise _Wrong("an object", value)
        return _read_object(kind, value, keys_of(kind))

    return read


def _read_object(kind: type, value: Mapping[str, object], taken: frozenset[str]) -> object:
    """Read a dataclass; mappings take what is not `taken`: the keys of it and of its owner."""
    inline = [
        of for field in fields_of(kind) if field.is_inline for of in fields_of(inline_kind(field))
    ]
    others = [n for n in value if n not in taken and not any(of.takes(n) for of in inline)]
    found: dict[str, object] = {}
    for field in fields_of(kind):
        if field.is_rest:
            mine = [name for name in others if field.takes(name)]
            others = [name for name in others if name not in mine]
            read = _reader(get_args(field.hint)[1])
            found[field.name] = {
                name.removesuffix(field.suffix): _inside(name, read, value[name]) for name in mine
            }
        elif field.is_inline:
            found[field.name] = _read_inline(field, value, taken)
        elif value.get(field.key) is None and field.takes_default:
            continue  # Nothing in it is as good as not there.
        elif field.key in value:
            found[field.name] = _inside(field.key, _reader(field.hint), value[field.key])
        elif field.is_required:
            raise _Wrong("a value", None).inside(field.key)
    made: object = kind(**found)
    return made


def keys_of(kind: type) -> frozenset[str]:
    """Every key that a field of a document, or of one inline in it, has."""
    found: set[str] = set()
    for field in fields_of(kind):
        if field.is_inline:
            found |= keys_of(inline_kind(field))
        elif not field.is_rest:
            found.add(field.key)
    return frozenset(found)


def _read_inline(field: JsonField, owner: Mapping[str, object], taken: frozenset[str]) -> object:
    """Read what stands among its owner's keys.

    Where it may be None it is, if its first required key has no value.
    """
    kind = inline_kind(field)
    if NoneType in get_args(field.hint):
        first = next(inner.key for inner in fields_of(kind) if inner.is_required)
        if owner.get(first) is None:
            return None
    return _read_object(kind, owner, taken)


def _inside(name: object, reader: _Reader, value: object) -> object:
    try:
        return reader(value)
    except _Wrong as wrong:
        raise wrong.inside(name) from None
