import os
from pathlib import Path

import pytest

from inline_lab import DROPS_THE_FIRST, assert_lost_is_dropped, skip_without, through
from taut.dut.drivers.snort import (
    SnortDriver,
    SnortOptions,
    dropped_by,
    read_counters,
    why_refused,
)
from taut.host.situation import Waiting
from taut.testbed.scope import RunScope

DRIVER = SnortDriver()
LOG = """++ [0] a:b
== stopping
--------------------------------------------------
Packet Statistics
--------------------------------------------------
daq
                 received: 40
                 analyzed: 39
                  dropped: 2
                    allow: 29
                    block: 10
                 rx_bytes: 2400
--------------------------------------------------
codec
                    total: 39          	(100.000%)
"""


def test_what_it_says_at_its_end_is_read() -> None:
    told = read_counters(LOG)

    assert told is not None
    assert told["received"] == 40
    assert told["rx_bytes"] == 2400
    assert dropped_by(told) == {"block": 10, "dropped": 2}


def test_one_that_was_killed_has_no_counters() -> None:
    assert read_counters("++ [0] a:b\n") is None


@pytest.mark.parametrize(
    ("rules", "said", "told"),
    [
        (
            "my.rules",
            "ERROR: my.rules:2 incomplete rule\nFATAL: see prior 1 errors\n",
            "my.rules:2: incomplete rule; correct the rule or leave it out",
        ),
        (
            "",
            "ERROR: Could not find requested DAQ module: afpacket\n",
            "snort: Could not find requested DAQ module: afpacket; docs/devices.md says how it is"
            " built",
        ),
        ("", "Segmentation fault", "snort: it refuses its configuration; `snort -T` says why"),
    ],
)
def test_what_it_refuses_is_one_line(rules: str, said: str, told: str) -> None:
    assert why_refused(rules, said) == told


def test_its_device_sleeps() -> None:
    assert DRIVER.waits(SnortOptions()) is Waiting.SLEEPS


@pytest.mark.alone
@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")
def test_a_bad_rules_file_is_told_before_the_run(tmp_path: Path) -> None:
    skip_without(DRIVER)
    rules = tmp_path / "my.rules"
    rules.write_text(f"{DROPS_THE_FIRST}drop udp any any -> any any (sid:2; mgs:7;)\n")

    reason = DRIVER.missing(SnortOptions(mode="filter", rules=str(rules)))

    assert reason == f"{rules}:2: unknown rule keyword: mgs; correct the rule or leave it out"


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")
def test_what_a_rule_drops_and_the_generator_misses_is_the_same(
    scope: RunScope, tmp_path: Path
) -> None:
    skip_without(DRIVER)
    rules = tmp_path / "my.rules"
    rules.write_text(DROPS_THE_FIRST)

    counters, counted = through(
        DRIVER, SnortOptions(mode="filter", rules=str(rules)), scope, tmp_path
    )

    reasons = counted.others["dropped_by"]
    assert counted.others["in"] == counters["sent"] > 0
    assert counted.others["dropped"] == sum(reasons.values())
    assert_lost_is_dropped(counters, counted)
    assert 0 < reasons["block"] <= counters["sent"] / 4
    assert reasons["other"] == 0
