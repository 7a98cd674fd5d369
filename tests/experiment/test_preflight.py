"""What an experiment lacks here, also where the code that should say so fails."""

import pytest

from taut.dut.drivers import DRIVERS
from taut.experiment import preflight
from taut.experiment.plan import make_plan
from taut.experiment.spec import parse_spec
from taut.testbed.placements import PLACEMENTS

TEXT = """
name = "t"
duration = "1s"
trace = "off"
[[device]]
driver = "taut_forward"
name = "mine"
[[placement]]
kind = "container"
name = "boxed"
[[traffic]]
rates = ["10kpps"]
"""


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        (type(DRIVERS["taut_forward"]), "device mine"),
        (type(PLACEMENTS["container"]), "placement boxed"),
    ],
)
def test_who_fails_over_what_it_lacks_is_told_by_name(
    monkeypatch: pytest.MonkeyPatch, kind: type, named: str
) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr(kind, "missing", fails)

    reasons = [*preflight.missing(make_plan(parse_spec(TEXT)))]

    failed = "what it lacks cannot be told, its code failed: ZeroDivisionError: by zero"
    assert f"{named}: {failed}" in reasons
