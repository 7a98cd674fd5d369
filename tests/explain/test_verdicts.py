"""The count that `taut explain` is held to: which packets an iteration of the log had in hand."""

import pyarrow as pa
import pytest

from verdicts import handled_in

LOG = pa.table({"start_ns": [1_000, 9_000], "end_ns": [5_000, 12_000], "n_packets": [32, 3]})


@pytest.mark.parametrize(
    ("start_ns", "end_ns", "n_packets"),
    [(1_000, 5_000, 32), (993, 4_993, 32), (9_070, 12_070, 3), (6_000, 8_000, 0), (0, 800, 0)],
)
def test_a_stall_on_another_clock_has_the_packets_of_its_gap(start_ns, end_ns, n_packets):
    assert handled_in(LOG, (start_ns + end_ns) // 2) == n_packets


def test_a_device_that_sends_in_one_go_has_no_gap_with_packets_in_hand():
    assert handled_in(LOG.slice(0, 0), 3_000) == 0
