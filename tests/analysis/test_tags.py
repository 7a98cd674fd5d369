"""Tagged packets: chosen by their time, whatever became of them."""

from made_rows import extras, row, write_rows
from taut.analysis.tags import Tags, read_tags
from taut.records.layout import PacketFlag

COLD, DUPLICATE, VOID = int(PacketFlag.COLD), int(PacketFlag.DUPLICATE), int(PacketFlag.VOID)


def test_one_tag_is_the_first_packet_due_after_its_time(tmp_path):
    packets = [row(n, 100 * n, 100 * n + 10 + n) for n in range(20)]
    path = write_rows(tmp_path, [row(0, -50, -1, flags=COLD), *packets])

    assert read_tags(path, 1_000, 2_000, 1) == Tags([20], 0)
    assert read_tags(path, 1_001, 2_001, 1) == Tags([21], 0)


def test_tags_are_spread_evenly_and_each_stretch_has_one(tmp_path):
    packets = [row(n, 10 * n, 10 * n + n) for n in range(100)]
    path = write_rows(tmp_path, packets[::-1])

    assert read_tags(path, 500, 1_000, 5) == Tags([50, 60, 70, 80, 90], 0)


def test_a_tag_that_is_lost_is_counted_and_no_other_takes_its_place(tmp_path):
    packets = [row(n, 10 * n, None if n == 5 else 10 * n + 3) for n in range(10)]
    path = write_rows(tmp_path, packets)

    assert read_tags(path, 50, 100, 1) == Tags([], 1)
    assert read_tags(path, 0, 100, 2) == Tags([3], 1)


def test_a_tag_that_the_generator_was_late_with_has_no_latency_and_is_counted(tmp_path):
    packets = [row(n, 10 * n, None if n == 5 else 10 * n + 3) for n in range(10)]
    for n in (5, 7):
        packets[n]["flags"] = VOID
    path = write_rows(tmp_path, packets)

    assert read_tags(path, 70, 100, 1) == Tags([], 0, 1)
    assert read_tags(path, 0, 100, 10) == Tags([3] * 8, 0, 2)


def test_what_came_twice_and_what_was_not_sent_is_no_tag(tmp_path):
    rows = [row(0, 0, 5), row(1, 10, None, sent=None), row(1, 10, 99, flags=DUPLICATE)]
    path = write_rows(tmp_path, [*rows, row(2, 20, 27), *extras(row(2, 20, 27), 98)])

    assert read_tags(path, 10, 30, 1) == Tags([7], 0)
    assert read_tags(path, 100, 200, 3) == Tags([], 0)


def test_a_trial_of_a_warm_up_alone_has_no_tag(tmp_path):
    path = write_rows(tmp_path, [row(0, -50, -1, flags=COLD)])

    assert read_tags(path, 100, 200, 3) == Tags([], 0)
