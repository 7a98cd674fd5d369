"""What every driver does: starts, lives, forwards, stops, leaves nothing, and notices death."""

import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from taut.dut.driver import DriverOptions, DutDriver, RunningDut
from taut.testbed import cleanup, netlink
from taut.testbed.hugepages import count_near
from taut.testbed.link import Link
from taut.testbed.links import LINKS
from taut.testbed.scope import RunScope
from taut.testing.frames import LAST_CORE, frames_through

_N_FRAMES = 20
_NOTICED_S = 60.0


def lacks(driver: DutDriver, link: str, options: DriverOptions) -> str | None:
    """Say what this machine lacks to start a device over a link; None: nothing."""
    return driver.missing(options) or LINKS[link].missing()


def conforms(driver: DutDriver, link: str, folder: Path, given: Mapping[str, Any] = {}) -> None:
    """Ask all that follows over one link; the device passes frames unchanged.

    `given` are options as in an experiment; `folder` is empty. A machine that `lacks` something
    fails: whoever may do without the device asks before.
    """
    options = driver.options_type(**given)
    describes_itself(driver)
    refuses_unknown_options(driver, given)
    lives_and_leaves_nothing(driver, link, folder / "life", options)
    # Into an interface frames can be put without taut-generate.
    if LINKS[link].crosses_kernel and driver.n_links == 2:
        passes_frames_unchanged(driver, link, folder / "frames", options)
    notices_its_death(driver, link, folder / "death", options)


def describes_itself(driver: DutDriver) -> None:
    """It has words, links that there are, and every option says what it means."""
    name = driver.name
    assert driver.summary, f"{name}: it has no summary"
    assert driver.link_kinds, f"{name}: it has no link_kinds"
    assert driver.version(), f"{name}: it has no version"
    unknown = set(driver.link_kinds) - set(LINKS)
    assert not unknown, f"{name}: there are no links {unknown}"
    assert driver.options_type.__doc__, f"{name}: its options have no docstring"
    for key, field in driver.options_type.model_fields.items():
        assert field.description, f"{name}: its option {key} has no description"
    driver.missing(driver.options_type.example())


def refuses_unknown_options(driver: DutDriver, given: Mapping[str, Any] = {}) -> None:
    """An unknown option is an error, and options do not change."""
    try:
        driver.options_type.model_validate({**given, "no_such_option": 1})
    except ValidationError:
        pass
    else:
        raise AssertionError(f"{driver.name}: it takes an option that it has not")
    options = driver.options_type(**given)
    for name in driver.options_type.model_fields:
        try:
            setattr(options, name, 1)
        except ValidationError:
            continue
        raise AssertionError(f"{driver.name}: its option {name} can be changed")


def lives_and_leaves_nothing(
    driver: DutDriver, link: str, folder: Path, options: DriverOptions
) -> None:
    """It starts, says how packets go, stops once, and nothing of it stays."""
    with _started(driver, link, folder, options) as (scope, _, dut):
        assert dut.alive(), f"{driver.name}: not alive once it runs: {dut.log_tail()}"
        assert dut.path, f"{driver.name}: it does not say which way packets take"
        stats = dut.stop()
        assert dut.stop() == stats, f"{driver.name}: a second stop() gives other counters"
        for log in dut.logs:
            assert log.is_file(), f"{driver.name}: its log {log} is not there"
    left = cleanup.run_processes(scope.id)
    assert left == [], f"{driver.name}: processes {left} are left"
    left_there = [name for name in netlink.namespaces() if scope.id in name]
    assert not left_there, f"{driver.name}: namespaces {left_there} are left"


def passes_frames_unchanged(
    driver: DutDriver, link: str, folder: Path, options: DriverOptions
) -> None:
    """What goes in at one side comes out at the other."""
    with _started(driver, link, folder, options) as (_, links, _dut):
        came = frames_through(links, _N_FRAMES)
        assert came == _N_FRAMES, f"{driver.name}: {came} of {_N_FRAMES} frames came through"


def notices_its_death(driver: DutDriver, link: str, folder: Path, options: DriverOptions) -> None:
    """A device whose process is killed is not alive, has no counters, and says how it ended."""
    with _started(driver, link, folder, options) as (_, _links, dut):
        if dut.pid is None:
            return
        os.kill(dut.pid, signal.SIGKILL)
        until = time.monotonic() + _NOTICED_S
        while dut.alive():
            assert time.monotonic() < until, f"{driver.name}: its death is not noticed"
            time.sleep(0.01)
        assert dut.stop() is None, f"{driver.name}: dead, and it has counters"
        tail = dut.log_tail()
        assert "killed by SIGKILL" in tail[-1], f"{driver.name}: the end of its log is {tail}"


@contextmanager
def _started(
    driver: DutDriver, link: str, folder: Path, options: DriverOptions
) -> Iterator[tuple[RunScope, tuple[Link, Link], RunningDut]]:
    with RunScope(folder / "base") as scope:
        scope.add_hugepages(driver.hugepages(options), count_near(LAST_CORE[0]))
        with (
            LINKS[link].open(scope, driver.n_links) as links,
            driver.running(links, LAST_CORE, options, folder / "logs", scope) as dut,
        ):
            # Two, or none: the loopback has no sides.
            yield scope, tuple(links), dut  # type: ignore[misc]
