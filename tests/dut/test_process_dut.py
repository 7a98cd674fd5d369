"""A device that had ended before it was stopped says how, and what is missing for that."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from taut.dut.driver import RunningHop
from taut.dut.drivers.chain import ChainDut
from taut.dut.process_dut import ProcessDut, ReadStats
from taut.experiment.trial import died_of
from taut.records.documents.trial import DutStats
from taut.testbed.process import child
from taut.testbed.scope import RunScope

DIES, ENDS, WAITS = "kill -SEGV $$", "exit 3", "exec sleep 1000"
Start = Callable[..., ProcessDut]


@pytest.fixture
def start(scope: RunScope, tmp_path: Path) -> Iterator[Start]:
    """Start a shell as a device; one that does not wait has ended when this returns."""
    with ExitStack() as stack:

        def started(
            script: str, read_stats: ReadStats | None = None, ask_stats: ReadStats | None = None
        ) -> ProcessDut:
            argv = ["sh", "-c", script]
            process = child("made", argv, scope=scope, log=tmp_path / "made.log")
            program = stack.enter_context(process)
            if script in (DIES, ENDS):
                program.wait(60.0)
            return ProcessDut(program, path="made", read_stats=read_stats, ask_stats=ask_stats)

        yield started


def test_a_device_that_had_died_names_its_signal(start: Start) -> None:
    dut = start(DIES)

    assert dut.stop() is None
    assert died_of(dut) == "device died by signal 11 after the measurement"


def test_what_its_end_took_along_is_said(start: Start) -> None:
    dut = start(ENDS, lambda: DutStats(transmit="eager"))

    assert dut.stop() is None
    assert died_of(dut) == (
        "device ended with exit status 3 after the measurement; its counters are missing"
    )


def test_one_that_lives_until_it_is_stopped_has_its_counters_and_did_not_die(start: Start) -> None:
    dut = start(WAITS, lambda: DutStats(transmit="eager"))

    assert dut.stop() == DutStats(transmit="eager")
    assert died_of(dut) is None


def test_one_that_had_to_be_killed_is_noted(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    dut = start("trap '' INT; echo up; while :; do sleep 0.1; done")
    dut._child.wait_ready("up")
    monkeypatch.setattr(dut._child, "stop", partial(dut._child.stop, timeout_s=0.5))

    dut.stop()

    assert dut.notes == [
        "made: it did not end within 0.5 s of SIGINT and was killed; what it writes at its end is "
        "missing"
    ]
    assert died_of(dut) is None


def test_of_a_chain_a_switch_that_died_is_named(start: Start) -> None:
    chain = ChainDut([RunningHop("hop 1", 0, start(WAITS))], path="made", switch=start(DIES))

    chain.stop()

    assert died_of(chain) == "switch died by signal 11 after the measurement"


def test_of_a_chain_the_switch_is_asked_once_before_the_hops_stop(start: Start) -> None:
    lived = []

    def ask() -> DutStats:
        lived.append(hop.alive())
        return DutStats(transmit="eager")

    hop, switch = start(WAITS), start(WAITS, ask_stats=ask)
    chain = ChainDut([RunningHop("hop 1", 0, hop)], path="made", switch=switch)

    assert chain.stop() == chain.stop() == DutStats(transmit="eager")
    assert lived == [True]


def test_of_a_chain_each_hop_that_died_is_named(start: Start) -> None:
    devices = [start(script) for script in (WAITS, DIES, ENDS)]
    hops = [RunningHop(f"hop {i + 1}", 0, device) for i, device in enumerate(devices)]
    chain = ChainDut(hops, path="made", switch=None)

    chain.stop()

    assert died_of(chain) == (
        "hop 2 died by signal 11 after the measurement; "
        "hop 3 ended with exit status 3 after the measurement"
    )
