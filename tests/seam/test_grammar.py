"""What an experiment may say of a device is what taut-forward takes."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from grammar import cases
from taut.core.units import parse_duration_ns
from taut.dut.drivers.taut_forward import TautForwardOptions, refused
from taut.dut.transmit import AS_L2FWD
from taut.records.documents.described import Described
from taut.records.documents.json_form import parse
from taut.records.documents.trial import Holds


@pytest.fixture(scope="module")
def described(answer: Callable[..., Any]) -> Described:
    return parse(Described, answer("taut-forward", "--describe"), "taut-forward")


@pytest.mark.parametrize(("text", "meaning"), cases("transmit"))
def test_a_policy_is_refused_before_the_run_or_taken(
    text: str, meaning: str | None, described: Described
) -> None:
    try:
        is_taken = refused(TautForwardOptions(transmit=text), described) is None
    except ValidationError:
        is_taken = False

    assert is_taken == (meaning is not None)


def test_the_defaults_of_a_buffer_are_the_program_s(described: Described) -> None:
    (buffered,) = (policy for policy in described.transmit if policy.name == "buffered")
    defaults = {option.name: str(option.others["default"]) for option in buffered.options}

    assert Holds(int(defaults["packets"]), parse_duration_ns(defaults["drain"])) == AS_L2FWD
