"""What the generator is asked for one trial."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from taut.core.asked import Asked
from taut.core.errors import MissingToolError
from taut.experiment.cores import Cores
from taut.experiment.generator import asked_of, read_result
from taut.experiment.plan import Bounded, make_plan
from taut.experiment.spec import parse_spec
from taut.testbed.process import child
from taut.testbed.scope import RunScope


def asked_for(
    place: Path,
    transmit: str = "eager",
    rate: str = "10kpps",
    trace: str = "auto",
    bounded: Bounded | None = None,
) -> Asked:
    plan = make_plan(
        parse_spec(
            f'name = "g"\nduration = "1s"\nfloor = false\ntrace = "{trace}"\n'
            '[[device]]\ndriver = "taut_forward"\n'
            f'options = {{ transmit = "{transmit}" }}\n[[traffic]]\nrates = ["{rate}"]\n'
        )
    )
    cores = Cores(generator=0, device=1, writer=0, runner=0)
    trial = replace(plan.trials[0], bounded=bounded)
    return asked_of(trial, plan, cores, ("memif:a", "memif:b"), place, 7, 64)


@pytest.mark.parametrize(
    ("transmit", "is_asked"), [("buffered:32,none", True), ("buffered", False), ("eager", False)]
)
def test_the_generator_is_told_of_a_device_that_waits_for_more(
    transmit: str, is_asked: bool, tmp_path: Path
):
    assert asked_for(tmp_path, transmit)["device-holds"] == is_asked


def test_the_generator_watches_the_device_where_there_is_one(tmp_path: Path):
    asked = asked_for(tmp_path)

    assert (asked["device-core"], asked["device-pid"]) == ("1", "0")


def test_records_come_soon_for_a_trace_that_follows_them_alone(tmp_path: Path):
    assert asked_for(tmp_path, trace="tail")["record-within"] == "2000000000ns"
    assert "record-within" not in asked_for(tmp_path, trace="continuous")


def test_of_a_bounded_trial_no_more_is_recorded_than_fits(tmp_path: Path):
    bounded = asked_for(tmp_path, bounded=Bounded(one_in=5000, most=300, gaps=7))
    whole = asked_for(tmp_path)

    asked = {"record-one-in": "5000", "record-void": "slow", "record-most": "300"}
    assert bounded == whole | asked
    assert not whole.keys() & asked.keys()


def test_numbers_are_handed_over_as_the_report_gives_them_back(tmp_path: Path):
    asked = asked_for(tmp_path, rate="50 Mbit/s")

    assert (asked["rate"], asked["rate-layer"], asked["frame"]) == ("50000000bps", "l2", "64")
    assert (asked["duration"], asked["warm-up"]) == ("1000000000ns", "1000000000ns")
    assert (asked["record-ring"], asked["both"]) == ("64", False)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"rate_pps": 9999.0}, r"asked for rate_pps 10000\.0, understood 9999\.0"),
        ({"rate_pps": None}, "understood None"),
        ({"understood": {"rate": "1pps"}}, "asked for rate 10000pps, understood 1pps"),
    ],
)
def test_a_generator_that_did_another_thing_ends_the_run(
    tmp_path: Path, said: dict[str, object], words: str
):
    asked: Asked = {"rate": "10000pps"}
    report = {"understood": asked, "rate_pps": 10_000.0}

    with (
        RunScope(tmp_path / "base") as scope,
        child("taut-generate", ["true"], scope=scope, log=tmp_path / "log") as process,
    ):
        process.wait()
        (tmp_path / "generator.json").write_text(json.dumps(report))
        assert read_result(process, tmp_path, asked, 10_000.0).rate_pps == 10_000.0
        (tmp_path / "generator.json").write_text(json.dumps(report | said))
        with pytest.raises(MissingToolError, match=words):
            read_result(process, tmp_path, asked, 10_000.0)
