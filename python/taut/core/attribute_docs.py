"""Docstrings below the fields of a class: what Python forgets, and schemas tell their readers."""

import ast
import inspect
from collections.abc import Mapping
from itertools import pairwise
from textwrap import dedent


def attribute_docs(kind: type) -> Mapping[str, str]:
    """Give each field's docstring on one line, those of base classes included.

    It reads the source of the class; a field without a docstring has no entry.
    """
    found: dict[str, str] = {}
    for owner in reversed(kind.__mro__):
        if owner.__module__.startswith("taut."):
            found |= _docs_in(inspect.getsource(owner))
    return found


def summary_of(kind: type) -> str:
    """Give the first paragraph of a class's own docstring on one line; empty: it has none."""
    paragraph = inspect.cleandoc(kind.__dict__.get("__doc__") or "").partition("\n\n")[0]
    return " ".join(paragraph.split())


def _docs_in(source: str) -> dict[str, str]:
    (made,) = ast.parse(dedent(source)).body
    assert isinstance(made, ast.ClassDef)
    found = {}
    for field, below in pairwise(made.body):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = " ".join(text.split())
    return found
