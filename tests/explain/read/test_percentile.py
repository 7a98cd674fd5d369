"""The figure of a trim: one percentile of a trial, of every packet or of those not void."""

from math import inf
from pathlib import Path

from made_packets import COLD, LATE, UNSENT, VOID, extra, packet, write_packets
from taut.explain.read.packets import read_percentile


def test_void_packets_count_only_where_they_are_asked_for(tmp_path: Path) -> None:
    rows = [packet(n, 1_000 + n) for n in range(990)]
    rows += [packet(990 + n, 50_000 + n, flags=VOID) for n in range(10)]
    packets = write_packets(tmp_path / "packets.parquet", rows)

    # Of 1000 packets ten lie above p99, of 990 not.
    assert read_percentile(packets, "p99", with_void=True) == 1_989
    assert read_percentile(packets, "p99", with_void=False) is None
    assert read_percentile(packets, "p50", with_void=True) == 1_499
    assert read_percentile(packets, "p50", with_void=False) == 1_494


def test_what_never_came_back_came_twice_or_was_of_the_warm_up_is_left_out(tmp_path: Path) -> None:
    rows = [packet(n, 1_000 + n) for n in range(100)]
    rows += [packet(100 + n, 9_000, flags=COLD) for n in range(100)]
    rows += [packet(200, None), packet(201, None, flags=UNSENT), extra(3, LATE)]
    packets = write_packets(tmp_path / "packets.parquet", rows)

    assert read_percentile(packets, "p50", with_void=True) == 1_049


def test_of_no_packets_there_is_none(tmp_path: Path) -> None:
    packets = write_packets(tmp_path / "packets.parquet", [packet(0, None)])

    assert read_percentile(packets, "p50", with_void=True) is None


def test_what_never_came_back_may_count_as_slower_than_all_that_did(tmp_path: Path) -> None:
    rows = [packet(n, 1_000 + n) for n in range(990)]
    packets = write_packets(tmp_path / "packets.parquet", rows)

    # Of 1000 packets p99 is the slowest that came back, of 1001 one that did not.
    assert read_percentile(packets, "p99", with_void=True, n_due=1_000) == 1_989
    assert read_percentile(packets, "p99", with_void=True, n_due=1_001) == inf
