import pytest
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from taut.core.validation import explain


class _Options(BaseModel):
    model_config = ConfigDict(extra="forbid")
    burst: int = 32
    name: str

    @field_validator("name")
    @classmethod
    def _short(cls, value: str) -> str:
        if len(value) > 4:
            raise ValueError("longer than 4 characters")
        return value


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"name": "a", "bursts": 1}, "x.toml: unknown key 'bursts'; check its spelling"),
        ({}, "x.toml: key 'name' is missing; add it"),
        ({"name": "abcde"}, "x.toml: name: longer than 4 characters"),
        (
            {"name": "a", "burst": "many"},
            "x.toml: burst: input should be a valid integer, unable to parse string as an integer"
            " (given 'many')",
        ),
    ],
)
def test_one_line_names_the_key_and_what_is_wrong(given: dict[str, object], line: str) -> None:
    with pytest.raises(ValidationError) as raised:
        _Options.model_validate(given)

    assert str(explain(raised.value, "x.toml")) == line
