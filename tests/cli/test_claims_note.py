"""What a run can claim is said before it starts."""

from pathlib import Path

import pytest

from taut.cli.claims_note import claims_note
from taut.experiment.plan import make_plan
from taut.experiment.spec import parse_spec

ONE = """
name = "one"
duration = "1s"

[[device]]
driver = "taut_forward"
name = "eager"

[[traffic]]
name = "constant"
rates = ["10kpps", "20kpps"]
"""
TWO = ONE + '\n[[device]]\ndriver = "taut_forward"\nname = "other"\n'
STATES = TWO + '\n[[host]]\nname = "as found"\n\n[[host]]\nname = "trimmed"\nonly = ["R24"]\n'
DEMO = Path(__file__).parents[2] / "examples" / "demo.toml"


def note(text, *overrides):
    return claims_note(make_plan(parse_spec(text, list(overrides), source="made.toml")))


@pytest.mark.parametrize(
    ("text", "repetitions", "said"),
    [
        (ONE, 1, "1 repetition: figures without claims; `taut compare` claims nothing of fewer"),
        (TWO, 1, "1 repetition: the verdict will have its figure without any claim"),
        (TWO, 5, "5 repetitions: the verdict will have its figure without any claim; repetitions"),
        (STATES, 6, "6 repetitions: the verdict will have its 8 figures without any claim"),
        (STATES, 9, "9 repetitions claim something only where nearly all of the verdict's 8 "),
    ],
)
def test_too_few_repetitions_are_said_in_one_line(text, repetitions, said):
    found = note(text, f"repetitions={repetitions}")

    assert found.startswith(said)
    assert "\n" not in found


@pytest.mark.parametrize(("text", "repetitions"), [(ONE, 4), (TWO, 6), (STATES, 10)])
def test_enough_are_no_matter(text, repetitions):
    assert note(text, f"repetitions={repetitions}") is None


def test_it_names_the_repetitions_that_would_do_and_the_time_they_take():
    assert "repetitions = 6 would do, about " in note(TWO, "repetitions=2")


def test_the_demo_says_what_it_cannot_claim():
    assert "the verdict will have its 6 figures without any claim" in note(DEMO.read_text())
