from pathlib import Path

import numpy as np
import pytest

from made_run import EPOCH_TSC, TICKS_PER_NS
from made_stamps import NEVER, means, stamped_trial, stamps_at
from taut.analysis import budget
from taut.analysis.budget import budgets_of, is_chosen, pooled, problems
from taut.records.layout import PACKET, PacketFlag

N = 20_000
LATENCY_NS = 1_000
WINDOW_NS = 60
PLANTED = {
    "generator to hop 1": 40,
    "waiting for hop 1": 60,
    "hop 1": 200,
    "hop 1 to hop 2": 140,
    "waiting for hop 2": 60,
    "hop 2": 400,
    "hop 2 to generator": 40,
    "waiting for generator": 60,
}
HOP_1, HOP_2 = (100, 300), (500, 900)
"""When each receives and sends, after the generator sent."""


def made(n=N, latency_ns=LATENCY_NS, direction=0):
    packets = np.zeros(n, PACKET)
    packets["seq"] = np.arange(n)
    packets["direction"] = direction
    packets["sent_tsc"] = packets["due_tsc"] = EPOCH_TSC + np.arange(n) * 25_000
    ticks = np.rint(np.broadcast_to(latency_ns, n) * TICKS_PER_NS).astype(np.uint64)
    packets["received_tsc"] = packets["sent_tsc"] + ticks
    packets["arrival_window"] = round(WINDOW_NS * TICKS_PER_NS)
    return packets


def through(packets, first=HOP_1, second=HOP_2):
    return [stamps_at(packets, *first), stamps_at(packets, *second)]


def only(trial):
    (found,) = budgets_of(trial)
    return found


def assert_sums(found):
    assert found.columns
    for name, column in found.columns.items():
        assert sum(means(found, name).values()) == pytest.approx(column.latency_ns)
        assert column.residual_ns == pytest.approx(0, abs=1e-6)


def test_parts_are_what_each_element_took_and_add_up(tmp_path: Path) -> None:
    packets = made()

    found = only(stamped_trial(tmp_path, packets, through(packets)))

    assert found.n == N
    assert list(found.columns) == ["mean", "p50", "p99", "p99.9"]
    for name in found.columns:
        assert means(found, name) == pytest.approx(PLANTED, abs=1)
    assert found.columns["mean"].latency_ns == LATENCY_NS
    assert_sums(found)
    assert [part.kind for part in found.parts[:3]] == ["link", "wait", "element"]
    assert problems([found]) == []


def test_tail_is_where_its_packets_were(tmp_path: Path) -> None:
    slow = np.where(np.arange(N) % 50 == 0, 50_000, 0)
    packets = made(latency_ns=LATENCY_NS + slow)
    hops = through(packets, second=(HOP_2[0], HOP_2[1] + slow))

    found = only(stamped_trial(tmp_path, packets, hops))

    assert means(found, "p50")["hop 2"] == pytest.approx(400, abs=1)
    assert means(found, "p99")["hop 2"] == pytest.approx(50_400, abs=1)
    assert means(found, "p99")["hop 1"] == pytest.approx(200, abs=1)
    assert means(found, "mean")["hop 2"] == pytest.approx(1_400, abs=1)
    assert_sums(found)


def test_what_came_while_a_hop_did_not_look_waited_for_it(tmp_path: Path) -> None:
    packets = made(latency_ns=LATENCY_NS + 30_000)
    second = stamps_at(packets, 30_500, 30_900, window_ns=30_050)

    found = only(stamped_trial(tmp_path, packets, [stamps_at(packets, *HOP_1), second]))

    # It looked 450 ns after the generator had sent, 150 ns after hop 1 had.
    assert means(found, "mean")["hop 1 to hop 2"] == pytest.approx(150, abs=1)
    assert means(found, "mean")["waiting for hop 2"] == pytest.approx(30_050, abs=1)
    assert_sums(found)


def test_window_that_began_before_it_was_sent_is_no_waiting(tmp_path: Path) -> None:
    packets = made()
    hops = [stamps_at(packets, *HOP_1, window_ns=5_000), stamps_at(packets, *HOP_2)]

    found = only(stamped_trial(tmp_path, packets, hops))

    assert means(found, "mean")["generator to hop 1"] == 0
    assert means(found, "mean")["waiting for hop 1"] == pytest.approx(100, abs=1)
    assert_sums(found)


def test_lost_packets_are_told_by_the_part_that_they_did_not_leave(tmp_path: Path) -> None:
    packets = made()
    packets["received_tsc"][:10] = 0
    received, sent, at_second = (np.full(N, ns) for ns in (HOP_1[1], HOP_2[1], HOP_2[0]))
    at_second[:3] = sent[:3] = NEVER  # on the way from hop 1 to hop 2
    sent[3:7] = NEVER  # in hop 2: hop 1 has both its stamps
    received[7:9] = at_second[7:9] = sent[7:9] = NEVER  # in hop 1

    hops = through(packets, (HOP_1[0], received), (at_second, sent))
    found = only(stamped_trial(tmp_path, packets, hops))

    assert found.lost == {
        "hop 1": 2,
        "hop 1 to hop 2": 3,
        "hop 2": 4,
        "hop 2 to generator": 1,
    }
    assert found.n == N - 10
    assert found.without_all_stamps == 0
    assert means(found, "mean") == pytest.approx(PLANTED, abs=1)


