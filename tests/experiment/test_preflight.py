"""What an experiment lacks here, also where the code that should say so fails."""

import pytest

from taut.core.errors import InputError
from taut.dut.drivers import DRIVERS
from taut.experiment import preflight
from taut.experiment.plan import make_plan
from taut.experiment.spec import parse_spec
from taut.records.documents.described import Described, MemberDescribed, OptionDescribed
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


# As taut-generate --describe has them.
DESCRIBED = Described(
    schedules=(
        MemberDescribed(
            "burst",
            (
                OptionDescribed("size", others={"type": "uint", "min": 2, "max": 65536}),
                OptionDescribed("gap", others={"type": "duration"}),
            ),
        ),
        MemberDescribed(
            "step",
            (
                OptionDescribed("after", others={"type": "duration", "min": 1, "max": 2 * 10**9}),
                OptionDescribed("percent", others={"type": "uint", "min": 1, "max": 0}),
                OptionDescribed("new", others={"type": "what is not known here"}),
            ),
        ),
    )
)


def check_options(schedule: str, options: str) -> None:
    text = f"{TEXT}schedule = '{schedule}'\noptions = {{ {options} }}\n"
    preflight.check_schedules(make_plan(parse_spec(text)), DESCRIBED)


@pytest.mark.parametrize(
    ("schedule", "options", "said"),
    [
        ("burst", "size = 1", "size = 1: accepted are 2 to 65536"),
        ("burst", "size = '65537'", "size = '65537': accepted are 2 to 65536"),
        ("burst", "size = 2.5", "size = 2.5: a whole number is wanted"),
        ("burst", "size = -4", "size = -4: a whole number is wanted"),
        ("burst", "size = '4,gap=1us'", "size = '4,gap=1us': a whole number is wanted"),
        ("burst", "gap = 5", "gap = 5: duration '5': not a number with a unit; write 10s"),
        ("step", "after = 0", "after = 0: accepted are 1 ns to 2 s"),
        ("step", "after = '3s'", "after = '3s': accepted are 1 ns to 2 s"),
        ("step", "percent = 0", "percent = 0: accepted are 1 and more"),
    ],
)
def test_a_value_that_the_generator_would_refuse_is_one_line_before_the_run(
    schedule: str, options: str, said: str
) -> None:
    with pytest.raises(InputError) as caught:
        check_options(schedule, options)

    assert str(caught.value).startswith(f"traffic {schedule}: schedule {schedule}: {said}")


@pytest.mark.parametrize(
    ("schedule", "options"),
    [
        ("burst", "size = 2, gap = '1.5 us'"),
        ("burst", "size = '65536', gap = 0"),
        ("step", "after = '2s', percent = 1000, new = 'x'"),
    ],
)
def test_a_value_that_the_generator_takes_is_taken(schedule: str, options: str) -> None:
    check_options(schedule, options)
