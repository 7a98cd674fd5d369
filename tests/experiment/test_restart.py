"""A device that is replaced by a new start of itself, without a device."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from taut.core.errors import InputError
from taut.experiment.restart import BEFORE, Restartable, why_not
from taut.experiment.spec import parse_spec


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
    ("link", "placements", "said"),
    [("veth", (), None), ("memif", (), "over memif"), ("veth", ("vm",), "leave [[placement]] out")],
)
def test_where_it_cannot_be_it_is_said(link, placements, said):
    why = why_not(link, placements)

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
    ("words", "is_measured"),
    [
        ('restart = "1s"', True),
        ('restart = "10999ms"', True),
        ('restart = "20s"', False),
        ('restart = "11s"', False),
        ('restart = "500ms"', False),
        ('restart = "500ms"\nwarm_up = "0s"', True),
        ('restart = "20s"\nduration = "30s"', True),
        ('restart = "1900ms"\ncount = 10_000', True),
        ('restart = "5s"\ncount = 10_000', False),
    ],
)
def test_a_restart_while_nothing_is_measured_is_refused(words, is_measured):
    text = SPEC + words
    if is_measured:
        assert parse_spec(text).traffic[0].restart_ns is not None
        return

    with pytest.raises(InputError, match=r"restart: .* is not while packets are measured"):
        parse_spec(text)


def test_the_refusal_says_from_when_to_when_it_may_be():
    with pytest.raises(InputError) as raised:
        parse_spec(SPEC + 'restart = "20s"')

    assert str(raised.value) == (
        "experiment: traffic constant: restart: 20 s is not while packets are measured, from 1 s "
        "(warm_up) to 11 s; choose a time in between, or lengthen the trial"
    )