def test_packet_that_came_back_without_a_stamp_is_counted_and_told(tmp_path: Path) -> None:
    packets = made()
    sent = np.full(N, HOP_1[1])
    sent[5] = NEVER

    found = only(stamped_trial(tmp_path, packets, through(packets, (HOP_1[0], sent))))

    assert (found.n, found.without_all_stamps, found.lost) == (N - 1, 1, {})
    (line,) = problems([found])
    assert "1 packets" in line


def test_stamps_out_of_order_are_an_error_and_no_budget(tmp_path: Path) -> None:
    packets = made()
    hops = through(packets, second=(HOP_1[1] - 100, HOP_2[1]))

    found = only(stamped_trial(tmp_path / "wrong", packets, hops, skew_ns=50))
    apart = only(stamped_trial(tmp_path / "apart", packets, hops, skew_ns=100))

    assert (found.out_of_order, found.worst_ns) == (N, 100)
    assert not found.columns
    assert not found.parts
    (line,) = problems([found])
    assert "out of order, by up to 100 ns; clocks agree to 51 ns" in line
    # Within what the clocks allow it is no error, and the sum holds all the same.
    assert apart.out_of_order == 0
    assert means(apart, "mean")["waiting for hop 2"] == pytest.approx(-100, abs=1)
    assert_sums(apart)


def test_the_other_direction_meets_the_hops_in_the_other_order(tmp_path: Path) -> None:
    there, back = made(), made(n=100, direction=1)
    hops = [
        np.concatenate([stamps_at(there, *HOP_1), stamps_at(back, *HOP_2)]),
        np.concatenate([stamps_at(there, *HOP_2), stamps_at(back, *HOP_1)]),
    ]

    first, second = budgets_of(stamped_trial(tmp_path, np.concatenate([there, back]), hops))

    assert (first.direction, second.direction) == (0, 1)
    assert (first.n, second.n) == (N, 100)
    assert [part.name for part in second.parts if part.kind == "element"] == ["hop 2", "hop 1"]
    assert means(second, "mean")["hop 2"] == pytest.approx(200, abs=1)
    assert list(second.columns) == ["mean", "p50"]  # too few for others
    assert_sums(second)


def test_first_stamp_of_a_packet_that_passes_twice_counts(tmp_path: Path) -> None:
    packets = made()
    again = stamps_at(packets, HOP_1[0] + 200, HOP_1[1] + 200)

    first, second = through(packets)
    found = only(stamped_trial(tmp_path, packets, [np.concatenate([first, again]), second]))

    assert means(found, "mean") == pytest.approx(PLANTED, abs=1)


def test_warm_up_and_further_records_of_a_packet_are_left_out(tmp_path: Path) -> None:
    packets = made()
    packets["flags"][:1_000] = PacketFlag.COLD
    again = packets[-10:].copy()
    again["flags"] = PacketFlag.DUPLICATE

    trial = stamped_trial(tmp_path, np.concatenate([packets, again]), through(packets))

    assert only(trial).n == N - 1_000


def test_only_stamped_packets_count(tmp_path: Path) -> None:
    packets = made()
    chosen = packets[is_chosen(packets["seq"], 8)]

    found = only(stamped_trial(tmp_path, packets, through(chosen), every=8))

    assert found.n == len(chosen) == pytest.approx(N / 8, abs=2)
    assert (found.every, found.without_all_stamps) == (8, 0)
    assert means(found, "p50") == pytest.approx(PLANTED, abs=1)


def test_more_than_can_be_joined_are_thinned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packets = made()
    trial = stamped_trial(tmp_path, packets, through(packets))

    monkeypatch.setattr(budget, "_MOST", 3_000)
    found = only(trial)

    assert 0 < found.n <= 3_000
    assert (found.every, found.without_all_stamps) == (7, 0)
    assert means(found, "mean") == pytest.approx(PLANTED, abs=1)


def test_repetitions_weigh_as_many_as_their_packets(tmp_path: Path) -> None:
    few, many = made(n=5_000), made(n=15_000, latency_ns=LATENCY_NS + 400)
    hops = through(many, second=(HOP_2[0], HOP_2[1] + 400))
    found = [
        budgets_of(stamped_trial(tmp_path / "few", few, through(few))),
        budgets_of(stamped_trial(tmp_path / "many", many, hops)),
    ]

    (both,) = pooled(found)

    assert both.n == 20_000
    assert means(both, "mean")["hop 2"] == pytest.approx(700, abs=1)
    assert list(both.columns) == ["mean", "p50", "p99"]  # of 5,000 no p99.9
    assert_sums(both)


def test_nothing_is_told_where_no_packet_came_back(tmp_path: Path) -> None:
    packets = made(n=100)
    packets["received_tsc"] = 0

    found = only(stamped_trial(tmp_path, packets, through(packets)))

    assert (found.n, found.columns, found.parts) == (0, {}, ())
    assert found.lost == {"hop 2 to generator": 100}
    assert pooled([(found,)])[0].columns == {}


def test_no_stamps_no_budget(tmp_path: Path) -> None:
    packets = made(n=100)
    trial = stamped_trial(tmp_path, packets, through(packets))
    trial.stamps.unlink()

    assert budgets_of(trial) is None
