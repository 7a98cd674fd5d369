"""What Python hands to taut's programs, or lets people hand to them, they take."""

import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from grammar import cases
from taut.core.binaries import find_binary_or_none
from taut.core.units import parse_duration_ns
from taut.dut.forwarder import TautForwardOptions, refused
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


@pytest.mark.parametrize(("text", "meaning"), cases("wait"))
def test_a_way_to_wait_is_refused_before_the_run_or_taken(text: str, meaning: str | None) -> None:
    program = find_binary_or_none("taut-forward")
    if program is None:
        pytest.skip("taut-forward is not built; run `make build`")

    argv = [program, "--port", "virtio:x", "--check", "--wait", text]
    done = subprocess.run(argv, capture_output=True, text=True)

    assert done.returncode == (0 if meaning is not None else 2), done.stderr


def test_the_defaults_of_a_buffer_are_the_program_s(described: Described) -> None:
    (buffered,) = (policy for policy in described.transmit if policy.name == "buffered")
    defaults = {option.name: str(option.others["default"]) for option in buffered.options}

    assert Holds(int(defaults["packets"]), parse_duration_ns(defaults["drain"])) == AS_L2FWD


@pytest.mark.parametrize(
    ("program", "option"), [("taut-match", "--egress-offset"), ("taut-count", "--late-above")]
)
@pytest.mark.parametrize("text", ["9223372036854775808ns", "-99999999999999999999ns", "100"])
def test_what_64_bits_do_not_hold_is_refused_in_one_line(
    program: str, option: str, text: str
) -> None:
    path = find_binary_or_none(program)
    if path is None:
        pytest.skip(f"{program} is not built; run `make build`")

    done = subprocess.run([path, option, text], capture_output=True, text=True)

    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        f"{program}: {option} {text}: a duration with its unit is needed, as 100us, -1.5ms, 50ns"
    ]
