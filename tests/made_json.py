"""JSON at random for the type of a document: as the reader wants it, or with something wrong."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from enum import Enum
from random import Random
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from taut.core.errors import InputError
from taut.records.documents.json_field import fields_of, inline_kind
from taut.records.documents.json_form import parse

# No 5.0: it is a whole number to JSON Schema, and none to the reader. Each use has a copy: what was
# spoilt would be found spoilt by the next, or within itself.
ODD: tuple[Any, ...] = (None, True, 3, 2.5, "odd", [], {}, [None], {"n": 1}, "PASS", "mean")
_SCALARS: Mapping[object, tuple[Any, ...]] = {
    NoneType: (None,),
    bool: (False, True),
    int: (0, -1, 2**63),
    float: (0.5, 7, -1e300),
    str: ("", "p50", "é"),
    object: ODD,
}
UNKNOWN = ("newer", "p50", "p99_ns", "x_without_void_ns", "jitter_ns", "x_cold")


def made_json(hint: Any, random: Random) -> Any:
    """Give a value for the type; keys are there, null, or left out, or nobody's.

    The reader takes it, unless a mapping of numbers meets a key that is nobody's.
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in _SCALARS:
        return deepcopy(random.choice(_SCALARS[hint]))
    if origin in (Union, UnionType):
        return made_json(random.choice(arguments), random)
    if origin is Literal:
        return random.choice(arguments)
    if origin is tuple and arguments[-1] is not Ellipsis:
        return [made_json(argument, random) for argument in arguments]
    if origin in (tuple, Sequence):
        return [made_json(arguments[0], random) for _ in range(random.randrange(3))]
    if origin is Mapping:
        names = random.sample(("0", "generator", "p50"), random.randrange(3))
        return {name: made_json(arguments[1], random) for name in names}
    if issubclass(hint, Enum):
        return random.choice([member.value for member in hint])
    return _object(hint, random)


def _object(kind: type, random: Random) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in fields_of(kind):
        if field.is_inline:
            if NoneType not in get_args(field.hint) or random.random() < 0.6:
                found |= _object(inline_kind(field), random)
        elif field.is_rest:
            value = get_args(field.hint)[1]
            names = random.sample(("7", "x"), random.randrange(3))
            found |= {
                f"{field.prefix}{name}{field.suffix}": made_json(value, random) for name in names
            }
        elif field.is_required or random.random() < 0.6:
            found[field.key] = made_json(field.hint, random)
        elif field.takes_default and random.random() < 0.5:
            found[field.key] = None
    if random.random() < 0.2:
        found[random.choice(UNKNOWN)] = deepcopy(random.choice(ODD))
    return found


def spoil(document: Any, random: Random) -> Any:
    """Change one thing at any depth: another value, or a key or an item less."""
    if not isinstance(document, dict | list) or not document or random.random() < 0.1:
        return deepcopy(random.choice(ODD))
    at = random.choice(list(document) if isinstance(document, dict) else range(len(document)))
    if random.random() < 0.2:
        del document[at]
    else:
        document[at] = spoil(document[at], random)
    return document


def is_read(hint: Any, document: Any) -> bool:
    """Whether the reader takes a document: of a dataclass, of one of several, or a list of them."""
    if get_origin(hint) in (Union, UnionType):
        return any(is_read(kind, document) for kind in get_args(hint))
    if get_origin(hint) is tuple:
        inner = get_args(hint)[0]
        return isinstance(document, list) and all(is_read(inner, item) for item in document)
    try:
        parse(hint, document, "")
    except InputError:
        return False
    return True
