"""An experiment file: TOML text and overrides in, a frozen Spec or one clear line out."""

import hashlib
import re
import tomllib
from collections.abc import Sequence
from datetime import date, time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import ValidationError

from taut.core.binaries import is_clone
from taut.core.errors import InputError
from taut.core.words import did_you_mean
from taut.experiment.model import Spec
from taut.experiment.positions import find_position
from taut.experiment.words import explain, has_list
from taut.records.documents.trial import BARE
from taut.testbed.links import LINKS

if TYPE_CHECKING:
    Toml: TypeAlias = bool | int | float | str | date | time | list["Toml"] | dict[str, "Toml"]
else:
    Toml = object
"""What TOML can say."""

EXAMPLES_OF_PACKAGE = Path("/usr/share/doc/taut/examples")


def read_spec_text(path: Path) -> str:
    """Read the file's text."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; {_where_examples_are()}") from None
    except IsADirectoryError:
        why = "a folder; name an experiment's file, as `taut init` writes"
    except OSError as error:
        why = f"cannot be read: {error.strerror}; name a file that can"
    except UnicodeDecodeError:
        why = "not text (UTF-8); name an experiment's TOML file"
    raise InputError(f"{path}: {why}")


def _where_examples_are() -> str:
    """Name the folder of examples: the clone's or the Debian package's; a wheel has none."""
    if is_clone():
        return "examples/ has experiments to start from"
    if EXAMPLES_OF_PACKAGE.is_dir():
        return f"{EXAMPLES_OF_PACKAGE} has experiments to start from"
    return "`taut init` writes one"


def parse_spec(
    text: str,
    overrides: Sequence[str] = (),
    source: str = "experiment",
    *,
    has_lines: bool = True,
) -> Spec:
    """Turn text into a Spec; `source`, its file, names it in messages, and files are beside it.

    Without `has_lines` a program wrote the text, and messages do not say where in it.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(_syntax_words(source, text, str(error))) from None
    for override in overrides:
        apply_override(document, override)
    try:
        return Spec.model_validate(document, context=Path(source).parent)
    except ValidationError as error:
        loc = error.errors(include_url=False)[0]["loc"]
        # The refused value may come from an override, so the file has no position for it.
        changed = {re.split("[.=]", override)[0].strip() for override in overrides}
        is_in_text = has_lines and not set(loc[:1]) & changed
        at = find_position(text, loc) if is_in_text else None
        where = source if at is None else f"{source}:{at[0]}:{at[1]}"
        raise InputError(f"{where}: {explain(error, Spec)}") from None


def _syntax_words(source: str, text: str, message: str) -> str:
    """Name file, line and column in front; tomllib's message ends with them, or with the end."""
    words, _, place = message.rpartition(" (at ")
    at = re.fullmatch(r"line (\d+), column (\d+)\)", place)
    line, column = (at[1], at[2]) if at else (len(text.splitlines()), 1)
    hint = "text stands in quotes" if words == "Invalid value" else "`taut init` writes one that is"
    return f"{source}:{line}:{column}: not TOML: {words or message}; {hint}"


def spec_hash(spec: Spec) -> str:
    """Hash the meaning of an experiment, whatever its file's spelling: --resume compares it."""
    # What only `taut search` and `taut rfc` read counts where it is said, and so does a restart:
    # runs that have no word of it resume. What is required changes nothing that is measured, and
    # how long a search may go on and how often it repeats a trial changes none that it has.
    unsaid = {"search", "goal", "rfc", "placement"} - spec.model_fields_set
    left_out: dict[str, Any] = {"search": {"limit_ns", "repeats"}}
    if spec.search.model_fields_set <= left_out["search"]:
        unsaid.add("search")
    left_out |= dict.fromkeys([*unsaid, "require"], True)
    if not any(traffic.restart_ns for traffic in spec.traffic):
        left_out["traffic"] = {"__all__": {"restart_ns"}}
    text = spec.model_dump_json(by_alias=True, exclude=left_out)
    if spec.placement:
        # Whoever says bare is measured nowhere else; who says nothing is, and is dumped alike.
        text += "".join(f"\n{one.name}" for one in spec.device if one.own_place == BARE)
    if _leaves_floor_out(spec):
        # A floor that is left unsaid is dumped as one that is asked for.
        text += "\nno floor over cards"
    return hashlib.sha256(text.encode()).hexdigest()


def _leaves_floor_out(spec: Spec) -> bool:
    """Whether a card goes without the floor that an experiment has unless it says otherwise."""
    is_unsaid = "floor" not in spec.model_fields_set and any(t.floor is None for t in spec.traffic)
    return is_unsaid and any(LINKS[device.link].is_card for device in spec.device)


def apply_override(document: dict[str, Toml], override: str) -> None:
    """Set one value: `duration=2s`, `traffic.0.rates=["10kpps"]`, `device.eager.link=veth`.

    An entry of a list is named by its number or its name. A value that is not TOML is text. Where
    the experiment has a list, `10kpps,5Mbps` is a list, and so is `[10kpps, 5Mbps]`, which a shell
    makes of a list with unprotected quotes.
    """
    path, equals, text = override.partition("=")
    steps = [step.strip() for step in path.split(".")]
    if not equals or not all(steps):
        raise InputError(f"--set {override}: write key=value, like duration=2s")
    at: Toml = document
    keys = []  # without those that say which entry of a list
    for step, following in pairwise(steps):
        keys += [step] if isinstance(at, dict) else []
        at = _enter(at, step, following, override)
    if isinstance(at, list):
        at[_index(at, steps[-1], override)] = _value(text)
    elif isinstance(at, dict):
        is_list = has_list(Spec, [*keys, steps[-1]]) and "[" not in text
        at[steps[-1]] = _value(f"[{text}]" if is_list else text)
    else:
        raise InputError(f"--set {override}: {'.'.join(steps[:-1])} is no table")


def _enter(at: Toml, step: str, following: str, override: str) -> Toml:
    if isinstance(at, list):
        return at[_index(at, step, override)]
    if isinstance(at, dict):
        if step in {"device", "host", "placement", "neighbour", "traffic"} and step not in at:
            raise InputError(f"--set {override}: the experiment has no {step} {following!r}")
        return at.setdefault(step, {})
    raise InputError(f"--set {override}: {step!r} does not stand in a table")


def _index(entries: list[Toml], step: str, override: str) -> int:
    if re.fullmatch("[0-9]{1,9}", step) and int(step) < len(entries):
        return int(step)
    for i, entry in enumerate(entries):
        if isinstance(entry, dict) and step in _names(entry):
            return i
    names = [str(name) for entry in entries if isinstance(entry, dict) for name in _names(entry)]
    raise InputError(f"--set {override}: no entry {step!r}{did_you_mean(step, names)}")


def _names(entry: dict[str, Toml]) -> list[Toml]:
    """An entry without a name is called as the model calls it."""
    if "name" in entry:
        return [entry["name"]]
    return [entry.get("driver", entry.get("kind", entry.get("schedule", "constant")))]


def _value(text: str) -> Toml:
    try:
        document: dict[str, Toml] = tomllib.loads(f"value = {text}")
        return document["value"]
    except tomllib.TOMLDecodeError:
        return _unquoted(text.strip())


def _unquoted(text: str) -> Toml:
    """Read what a shell leaves of `["10kpps", "imix"]`: it takes the quotes away."""
    inner = text[1:-1]
    if text[:1] + text[-1:] != "[]" or set(inner) & set("\"'[]{}"):
        return text
    return [_value(item) for item in inner.split(",") if item.strip()]
