"""taut-generate --count and --duration: where a run begins and what ends it."""

from pathlib import Path

import pytest

from generator_run import LOOP, assert_sums, due_ns, read, run

pytestmark = [pytest.mark.smoke, pytest.mark.beside]


def test_count_stops_after_that_many_in_each_direction(tmp_path: Path):
    run(tmp_path, *LOOP, "--warm-up", "10ms", "--count", "77", "--rate", "10kpps", "--both")

    summary = read(tmp_path).summary
    assert summary["stop"] == "count"
    assert [d["due"] - d["cold"] for d in summary["directions"]] == [77, 77]


@pytest.mark.parametrize(
    ("limits", "n", "stop", "duration_ns"),
    [
        (("--count", "1000", "--duration", "950ms"), 9, "duration", 950_000_000),
        (("--count", "5", "--duration", "10s"), 5, "count", 500_000_000),
    ],
)
def test_what_comes_first_of_count_and_duration_stops(
    tmp_path: Path, limits: tuple[str, ...], n: int, stop: str, duration_ns: int
):
    run(tmp_path, *LOOP, "--warm-up", "0s", "--rate", "10pps", *limits)

    summary = read(tmp_path).summary
    assert (summary["counters"]["due"], summary["stop"]) == (n, stop)
    assert summary["duration_ns"] == duration_ns
    assert summary["offered_pps"] == pytest.approx(n * 1e9 / duration_ns)


# Of this seed the first gap is 0 ns: a departure at the epoch itself.
AT_ONCE = ("--schedule", "poisson", "--rate", "20Mpps", "--seed", "22")


def test_a_first_packet_that_is_due_at_once_belongs_to_no_warm_up(tmp_path: Path):
    run(tmp_path, *LOOP, "--warm-up", "0s", "--count", "100", *AT_ONCE)

    result = read(tmp_path)
    assert_sums(result.summary)
    assert due_ns(result)[0] < 1
    assert result.summary["counters"]["due"] == 100
    assert result.summary["counters"]["cold"] == 0
