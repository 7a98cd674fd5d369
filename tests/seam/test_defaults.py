"""What is left out, and what is the most, is the same to an experiment and to the programs.

Python hands its own value over all the same: this holds what the two halves say of themselves.
"""

from collections.abc import Callable
from inspect import signature
from typing import Any

import pytest

from taut.capture.native import MatchOptions
from taut.cli.analyze import analyze
from taut.cli.host.noise import noise
from taut.core.units import parse_duration_ns
from taut.dut.forwarder import TautForwardOptions
from taut.experiment.fields import MAX_TRIAL_NS
from taut.experiment.model import Spec, TrafficSpec
from taut.experiment.room import RING_MIB


def of_model(model: Any, name: str) -> Any:
    return model.model_fields[name].default


def of_command(command: Callable[..., Any], name: str) -> Any:
    return signature(command).parameters[name].default


DEFAULTS = [
    ("taut-generate", "rate-layer", of_model(TrafficSpec, "rate_layer")),
    ("taut-generate", "frame", of_model(TrafficSpec, "frames")[0]),
    ("taut-generate", "schedule", of_model(TrafficSpec, "schedule")),
    ("taut-generate", "flows", of_model(TrafficSpec, "flows")),
    ("taut-generate", "warm-up", of_model(Spec, "warm_up_ns")),
    ("taut-generate", "deadline", of_model(Spec, "deadline_ns")),
    ("taut-generate", "seed", of_model(Spec, "seed")),
    ("taut-generate", "record-ring", RING_MIB),
    ("taut-forward", "transmit", of_model(TautForwardOptions, "transmit")),
    ("taut-forward", "wait", of_model(TautForwardOptions, "wait")),
    ("taut-forward", "burst", of_model(TautForwardOptions, "burst")),
    ("taut-match", "key", MatchOptions().key),
    ("taut-match", "window", MatchOptions().window_ns),
    ("taut-match", "skip", MatchOptions().skip_ns),
    ("taut-match", "key", of_command(analyze, "key")),
    ("taut-match", "window", parse_duration_ns(of_command(analyze, "window"))),
    ("taut-match", "skip", parse_duration_ns(of_command(analyze, "skip"))),
    ("taut-noise", "duration", parse_duration_ns(of_command(noise, "duration"))),
    ("taut-noise", "threshold", parse_duration_ns(of_command(noise, "threshold"))),
    ("taut-noise", "priority", of_command(noise, "priority")),
]
LIMITS = [
    ("taut-generate", "flows", TrafficSpec.model_fields["flows"].metadata[1].le),
    ("taut-generate", "duration", MAX_TRIAL_NS),
    ("taut-generate", "warm-up", MAX_TRIAL_NS),
    ("taut-generate", "deadline", MAX_TRIAL_NS),
    ("taut-forward", "burst", TautForwardOptions.model_fields["burst"].metadata[1].le),
    ("taut-forward", "hold", TautForwardOptions.model_fields["hold"].metadata[1].le),
]


def option(answer: Callable[..., Any], program: str, name: str) -> dict[str, Any]:
    (found,) = (o for o in answer(program, "--describe")["options"] if o["name"] == name)
    return found


@pytest.mark.parametrize(("program", "name", "value"), DEFAULTS)
def test_what_is_left_out(answer: Callable[..., Any], program: str, name: str, value: Any) -> None:
    described = option(answer, program, name)
    is_duration = described["type"] == "duration"

    default = described["default"]
    assert (parse_duration_ns(default) if is_duration else default) == (
        value if is_duration else str(value)
    )


@pytest.mark.parametrize(("program", "name", "value"), LIMITS)
def test_what_is_the_most(answer: Callable[..., Any], program: str, name: str, value: int) -> None:
    assert option(answer, program, name)["max"] == value
