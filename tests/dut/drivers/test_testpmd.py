import os
import re
from pathlib import Path

import pytest

from taut.dut.drivers.testpmd import TestpmdDriver, TestpmdOptions, parse_statistics
from taut.host.host import Host
from taut.host.situation import Waiting
from taut.testbed.link import Link
from taut.testbed.scope import RunScope

_LOG = """
  ---------------------- Forward statistics for port 0  ----------------------
  RX-packets: 12             RX-dropped: 1             RX-total: 13
  TX-packets: 0              TX-dropped: 0             TX-total: 0
  ----------------------------------------------------------------------------

  ---------------------- Forward statistics for port 1  ----------------------
  RX-packets: 0              RX-dropped: 0             RX-total: 0
  TX-packets: 11             TX-dropped: 1             TX-total: 12
  ----------------------------------------------------------------------------

  +++++++++++++++ Accumulated forward statistics for all ports+++++++++++++++
  RX-packets: 99             RX-dropped: 99            RX-total: 99
"""


def test_each_ports_counters_are_read() -> None:
    first, second = parse_statistics(_LOG).ports

    assert first.others["rx_packets"] == 12
    assert first.others["rx_dropped"] == 1
    assert second.others["tx_packets"] == 11
    assert second.others["tx_dropped"] == 1
    assert second.others["rx_packets"] == 0


def test_a_log_without_statistics_gives_none() -> None:
    assert parse_statistics("Bye...") is None


def test_who_has_no_testpmd_is_told_a_package_that_setup_installs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    setup = (Path(__file__).parents[3] / "devtools/setup.sh").read_text()
    installed = re.search(r'^packages="([^"]+)"', setup, re.MULTILINE)
    monkeypatch.setenv("PATH", str(tmp_path))

    missing = str(TestpmdDriver().missing(TestpmdOptions()))

    assert installed is not None
    package = missing.rpartition("(Debian: ")[2].rstrip(")")
    assert package in installed[1].split()
    # Beside the headers, not with the scripts of dpdk.
    assert package not in ("dpdk", "libdpdk-dev")


def test_both_its_lcores_have_numbers_of_the_core_s_node(
    scope: RunScope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "dpdk-testpmd"
    program.write_text('#!/bin/sh\necho "$@"\necho Press enter to exit\nexec sleep 1000\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(Host, "nodes", lambda _: {0: 1, 1: 0, 2: 1, 3: 0, 4: 1})
    links = [Link("memif", "memif:g", "memif:d", socket=tmp_path / "x.sock")] * 2

    with TestpmdDriver().running(links, (0,), TestpmdOptions(), tmp_path, scope):
        said = (tmp_path / "testpmd.log").read_text()

    assert "--lcores=0@0,2@0 --main-lcore=0 " in said


def test_its_device_polls() -> None:
    assert TestpmdDriver().waits(TestpmdOptions()) is Waiting.POLLS
