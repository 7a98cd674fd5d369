"""Documents to JSON and back: what is renamed, inline, left out, of before or of a newer taut."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import pytest

from taut.core.errors import InputError
from taut.records.documents.json_field import INLINE, LEFT_OUT, key, rest
from taut.records.documents.json_form import parse, plain_object, read_json, read_object


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Inner:
    begin: int = field(metadata=key("from"))
    shares: Mapping[str, float] = field(default_factory=dict, metadata=rest(suffix="_share"))


@dataclass(frozen=True)
class Outer:
    name: str
    inner: Inner | None = field(default=None, metadata=INLINE)
    seldom: int | None = field(default=None, metadata=LEFT_OUT)
    pairs: tuple[tuple[int, float | None], ...] = ()
    colour: Colour = Colour.RED
    others: Mapping[str, object] = field(default_factory=dict, metadata=rest())


WHOLE = Outer("a", Inner(3, {"timer": 0.5}), None, ((1, 2.5), (2, None)), Colour.RED, {"new": [1]})
JSON = {
    "name": "a",
    "from": 3,
    "timer_share": 0.5,
    "pairs": [[1, 2.5], [2, None]],
    "colour": "red",
    "new": [1],
}


def test_a_document_comes_back_as_it_was() -> None:
    assert plain_object(WHOLE) == JSON
    assert parse(Outer, JSON, "file") == WHOLE


def test_what_is_not_there_is_the_default_and_what_is_inline_may_be_missing() -> None:
    assert parse(Outer, {"name": "a"}, "file") == Outer("a")
    assert plain_object(Outer("a")) == {"name": "a", "from": None, "pairs": [], "colour": "red"}


def test_a_whole_number_stays_one_where_a_fraction_may_stand() -> None:
    read = parse(Outer, {"name": "a", "pairs": [[1, 2]]}, "file")

    assert repr(plain_object(read)["pairs"]) == "[[1, 2]]"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": None}, "file: name: text expected, nothing found"),
        ({"pairs": [[1, 2.5], ["x", 1]]}, "file: pairs.1.0: a number expected, text found"),
        ({"pairs": [[1]]}, "file: pairs.0: a list of 2 expected, a list found"),
        ({"from": True}, "file: from: a number expected, a truth value found"),
        ({"colour": "blue"}, "file: colour: red expected, text found"),
        ({"timer_share": {}}, "file: timer_share: a number expected, an object found"),
    ],
)
def test_a_value_of_another_type_is_told_by_its_path(change: dict[str, object], said: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(Outer, JSON | change, "file")

    assert str(caught.value).startswith(f"{said}; ")


@pytest.mark.parametrize("document", [[], "text", None, 7])
def test_what_is_no_object_is_no_document(document: object) -> None:
    with pytest.raises(InputError, match=r"^file: an object expected"):
        parse(Outer, document, "file")


def test_a_missing_key_is_named() -> None:
    with pytest.raises(InputError, match=r"^file: name: a value expected, nothing found"):
        parse(Outer, {}, "file")


@pytest.mark.parametrize("text", ["{", "[" * 100_000, "9" * 5_000], ids=["cut", "deep", "digits"])
def test_what_is_no_json_of_ours_is_damaged(text: str, tmp_path: Path) -> None:
    path = tmp_path / "unlike any"
    path.write_text(text)

    with pytest.raises(InputError, match=r"unlike any: not JSON .*; the file is damaged"):
        read_json(path)
    assert read_object(text) is None
