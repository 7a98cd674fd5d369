"""The command line of the generator, as one trial needs it."""

from pathlib import Path

import pytest

from taut.experiment.cores import Cores
from taut.experiment.generator import command_line
from taut.experiment.plan import make_plan
from taut.experiment.spec import parse_spec


def argv_of(transmit: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    program = place / "taut-generate"
    program.write_text("")
    program.chmod(0o755)
    monkeypatch.setenv("TAUT_BIN_DIR", str(place))
    plan = make_plan(
        parse_spec(
            'name = "g"\nduration = "1s"\nfloor = false\n[[device]]\ndriver = "taut_forward"\n'
            f'options = {{ transmit = "{transmit}" }}\n[[traffic]]\nrates = ["10kpps"]\n'
        )
    )
    cores = Cores(generator=0, device=1, writer=0, runner=0)
    return command_line(plan.trials[0], plan, cores, ("memif:a", "memif:b"), place, 7, 64)


@pytest.mark.parametrize(
    ("transmit", "is_asked"), [("buffered:32,none", True), ("buffered", False), ("eager", False)]
)
def test_the_generator_is_told_of_a_device_that_waits_for_more(
    transmit: str, is_asked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert ("--device-holds" in argv_of(transmit, tmp_path, monkeypatch)) == is_asked
