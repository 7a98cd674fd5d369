"""What every kind of placement must say of itself; what happens in one, a run shows."""

from pydantic import ValidationError

from taut.testbed.placement import PlacementKind


def conforms(kind: PlacementKind) -> None:
    """Ask all that follows."""
    describes_itself(kind)
    refuses_unknown_options(kind)


def describes_itself(kind: PlacementKind) -> None:
    """It has words, every option says what it means, and its defaults can be asked about."""
    assert kind.summary, f"{kind.name}: it has no summary"
    assert kind.enter_ns >= 0, f"{kind.name}: it is entered before it is asked for"
    assert kind.options_type.__doc__, f"{kind.name}: its options have no docstring"
    for key, field in kind.options_type.model_fields.items():
        assert field.description, f"{kind.name}: its option {key} has no description"
    options = kind.options_type()
    kind.missing(options)
    kind.version(options)


def refuses_unknown_options(kind: PlacementKind) -> None:
    """An unknown option is an error."""
    try:
        kind.options_type.model_validate({"no_such_option": 1})
    except ValidationError:
        return
    raise AssertionError(f"{kind.name}: it takes an option that it has not")
