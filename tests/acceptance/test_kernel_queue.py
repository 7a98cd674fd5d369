"""The queue that check R33 proposes: a kernel device under overload drops nothing in it."""

from pathlib import Path

import pytest

from acceptance_run import passed, run_taut

pytestmark = [pytest.mark.acceptance, pytest.mark.root]

SPEC = """
name = "queue"
duration = "300ms"
warm_up = "100ms"
floor = false
[[device]]
driver = "linux_bridge"
[[device]]
driver = "linux_router"
[[host]]
name = "as found"
[[host]]
name = "long queue"
only = ["R33"]
[[traffic]]
rates = ["2Mpps"]
both = true
"""


def test_what_a_device_cannot_take_is_refused_before_it_is_under_way(tmp_path: Path):
    trials = [trial.meta for trial in passed(run_taut(tmp_path, SPEC)).trials]

    assert len(trials) == 4
    for trial in trials:
        counters, stats = trial["generator"]["counters"], trial["dut"]["stats"]
        lost = [(port["rx_dropped"], port["tx_dropped"]) for port in stats["ports"]]
        assert len(lost) == 2
        assert all(port["rx_packets"] > 0 for port in stats["ports"])
        # Overload it is, and with the long queue nothing is lost in it; what a router lost there
        # is told, and nothing is told twice.
        assert counters["unsent"] > counters["due"] / 10
        assert trial["host"]["name"] == "as found" or lost == [(0, 0)] * 2
        if trial["dut"]["driver"] == "linux_router":
            assert stats["dropped"] == stats["dropped_by"]["link"] == sum(sent for _, sent in lost)
