"""When packets were lost after an overload, and for how long a restarted device sent none."""

import tracemalloc

import numpy as np
import pytest

from made_rows import extras, row, write_rows
from taut.analysis import outages
from taut.analysis.outages import Losses, Silence, read_losses, read_silence
from taut.records.layout import PacketFlag

COLD, VOID = int(PacketFlag.COLD), int(PacketFlag.VOID)
MS = 1_000_000


def test_the_last_packet_lost_after_the_drop_is_told(tmp_path):
    rows = [row(n, 1_000 + 10 * n, None if n in {2, 3, 12} else 9_999) for n in range(20)]

    assert read_losses(write_rows(tmp_path, rows), 100) == Losses(2, 1, 20)
    assert read_losses(write_rows(tmp_path, rows), 130) == Losses(3, 0, None)


def test_what_the_link_refused_is_lost_and_what_the_generator_spoilt_is_not(tmp_path):
    rows = [row(n, 10 * n, 500) for n in range(10)]
    rows[7] = row(7, 70, None, sent=None)
    rows[9] = row(9, 90, None, flags=VOID)

    assert read_losses(write_rows(tmp_path, rows), 50) == Losses(0, 1, 20, 1, 1)


def test_where_the_last_loss_may_be_the_generator_s_nobody_knows_the_recovery(tmp_path):
    rows = [row(n, 10 * n, None if n in {3, 6} else 500) for n in range(10)]
    rows[2], rows[4] = row(2, 20, None, flags=VOID), row(4, 40, None, flags=VOID)

    # Void ones before the end of the overload, and before the last of the device's, change nothing.
    found = read_losses(write_rows(tmp_path, rows), 40)
    assert found == Losses(1, 1, 20, 1)
    assert found.recovery_ns == 20
    rows[8] = row(8, 80, None, flags=VOID)
    found = read_losses(write_rows(tmp_path, rows), 40)
    assert (found.void_after, found.back_between, found.recovery_ns) == (2, 1, None)
    rows[6] = row(6, 60, 500)
    assert read_losses(write_rows(tmp_path, rows), 40).recovery_ns is None
    rows[8] = row(8, 80, 500)
    assert read_losses(write_rows(tmp_path, rows), 50).recovery_ns == 0


@pytest.mark.parametrize(("n_back", "expected"), [(999, None), (1_000, 20)])
def test_a_device_that_let_packets_pass_had_recovered_before_the_generator_stood(
    tmp_path, n_back, expected
):
    rows = [row(n, 10 * n, 500) for n in range(n_back + 7)]
    rows[5], rows[n_back + 6] = (
        row(5, 50, None),
        row(n_back + 6, 10 * n_back + 60, None, flags=VOID),
    )
    rows += extras(rows[6], 10 * n_back)  # What comes twice passed once.

    assert read_losses(write_rows(tmp_path, rows), 30).recovery_ns == expected


def test_what_the_warm_up_loses_is_no_loss_under_the_overload(tmp_path):
    rows = [row(n, 10 * n, None if n < 3 else 500, flags=COLD if n < 5 else 0) for n in range(10)]

    assert read_losses(write_rows(tmp_path, rows), 70) == Losses(0, 0, None)
    # The time is still counted from the first departure, which is the warm-up's.
    rows[8] = row(8, 80, None)
    assert read_losses(write_rows(tmp_path, rows), 70) == Losses(0, 1, 10)


def test_the_longest_silence_is_that_of_the_worse_direction(tmp_path):
    rows = [row(n, 10 * n, None if 30 <= n < 45 else 10 * n + 3) for n in range(100)]
    rows += [row(n, 10 * n, None if 30 <= n < 50 else 10 * n, direction=1) for n in range(100)]

    assert read_silence(write_rows(tmp_path, rows)) == Silence(210, 35)


def after_a_stall(n: int) -> dict[str, int | None]:
    """Of a packet each ms: the device is away from 20 to 40, the generator from 100 to 200.

    Then it sends twice as fast, until it is on time again.
    """
    at = n * MS
    if 20 <= n < 40:
        return row(n, at, None)
    if 100 <= n < 300:
        return row(n, at, 200 * MS + (n - 100) * MS // 2 + 3, flags=VOID)
    return row(n, at, at + 3)


def test_a_stall_of_the_generator_is_no_silence_of_the_device(tmp_path):
    rows = [after_a_stall(n) for n in range(350)]

    assert read_silence(write_rows(tmp_path, rows)) == Silence(21 * MS, 20)


def test_a_silence_in_which_the_generator_stood_too_counts_by_what_it_did_not_hold_up(tmp_path):
    rows = [row(n, 10 * n, None if 30 <= n < 45 else 10 * n + 3) for n in range(100)]
    rows[44]["flags"] = rows[45]["flags"] = VOID
    rows = [*rows[:30], *rows[45:], *rows[30:45]]  # Records of what was lost lie elsewhere.

    assert read_silence(write_rows(tmp_path, rows)) == Silence(160, 14, 1)


def test_a_silence_in_which_void_packets_alone_were_lost_may_be_either_s(tmp_path):
    rows = [row(n, 10 * n, None if 30 <= n < 45 else 10 * n + 3, flags=VOID) for n in range(100)]

    assert read_silence(write_rows(tmp_path, rows)) == Silence(160, 0, 15, may_be_generators=True)
    # A longer one that is told decides.
    rows += [row(100, 1200, 1203)]
    assert read_silence(write_rows(tmp_path, rows)) == Silence(210, 0, 15)


def test_what_the_generator_spoilt_at_the_end_is_no_device_that_stays_away(tmp_path):
    rows = [row(n, 10 * n, 10 * n + 3) for n in range(60)]
    rows += [row(n, 10 * n, None, flags=VOID) for n in range(60, 100)]

    assert read_silence(write_rows(tmp_path, rows)) == Silence(10, 0, 40, may_be_generators=True)


def test_a_device_that_does_not_come_back_has_no_time(tmp_path):
    rows = [row(n, 10 * n, 10 * n + 3 if n < 40 else None) for n in range(100)]

    assert read_silence(write_rows(tmp_path, rows)) == Silence(None, 60)


def test_what_comes_again_or_from_elsewhere_ends_no_silence_and_begins_no_run(tmp_path):
    rows = [row(n, 10 * n, None if 30 <= n < 45 else 10 * n + 3) for n in range(100)]
    rows += extras(rows[29], received=370)
    packets = write_rows(tmp_path, rows)

    assert read_silence(packets) == Silence(160, 15)
    # Of the overload until 400 ns after the first departure it lost ten.
    assert read_losses(packets, 400) == Losses(10, 5, 40)


@pytest.mark.parametrize("flags", [0, COLD])
def test_where_nothing_came_there_is_no_time_either(tmp_path, flags):
    rows = [row(n, 10 * n, None, flags=flags) for n in range(10)]

    assert read_silence(write_rows(tmp_path, rows)).longest_ns is None


def test_what_is_lost_takes_little_memory(tmp_path, monkeypatch):
    n_blocks, n = 100, 2_000
    nothing, some = np.zeros(n, np.int64), np.arange(n)
    block = outages._Rows(nothing, some, some, np.full(n, outages.NONE), nothing)
    monkeypatch.setattr(outages, "_blocks", lambda _: (block for _ in range(n_blocks)))

    tracemalloc.start()
    found = read_silence(tmp_path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert found.lost == n_blocks * n
    assert most < 60 * found.lost
