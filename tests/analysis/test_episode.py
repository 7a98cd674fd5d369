import pytest

from made_packets import COLD, UNSENT, VOID, packet, write_gaps, write_packets
from taut.analysis.episode import Threshold, find_episodes
from taut.analysis.tables import load_packets
from taut.records.documents.json_form import plain
from taut.storage.engines import open_engine

THRESHOLD_NS = 21_000


def episodes(tmp_path, rows, gaps=()):
    with open_engine("duckdb") as engine:
        load_packets(engine, write_packets(tmp_path / "p.parquet", rows))
        gap_file = write_gaps(tmp_path / "g.parquet", list(gaps))
        return plain(find_episodes(engine, gap_file, THRESHOLD_NS))


def stalled(first, last, end_ns):
    """Packets held until end_ns, then handed over one by one."""
    return [packet(s, end_ns + 50 * (s - first) - (s * 10_000 + 20)) for s in range(first, last)]


def normal(first, last):
    return [packet(s) for s in range(first, last)]


def test_a_stop_of_5_ms_is_one_episode_of_about_500_packets(tmp_path):
    end = 10_000_000 + 5_000_000
    rows = [*normal(0, 1000), *stalled(1000, 1500, end), *normal(1500, 2000)]

    found = episodes(tmp_path, rows, [(10_000_000, end, "forwarder"), (0, 5_000, "generator")])

    assert found["n"] == 1
    worst = found["worst"][0]
    assert worst["packets"] == pytest.approx(500, abs=3)
    assert worst["duration_ns"] == pytest.approx(5_000_000, rel=0.01)
    assert worst["depth_ns"] == end - 10_000_020
    assert worst["void"] == "none"
    assert worst["gaps"] == {"forwarder": {"n": 1, "overlap_ns": end - 10_000_020}}


def test_lost_and_refused_packets_inside_belong_to_it(tmp_path):
    rows = [
        *normal(0, 10),
        packet(10, 90_000),
        packet(11, None),
        packet(12, None, flags=UNSENT),
        packet(13, 60_000),
        *normal(14, 20),
    ]

    found = episodes(tmp_path, rows)

    assert (found["n"], found["packets"], found["lost"], found["unsent"]) == (1, 4, 1, 1)
    assert found["loss_bursts"] == 0


def test_a_good_packet_between_makes_two(tmp_path):
    rows = [*normal(0, 5), packet(5, 50_000), packet(6), packet(7, 50_000)]

    assert episodes(tmp_path, rows)["n"] == 2


def test_loss_alone_is_not_an_episode_but_is_counted(tmp_path):
    rows = [*normal(0, 5), packet(5, None), packet(6, None), *normal(7, 9)]

    found = episodes(tmp_path, rows)

    assert (found["n"], found["loss_bursts"], found["longest_loss_burst"]) == (0, 1, 2)


def test_directions_do_not_mix(tmp_path):
    rows = [packet(s, 50_000, direction=d) for s in range(3) for d in (0, 1)]

    found = episodes(tmp_path, rows)

    assert sorted(e["direction"] for e in found["worst"]) == [0, 1]


@pytest.mark.parametrize(
    ("flags", "word"), [([VOID, VOID], "all"), ([VOID, 0], "some"), ([0, 0], "none")]
)
def test_void_is_said(tmp_path, flags, word):
    rows = [packet(s, 50_000, flags=f) for s, f in enumerate(flags)]

    assert episodes(tmp_path, rows)["worst"][0]["void"] == word


def test_warm_up_opens_no_episode(tmp_path):
    assert episodes(tmp_path, [packet(0, 80_000, flags=COLD), packet(1)])["n"] == 0


def test_threshold_is_ten_medians_and_at_least_20_us_above():
    assert Threshold().at(1_000) == 21_000
    assert Threshold().at(50_000) == 500_000
