from pathlib import Path

from taut.dut.drivers.loopback import LoopbackDriver, LoopbackOptions
from taut.host.situation import Waiting
from taut.testbed.scope import RunScope


def test_nothing_runs(scope: RunScope, tmp_path: Path) -> None:
    driver = LoopbackDriver()

    with driver.running([], (), LoopbackOptions(), tmp_path / "logs", scope) as dut:
        assert dut.alive()
        assert dut.pid is None

    assert driver.n_links == 0
    assert not (tmp_path / "logs").exists()


def test_its_device_polls() -> None:
    assert LoopbackDriver().waits(LoopbackOptions()) is Waiting.POLLS
