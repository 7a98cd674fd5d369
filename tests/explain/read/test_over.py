from fractions import Fraction

import pytest

from grammar import cases
from taut.core.errors import InputError
from taut.explain.read.packets import parse_over


@pytest.mark.parametrize(("text", "meaning"), [*cases("over"), ("p" + "9" * 5_000, None)])
def test_what_is_late_is_read_as_the_collector_reads_it(text: str, meaning: str | None) -> None:
    if meaning is None:
        with pytest.raises(InputError):
            parse_over(text)
    elif meaning.endswith("%"):
        assert parse_over(text) == Fraction(meaning.removesuffix("%")) / 100
    else:
        assert parse_over(text) == int(meaning)
