"""One clear line for what a model refuses: where, what, and the word that was meant."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """End a message with the nearest known word, or with all of them."""
    names = sorted(known)
    near = get_close_matches(word, names, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(names)}"


def explain(error: ValidationError, model: type[BaseModel] | None = None) -> str:
    """Turn the first refusal into one line; the rest show when it is mended."""
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


def _model_of(model: type[BaseModel] | None, key: str) -> type[BaseModel] | None:
    if model is None:
        return None
    field = next((f for n, f in model.model_fields.items() if key in (n, f.alias)), None)
    if field is None:
        return None
    candidates: list[Any] = [field.annotation, *getattr(field.annotation, "__args__", ())]
    return next((c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)), None)


def _place(loc: tuple[int | str, ...]) -> str:
    text = ""
    for step in loc:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.isidentifier():
            text += f".{step}" if text else step
    return text


def _reason(error: Any, model: type[BaseModel] | None) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "extra_forbidden":
        known = keys_at(model, error["loc"][:-1]) if model else []
        return f"unknown key{did_you_mean(str(error['loc'][-1]), known) if known else ''}"
    if kind == "missing":
        return "missing; it has no default"
    if kind == "value_error":
        return str(context["error"])
    if kind == "string_pattern_mismatch":
        return f"{error['input']!r} is no name here; small letters, digits, _ and . (name: also -)"
    message = str(error["msg"])
    return f"{error['input']!r}: {message[0].lower()}{message[1:]}"
