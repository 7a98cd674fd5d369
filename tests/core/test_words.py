"""The word that was meant."""

import pytest

from taut.core.words import did_you_mean, nearest


@pytest.mark.parametrize(
    ("word", "near"), [("bufered", "buffered"), ("eager", "eager"), ("xyz", None), ("", None)]
)
def test_the_nearest_word_is_one_that_is_like_it(word: str, near: str | None):
    assert nearest(word, {"buffered", "eager", "single"}) == near


def test_where_none_is_like_it_all_are_named():
    assert did_you_mean("bufered", ["eager", "buffered"]) == "; did you mean 'buffered'?"
    assert did_you_mean("xyz", ["eager", "buffered"]) == "; known are buffered, eager"
