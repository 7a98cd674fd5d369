"""A trial's own packets: each once, whatever else was recorded beside them."""

import numpy as np
import pytest

from made_rows import row, write_rows
from taut.analysis.own_packets import NONE, own_packets
from taut.records.layout import PacketFlag

COLD, DUPLICATE, ORPHAN = (
    int(flag) for flag in (PacketFlag.COLD, PacketFlag.DUPLICATE, PacketFlag.ORPHAN)
)


def read(path, *columns, **how):
    batches = list(own_packets(path, columns, **how))
    return [np.concatenate(parts).tolist() for parts in zip(*batches, strict=True)]


@pytest.mark.parametrize("n_rows", [1, 3, 100])
@pytest.mark.parametrize(("with_cold", "first"), [(False, []), (True, [0])])
def test_extra_records_are_left_out_and_the_warm_up_unless_it_is_asked_for(
    tmp_path, n_rows, with_cold, first
):
    rows = [row(0, 0, 5, flags=COLD), *(row(n, 10 * n, 100 - n) for n in (3, 1, 2))]
    rows[3:3] = [row(1, 10, 99, flags=DUPLICATE), row(2**64 - 1, 0, 7, flags=ORPHAN)]

    [seq] = read(write_rows(tmp_path, rows), "seq", n_rows=n_rows, with_cold=with_cold)

    assert seq == [*first, 3, 1, 2]


def test_a_time_that_is_not_there_is_told_and_flags_may_be_asked_for(tmp_path):
    rows = [row(0, 10, 15), row(1, 20, None), row(2, 30, None, sent=None, flags=1)]

    received, sent, flags = read(write_rows(tmp_path, rows), "received_ns", "sent_ns", "flags")

    assert received == [15, NONE, NONE]
    assert sent == [10, 20, NONE]
    assert flags == [0, 0, 1]
