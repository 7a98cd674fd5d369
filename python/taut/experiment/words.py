"""One clear line for a value that pydantic refuses: where, what, and the word that was meant."""

from collections.abc import Iterable, Sequence
from typing import get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from taut.core.words import did_you_mean


def explain(error: ValidationError, model: type[BaseModel] | None = None) -> str:
    """Turn the first error into one line; others show up once it is mended."""
    first = error.errors(include_url=False)[0]
    where = _place(first["loc"])
    reason = _reason(first, model)
    return f"{where}: {reason}" if where else reason


def keys_at(model: type[BaseModel], path: Iterable[int | str]) -> list[str]:
    """Give the keys a table may have, as the file spells them; empty where any key may stand."""
    at: type[BaseModel] | None = model
    for step in path:
        if isinstance(step, int):
            continue
        at = _model_of(at, step)
        if at is None:
            return []
    return [field.alias or name for name, field in at.model_fields.items()] if at else []


def _table_of(model: type[BaseModel], key: str) -> str | None:
    """Name the table of the file in which a key stands; None: it stands in none."""
    for name, field in model.model_fields.items():
        if key in keys_at(model, [name]):
            return f"[[{name}]]" if get_origin(field.annotation) is tuple else f"[{name}]"
    return None


def has_list(model: type[BaseModel], path: Sequence[str]) -> bool:
    """Whether `path`, the keys of nested tables, ends at a list of plain values."""
    for key in path[:-1]:
        inner = _model_of(model, key)
        if inner is None:
            return False
        model = inner
    field = model.model_fields.get(path[-1])
    return field is not None and _is_plain_list(field.annotation)


def _is_plain_list(annotation: object) -> bool:
    if get_origin(annotation) is tuple:
        item = get_args(annotation)[0]
        return not (isinstance(item, type) and issubclass(item, BaseModel))
    return any(_is_plain_list(part) for part in get_args(annotation))


def _model_of(model: type[BaseModel] | None, key: str) -> type[BaseModel] | None:
    if model is None:
        return None
    field = next((f for n, f in model.model_fields.items() if key in (n, f.alias)), None)
    if field is None:
        return None
    candidates: list[object] = [field.annotation, *getattr(field.annotation, "__args__", ())]
    return next((c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)), None)


def _place(loc: tuple[int | str, ...]) -> str:
    text = ""
    for step in loc:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.isidentifier():
            text += f".{step}" if text else step
    return text


def _reason(error: ErrorDetails, model: type[BaseModel] | None) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "extra_forbidden":
        *path, key = error["loc"]
        table = _table_of(model, str(key)) if model and not path else None
        if table is not None:
            return f"unknown key here; it belongs in {table}"
        known = keys_at(model, path) if model else []
        return f"unknown key{did_you_mean(str(key), known) if known else ''}"
    if kind == "missing":
        return "missing; it has no default, so write it"
    if kind == "value_error":
        return str(context["error"])
    if kind == "tuple_type":
        return f"{error['input']!r}: a list is wanted, in brackets: [...]"
    if kind == "too_short":
        return f"at least {context['min_length']} wanted, got {context['actual_length']}"
    if kind == "string_pattern_mismatch":
        return (
            f"{error['input']!r} is no name here; small letters, digits, _ and . (an experiment's "
            "also -, a host's also - and blanks)"
        )
    message = error["msg"]
    return f"{error['input']!r}: {message[0].lower()}{message[1:]}"
