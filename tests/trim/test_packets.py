"""Trim by packets: what a device under a load is called."""

from taut.experiment.plan import make_plan
from taut.experiment.spec import parse_spec
from taut.trim.packets import cell_of

SPEC = """
name = "cells"
duration = "1s"
[[device]]
driver = "taut_forward"
name = "eager"
"""


def cells(*loads: str) -> list[str]:
    tables = "".join(f'[[traffic]]\nrates = ["100kpps"]\n{load}\n' for load in loads)
    trials = make_plan(parse_spec(SPEC + tables)).trials
    return sorted({cell_of(trial) for trial in trials if trial.device.name == "eager"})


def test_a_plain_load_is_its_rate():
    assert cells("") == ["eager, 100 kpkt/s"]


def test_loads_of_one_rate_are_told_apart():
    assert cells("", 'name = "many"\nflows = 1000', 'frames = ["imix"]\nname = "both"') == [
        "eager, 100 kpkt/s",
        "eager, 100 kpkt/s, imix, both",
        "eager, 100 kpkt/s, many",
    ]
