"""An experiment file: TOML text and overrides in, a frozen Spec or one clear line out."""

import hashlib
import tomllib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from taut.core.errors import InputError
from taut.experiment.model import Spec
from taut.experiment.words import explain

__all__ = ["Spec", "load_spec", "parse_spec", "spec_hash"]


def load_spec(path: Path, overrides: Sequence[str] = ()) -> Spec:
    """Read an experiment file; `overrides` are key=value, as `taut run --set` takes them."""
    return parse_spec(read_spec_text(path), overrides, source=str(path))


def read_spec_text(path: Path) -> str:
    """Read the file's text."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; examples/ has experiments to start from") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None


def parse_spec(text: str, overrides: Sequence[str] = (), source: str = "experiment") -> Spec:
    """Turn text into a Spec; `source` names it in messages."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # The message ends with "(at line 3, column 7)".
        raise InputError(f"{source}: not TOML: {error}") from None
    for override in overrides:
        apply_override(document, override)
    try:
        return Spec.model_validate(document)
    except ValidationError as error:
        raise InputError(f"{source}: {explain(error, Spec)}") from None


def spec_hash(spec: Spec) -> str:
    """Hash what the experiment is, not how its file is written: --resume compares it."""
    return hashlib.sha256(spec.model_dump_json(by_alias=True).encode()).hexdigest()


def apply_override(document: dict[str, Any], override: str) -> None:
    """Set one value: `duration=2s`, `traffic.0.rates=["10kpps"]`, `device.eager.link=veth`.

    An entry of a list is named by its number or its name. What is no TOML value is text.
    """
    path, equals, text = override.partition("=")
    steps = [step.strip() for step in path.split(".")]
    if not equals or not all(steps):
        raise InputError(f"--set {override}: write key=value, like duration=2s")
    at: Any = document
    for step, following in pairwise(steps):
        at = _enter(at, step, following, override)
    if isinstance(at, list):
        at[_index(at, steps[-1], override)] = _value(text)
    elif isinstance(at, dict):
        at[steps[-1]] = _value(text)
    else:
        raise InputError(f"--set {override}: {'.'.join(steps[:-1])} is no table")


def _enter(at: Any, step: str, following: str, override: str) -> Any:
    if isinstance(at, list):
        return at[_index(at, step, override)]
    if isinstance(at, dict):
        if step in {"device", "traffic"} and step not in at:
            raise InputError(f"--set {override}: the experiment has no {step} {following!r}")
        return at.setdefault(step, {})
    raise InputError(f"--set {override}: {step!r} does not stand in a table")


def _index(entries: list[Any], step: str, override: str) -> int:
    if step.isdigit() and int(step) < len(entries):
        return int(step)
    for i, entry in enumerate(entries):
        if isinstance(entry, dict) and step in _names(entry):
            return i
    raise InputError(f"--set {override}: no entry {step!r}; there are {len(entries)}, from 0")


def _names(entry: dict[str, Any]) -> list[object]:
    """An entry without a name is called as the model calls it."""
    if "name" in entry:
        return [entry["name"]]
    return [entry.get("driver", entry.get("schedule", "constant"))]


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()
