"""What a device held back because the generator stood still is the measurer's."""

from pathlib import Path

import pytest

from made_packets import packet
from made_trace import MadeTrace, normal, write_trial
from taut.dut.forwarder import TautForwardOptions
from taut.explain import Options, explain_trial
from taut.explain.judge.held import ReceiveRing, ring_of
from taut.explain.read.passages import Passages
from taut.testbed.links import LINKS

MS, US = 1_000_000, 1_000
BATCH = 32
GAP = (20 * MS + 5 * US, 53 * MS)
TRACE = MadeTrace().vector(1, 2)
HELD_BACK = "held back while the generator stood still"


def batched(n=3_200, gap=None):
    """A buffer without a timer: 32 packets leave when the last of them came."""
    rows = [packet(s, 1_000) for s in range(n)]
    if gap is not None:
        for row in rows:
            if row["sent_ns"] >= gap[0]:
                # Back on schedule after the gap; how late it is does not matter here.
                row["sent_ns"] += gap[1] - gap[0]
                row["due_ns"] = row["sent_ns"] - 20
    for first in range(0, n, BATCH):
        batch = rows[first : first + BATCH]
        left = batch[-1]["sent_ns"] + 1_000
        for i, row in enumerate(batch):
            row["received_ns"] = left + 20 * i
    return rows


def explained(tmp_path, rows, transmit, over, gaps=()):
    dut = {"driver": "taut_forward", "options": {"transmit": transmit}, "stats": {"gaps": {}}}
    trial = write_trial(tmp_path, rows, gaps, TRACE, {"dut": dut})
    return explain_trial(trial, Options(over=over))


def test_a_batch_that_the_generator_did_not_fill_is_the_measurers(tmp_path):
    rows = batched(gap=GAP)
    waited = sum(row["received_ns"] - row["sent_ns"] > MS for row in rows)

    found = explained(tmp_path, rows, "buffered:32,none", "1ms", [(*GAP, "generator")])

    assert 0 < waited == found.n_tail
    assert {c.cause: c.n_packets for c in found.causes} == {"measurer": waited}
    assert found.causes[0].n_by_relation == {HELD_BACK: waited}
    assert "held it back while the generator stood still" in found.worst[0].line
    assert found.worst[0].gap.thread == "generator"


def test_a_batch_that_the_generator_fills_on_time_is_the_policys(tmp_path):
    found = explained(tmp_path, batched(), "buffered:32,none", "200us")

    assert {c.cause for c in found.causes} == {"batching"}


def ring_was_full(n_waiting, gap=(100 * MS, 110 * MS)):
    """A gap of the generator: so many packets stood in its ring, a hundred behind the device."""
    rows = normal(20_000)
    first = next(r["seq"] for r in rows if r["sent_ns"] >= gap[0]) - n_waiting - 100
    for i, row in enumerate(rows[first : first + n_waiting]):
        row["received_ns"] = gap[1] + 100 * (i // 64)
        row["arrival_window_ns"] = row["received_ns"] - gap[0]
    for i, row in enumerate(rows[first + n_waiting : first + n_waiting + 100]):
        row["received_ns"] = gap[1] + 200 * US + 500 * i
    for row in rows[first + n_waiting + 100 :]:
        late = max(gap[1] + 300 * US - row["sent_ns"], 0)
        row["sent_ns"], row["due_ns"] = row["sent_ns"] + late, row["due_ns"] + late
        row["received_ns"] = row["sent_ns"] + 1_000
    return rows, [(*gap, "generator")]


@pytest.mark.parametrize(
    ("n_waiting", "link", "was_full", "told"),
    [
        (1_024, "memif", True, {}),
        (500, "memif", False, {}),
        (1_024, "veth", False, {}),
        # A card's ring, and a memif of somebody else's, may have another size.
        (500, "memif", True, {"full_ring_packets": 448}),
    ],
)
def test_what_came_after_a_full_ring_was_held_back_by_the_generator(
    tmp_path, n_waiting, link, was_full, told
):
    rows, gaps = ring_was_full(n_waiting)

    dut = {"driver": "taut_forward", "link": link, "stats": {"gaps": {}}}
    meta = {"dut": dut, "generator": {"counters": {}, "gaps": told}}
    found = explain_trial(write_trial(tmp_path, rows, gaps, TRACE, meta), Options(over="50us"))

    if link == "memif":
        assert {c.cause: c.n_packets for c in found.causes} == {"measurer": n_waiting + 100}
    assert (found.causes[0].n_by_relation.get(HELD_BACK, 0) >= 100) == was_full


@pytest.mark.parametrize(("gap_ns", "was_full"), [(2 * US, False), (10 * US, True)])
def test_behind_a_gap_too_short_to_fill_the_ring_it_was_the_device(tmp_path, gap_ns, was_full):
    rows, gaps = ring_was_full(1_024, (110 * MS - gap_ns, 110 * MS))
    told = {"full_ring_packets": 960, "full_ring_ns": 5_760}

    dut = {"driver": "taut_forward", "link": "memif", "stats": {"gaps": {}}}
    meta = {"dut": dut, "generator": {"counters": {}, "gaps": told}}
    found = explain_trial(write_trial(tmp_path, rows, gaps, TRACE, meta), Options(over="50us"))

    held = {c.cause: c.n_by_relation.get(HELD_BACK, 0) for c in found.causes}
    assert (held.get("measurer", 0) >= 1_024) == was_full
    assert sum(held.values()) == held.get("measurer", 0) * was_full


@pytest.mark.parametrize(
    ("transmit", "waits"),
    [
        ("buffered:32,none", True),
        ("buffered:drain=none,packets=64", True),
        ("buffered:32,0us", True),
        ("buffered:32,100us", False),
        ("buffered", False),
        ("eager", False),
    ],
)
def test_a_buffer_without_a_timer_waits_for_more(transmit, waits):
    assert TautForwardOptions(transmit=transmit).waits_for_more is waits


def test_whether_a_full_ring_makes_the_device_wait_is_for_the_link_to_say(monkeypatch):
    for name in ("memif", "veth"):
        monkeypatch.setitem(LINKS, f"like {name}", LINKS[name])

    assert ring_of("like memif", None) == ReceiveRing()
    assert ring_of("like veth", None) is None
    assert Passages(Path("none"), "like memif").is_shared
    assert not Passages(Path("none"), "like veth").is_shared
    # Cards are no shared memory; of what is not known the worst is taken.
    assert not Passages(Path("none"), "pci").is_shared
    assert not Passages(Path("none"), "").is_shared
