"""What the generator is asked for one trial."""

from pathlib import Path

import pytest

from taut.core.asked import Asked
from taut.experiment.cores import Cores
from taut.experiment.generator import asked_of
from taut.experiment.plan import make_plan
from taut.experiment.spec import parse_spec


def asked_for(place: Path, transmit: str = "eager", rate: str = "10kpps") -> Asked:
    plan = make_plan(
        parse_spec(
            'name = "g"\nduration = "1s"\nfloor = false\n[[device]]\ndriver = "taut_forward"\n'
            f'options = {{ transmit = "{transmit}" }}\n[[traffic]]\nrates = ["{rate}"]\n'
        )
    )
    cores = Cores(generator=0, device=1, writer=0, runner=0)
    return asked_of(plan.trials[0], plan, cores, ("memif:a", "memif:b"), place, 7, 64)


@pytest.mark.parametrize(
    ("transmit", "is_asked"), [("buffered:32,none", True), ("buffered", False), ("eager", False)]
)
def test_the_generator_is_told_of_a_device_that_waits_for_more(
    transmit: str, is_asked: bool, tmp_path: Path
):
    assert asked_for(tmp_path, transmit)["device-holds"] == is_asked


def test_numbers_are_handed_over_as_the_report_gives_them_back(tmp_path: Path):
    asked = asked_for(tmp_path, rate="50 Mbit/s")

    assert (asked["rate"], asked["rate-layer"], asked["frame"]) == ("50000000bps", "l2", "64")
    assert (asked["duration"], asked["warm-up"]) == ("1000000000ns", "1000000000ns")
    assert (asked["record-ring"], asked["both"]) == ("64", False)
