"""A device that is replaced by a new start of itself, without a device."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
import pytest

from made_run import EPOCH_TSC, TSC_HZ, make_raw_trial, write_raw
from taut.core.errors import InputError
from taut.experiment.model import DeviceSpec
from taut.experiment.placed import PlacementSpec
from taut.experiment.plan import make_plan
from taut.experiment.restart import BEFORE, Restartable, logged_from_ns, refuse_late, why_not
from taut.experiment.soak import plan_soak
from taut.experiment.spec import parse_spec
from taut.records.convert import GapLog
from taut.records.layout import CLOCK_POINT, GAP, RecordKind


class Made:
    """A device that writes one log."""

    def __init__(self, log: Path) -> None:
        self.logs = [log]


def made(folder: Path, happened: list[str], dies: bool = False):
    @contextmanager
    def start() -> Iterator[Made]:
        if dies and happened:
            raise RuntimeError("does not start again")
        log = folder / "device.log"
        log.write_text(f"start {len(happened)}")
        happened.append("started")
        try:
            yield Made(log)
        finally:
            happened.append("stopped")

    return start


def test_it_is_stopped_before_it_is_started_and_its_log_is_kept(tmp_path):
    happened: list[str] = []
    device = Restartable(made(tmp_path, happened))

    with device as first:
        second = device.restart_after(1_000, lambda: True, 0)
        assert first is not second
        assert happened == ["started", "stopped", "started"]

    assert happened == ["started", "stopped", "started", "stopped"]
    assert (tmp_path / f"{BEFORE}device.log").read_text() == "start 0"
    assert (tmp_path / "device.log").read_text() == "start 2"


def test_one_that_does_not_start_again_is_stopped_once(tmp_path):
    happened: list[str] = []
    device = Restartable(made(tmp_path, happened, dies=True))

    with pytest.raises(RuntimeError, match="does not start again"), device:
        device.restart_after(1_000, lambda: True, 0)

    assert happened == ["started", "stopped"]


def test_it_is_not_waited_for_when_nothing_is_measured_any_more(tmp_path):
    device = Restartable(made(tmp_path, []))

    with device:
        device.restart_after(10**15, lambda: False, 0)


@pytest.mark.parametrize(
    ("device", "places", "said"),
    [
        ({"driver": "linux_bridge"}, [], None),
        ({"driver": "linux_bridge"}, ["bare"], None),
        ({"driver": "taut_forward"}, [], "over memif"),
        ({"driver": "taut_forward", "link": "veth"}, [], None),
        ({"driver": "taut_forward", "link": "veth"}, ["container"], "leave its placement out"),
        (
            {"driver": "taut_forward", "link": "veth", "placement": "container"},
            [],
            "leave its placement out",
        ),
        ({"driver": "taut_forward", "link": "veth", "placement": "bare"}, ["container"], None),
    ],
)
def test_where_it_cannot_be_it_is_said(device, places, said):
    why = why_not(DeviceSpec(**device), [PlacementSpec(name=name) for name in places])

    assert why is None if said is None else said in why


SPEC = """
name = "restarted"
warm_up = "1s"
duration = "10s"
[[device]]
driver = "linux_bridge"
[[traffic]]
rates = ["1kpps", "10kpps"]
"""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ('restart = "2s"', ""),
        ('restart = "10999ms"', ""),
        ('restart = "20s"', "20 s is not while packets are measured, until 11 s;"),
        ('restart = "11s"', "11 s is not while packets are measured, until 11 s;"),
        ('restart = "1999ms"', "it may be warming up; restart 2 s after it, or later"),
        ('restart = "999ms"\nwarm_up = "0s"', "it may be warming up; restart 1 s after it"),
        ('restart = "1s"\nwarm_up = "0s"', ""),
        ('restart = "20s"\nduration = "30s"', ""),
        ('restart = "2s"\ncount = 10_001', ""),
        ('restart = "5s"\ncount = 10_000', "5 s is not while packets are measured, until 2 s;"),
    ],
)
def test_a_restart_while_nothing_is_measured_is_refused(words, said):
    with nullcontext() if not said else pytest.raises(InputError, match=re.escape(said)):
        refuse_late(make_plan(parse_spec(SPEC + words)).trials)


def test_a_restart_of_a_device_with_a_place_of_its_own_is_refused():
    device = 'driver = "taut_forward"\nlink = "veth"\nplacement = "container"'
    spec = SPEC.replace('driver = "linux_bridge"', device) + 'restart = "2s"'

    with pytest.raises(InputError, match="a device that has a placement is not restarted"):
        parse_spec(spec)


def test_a_soak_is_as_long_as_it_is_told():
    plan = make_plan(parse_spec(SPEC.replace(', "10kpps"', "") + 'restart = "1h"'))

    soak = plan_soak(plan, 2 * 3_600_000_000_000)

    refuse_late(soak.segment(soak.device, 0, soak.planned_ns).trials)
    with pytest.raises(InputError, match="is not while packets are measured, until 61 s;"):
        refuse_late(soak.segment(soak.device, 0, 60_000_000_000).trials)


@pytest.mark.parametrize(("words", "from_ns"), [('restart = "2s"', 2_000_000_000), ("", None)])
def test_only_of_one_that_was_restarted_the_log_begins_later(tmp_path, words, from_ns):
    make_raw_trial(tmp_path)
    first = np.array((EPOCH_TSC + 2 * TSC_HZ, 1, 50), CLOCK_POINT)
    write_raw(tmp_path / "log.bin", RecordKind.GAP, np.zeros(0, GAP), first=first)
    trial = make_plan(parse_spec(SPEC + words)).trials[0]

    assert logged_from_ns(trial, tmp_path, [GapLog(tmp_path / "log.bin")]) == from_ns
