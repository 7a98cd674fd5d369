"""Schemas of documents accept what the reader accepts, and refuse what it refuses."""

import inspect
import pkgutil
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from documents_by_schema import BY_NAME, documents_in, validator_of
from made_json import is_read, made_json, spoil
from taut.records import documents
from taut.records.documents.catalogue import CATALOGUE
from taut.records.documents.json_field import fields_of

DATA = Path(__file__).parents[1] / "data"

# Dataclasses that are no part of a document that somebody else would read.
NOT_WRITTEN = {
    "JsonField": "how a field stands in JSON",
    "Catalogued": "a row of the catalogue",
    "Verdict": "what `taut runs` reads of summary.json",
    "Capture": "match.json inside trial.json",
    "NoisePrinted": "what taut-noise prints, from which taut makes noise",
    "CorePolled": "the same",
    "GapsOver": "the same",
    "GapsOfCore": "the same",
    "WorstGap": "the same",
    "InjectDescribed": "what taut-inject --describe prints",
    "CauseDescribed": "the same",
    "_Tables": "what published.json is read through",
}


def parts_of(hint: Any) -> set[type]:
    """Every dataclass in a document, at any depth."""
    if get_args(hint):
        return set().union(*map(parts_of, get_args(hint)))
    if not is_dataclass(hint):
        return set()
    assert isinstance(hint, type)
    return {hint}.union(*(parts_of(field.hint) for field in fields_of(hint)))


def test_every_document_is_in_the_catalogue() -> None:
    modules = [
        import_module(f"{documents.__name__}.{module.name}")
        for module in pkgutil.iter_modules(documents.__path__)
    ]
    written = {
        name
        for module in modules
        for name, kind in inspect.getmembers(module, inspect.isclass)
        if is_dataclass(kind) and kind.__module__ == module.__name__
    }
    parts = set().union(*(parts_of(of.kind) for of in CATALOGUE))
    described = {of.__name__ for part in parts for of in part.__mro__}

    assert written - described - set(NOT_WRITTEN) == set()
    assert set(NOT_WRITTEN) <= written


@pytest.mark.parametrize("name", ["trial", "journal", "captures", "published"])
def test_it_is_a_schema_that_names_document_and_version(name: str) -> None:
    schema = BY_NAME[name].schema()

    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:taut:schema:{name}:{BY_NAME[name].format}"
    assert schema["$schema"] == Draft202012Validator.META_SCHEMA["$id"]


@pytest.mark.parametrize("name", BY_NAME)
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32))
def test_it_accepts_what_the_reader_accepts_and_nothing_else(name: str, seed: int) -> None:
    random = Random(seed)
    kind = BY_NAME[name].kind
    document = made_json(kind, random)

    assert validator_of(name).is_valid(document) == is_read(kind, document), document

    spoilt = spoil(document, random)

    assert validator_of(name).is_valid(spoilt) == is_read(kind, spoilt), spoilt


def test_documents_of_older_versions_are_accepted() -> None:
    found = list(documents_in(DATA))

    assert {kind for _, kind, _ in found} == {"results", "summary"}
    for path, kind, document in found:
        assert validator_of(kind).is_valid(document), path


def test_a_field_says_what_it_means_and_in_which_unit() -> None:
    trial = BY_NAME["trial"].schema()["$defs"]
    properties = trial["GapCounters"]["properties"]

    assert properties["total_ns"]["description"] == "In nanoseconds."
    assert properties["longest_granted_ns"]["description"] == (
        "The longest stall that may have passed as work of the ports. In nanoseconds."
    )
    assert trial["Holds"]["description"].startswith("What a transmit policy holds back")
