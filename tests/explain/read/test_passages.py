"""What packets say of stretches of time, read batch by batch."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from taut.explain.read import passages
from taut.explain.read.passages import Passages
from taut.records.layout import EXTRA_RECORD

TRIAL_NS = 100_000


@pytest.fixture
def packets(tmp_path):
    """Three hundred packets in order, some of them lost: what one batch shows of it, others do."""
    random = np.random.default_rng(1)
    sent = np.sort(random.integers(0, TRIAL_NS, 300))
    received = np.maximum.accumulate(sent + random.integers(0, TRIAL_NS // 50, 300))
    columns = {
        "flags": np.zeros(300, np.uint16),
        "sent_ns": sent,
        "received_ns": pa.array(received, mask=random.random(300) < 0.1),
        "arrival_window_ns": np.full(300, 100, np.uint32),
    }
    pq.write_table(pa.table(columns), tmp_path / "packets.parquet")
    return tmp_path / "packets.parquet"


@pytest.mark.parametrize("link", ["memif", "veth"])
def test_batches_say_together_what_one_would(packets, link, monkeypatch):
    edges = np.sort(np.random.default_rng(2).integers(-TRIAL_NS, 2 * TRIAL_NS, 120))
    stretches = edges[::2], edges[1::2]
    at_once = Passages(packets, link)
    whole = [
        *vars(at_once.inside(*stretches)).values(),
        *vars(at_once.stamped(*stretches)).values(),
    ]
    assert whole[0].any()

    monkeypatch.setattr(passages, "_BATCH", 7)
    cut = [*vars(at_once.inside(*stretches)).values(), *vars(at_once.stamped(*stretches)).values()]

    for one, other in zip(whole, cut, strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_is_near_stretches_says_of_them_what_all_packets_say(packets):
    pq.write_table(pq.read_table(packets), packets, row_group_size=20)
    edges = np.sort(np.random.default_rng(4).integers(40_000, 60_000, 20))
    stretches = edges[::2], edges[1::2]
    of_all = Passages(packets, "memif")
    near = of_all.near(*stretches)

    assert 0 < len(near.groups) < 10
    whole, found = of_all.inside(*stretches), near.inside(*stretches)
    assert whole.n.any()
    np.testing.assert_array_equal((found.n, found.first_ns), (whole.n, whole.first_ns))
    whole, found = (one.stamped(*stretches) for one in (of_all, near))
    for name, values in vars(whole).items():
        np.testing.assert_array_equal(vars(found)[name], values)


def test_packets_of_which_no_time_is_told_are_near_everything(packets):
    pq.write_table(pq.read_table(packets), packets, row_group_size=20, write_statistics=False)

    near = Passages(packets, "memif").near(np.array([0]), np.array([1]))

    assert len(near.groups) == 15


@pytest.mark.parametrize("flag", EXTRA_RECORD, ids=lambda flag: flag.name)
def test_a_record_that_is_no_packet_sent_says_nothing(packets, flag):
    whole = np.array([0]), np.array([2 * TRIAL_NS])
    rows = pq.read_table(packets)
    rows = rows.set_column(0, "flags", pa.array(np.full(len(rows), flag, np.uint16)))
    assert Passages(packets, "memif").inside(*whole).n.any()

    pq.write_table(rows, packets)

    assert not Passages(packets, "memif").inside(*whole).n.any()
    assert len(Passages(packets).silences(1)[0]) == 0
