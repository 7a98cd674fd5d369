import pytest

from taut.core.asked import check_understood, to_arguments
from taut.core.errors import MissingToolError

ASKED = {"rate": "1000pps", "both": True, "quiet": False, "port": ("a", "b"), "nf": ()}
UNDERSTOOD = {"rate": "1000pps", "both": True, "quiet": False, "port": ["a", "b"], "nf": []}


def test_options_are_written_by_what_they_are() -> None:
    assert to_arguments(ASKED) == ["--rate", "1000pps", "--both", "--port", "a", "--port", "b"]


def test_a_report_may_say_more_than_was_asked() -> None:
    check_understood("taut-x", ASKED, {**UNDERSTOOD, "hold": "8192"})


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"rate": "1pps"}, "asked for rate 1000pps, understood 1pps;"),
        ({"both": False}, "asked for both True, understood False;"),
        ({"port": ["a"]}, r"asked for port \('a', 'b'\), understood \['a'\];"),
        ({"nf": None}, r"asked for nf \(\), understood None;"),
    ],
)
def test_a_difference_is_named_with_its_remedy(said: dict[str, object], words: str) -> None:
    with pytest.raises(MissingToolError, match=f"^taut-x: {words} .* run `make build`$"):
        check_understood("taut-x", ASKED, UNDERSTOOD | said)


@pytest.mark.parametrize("report", [None, {}, "understood"])
def test_a_program_that_says_nothing_of_it_is_an_older_one(report: object) -> None:
    with pytest.raises(MissingToolError, match="asked for rate 1000pps, understood None"):
        check_understood("taut-x", ASKED, report)
