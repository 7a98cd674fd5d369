"""What `taut analyze` says of a pair of captures: coarse stamps, drops, leaps, FCS, tags."""

from pathlib import Path

import pytest

from analyze_run import document, write_sides
from made_captures import (
    FCS_DECLARED,
    Frame,
    made_frame,
    made_pair,
    pcap_bytes,
    pcapng_bytes,
    plant_backwards,
    plant_loss,
    simple_packet_block,
    statistics_block,
    with_fcs,
    write_capture,
)
from taut.analysis.results import analyse_run
from taut.capture.native import MatchOptions
from taut.capture.pair_run import Pair, analyse_pairs

# Of its own files alone.
pytestmark = [pytest.mark.smoke, pytest.mark.beside]


@pytest.mark.parametrize(
    ("ingress_unit_ns", "egress_unit_ns", "coarse", "off"),
    [
        (1, 1, [], []),
        (1_000, 1_000, ["longer", "shorter"], []),
        (1_000, 1, ["longer"], ["500 ns longer"]),
        (1, 1_000, ["shorter"], ["500 ns shorter"]),
    ],
)
def test_coarse_time_stamps_are_told(
    tmp_path, capsys, ingress_unit_ns, egress_unit_ns, coarse, off
):
    """Also those that a file of nanoseconds holds: a converted one says nothing of it."""
    pair = made_pair(1_000, gap_ns=100_007, latency_ns=3_300)
    units = (ingress_unit_ns, egress_unit_ns)
    for frames, unit_ns in zip((pair.ingress, pair.egress), units, strict=True):
        frames[:] = [f._replace(ts_ns=f.ts_ns // unit_ns * unit_ns) for f in frames]
    sides = write_sides(tmp_path, pair)

    found = document(capsys, *sides, "--no-content")
    run = analyse_pairs([Pair("capture", *map(Path, sides))], tmp_path / "run", MatchOptions())
    [trial] = analyse_run(run).trials

    assert [found[side]["resolution_ns"] for side in ("ingress", "egress")] == list(units)
    warnings = found["warnings"]
    words = "time stamps are whole 1 µs: a latency is up to 1 µs"
    assert [w.split(words)[1].split()[0] for w in warnings if words in w] == coarse
    means = [w for w in warnings if "not as coarse" in w]
    assert [w.split("latencies are ")[1].split(" on average")[0] for w in means] == off
    assert len(warnings) == len(coarse) + len(off)
    assert [w for w in trial.warnings if w in warnings] == warnings


def test_few_frames_are_whole_microseconds_by_chance(tmp_path, capsys):
    sides = write_sides(tmp_path, made_pair(9, gap_ns=100_000, latency_ns=3_000))

    assert document(capsys, *sides, "--no-content")["warnings"] == []


def test_the_pace_of_a_made_file_is_no_coarse_stamp(tmp_path, capsys):
    sides = write_sides(tmp_path, made_pair(1_000, gap_ns=100_000))

    assert document(capsys, *sides, "--no-content")["warnings"] == []


@pytest.mark.parametrize(("is_cut", "n_told"), [(False, 0), (True, 2)])
def test_latencies_far_more_alike_than_stamps_are_coarse_show_a_made_file(
    tmp_path, capsys, is_cut, n_told
):
    """A file of bursts, which have no distance; a few packets may be late for all that."""
    pair = made_pair(1_000, gap_ns=1_010_007)
    cut = [f._replace(ts_ns=f.ts_ns // 10**7 * 10**7) for f in pair.ingress]
    if not is_cut:
        pair.egress[:] = [
            f._replace(ts_ns=c.ts_ns + 3_301 + i % 977 + (i % 50 == 0) * 8_000_000)
            for i, (f, c) in enumerate(zip(pair.egress, cut, strict=True))
        ]
    pair.ingress[:] = cut
    sides = write_sides(tmp_path, pair)

    warnings = document(capsys, *sides, "--no-content")["warnings"]

    assert len([w for w in warnings if "time stamps" in w]) == n_told


def test_packets_that_the_capture_dropped_are_told_from_the_devices(tmp_path, capsys):
    pair = made_pair(1_000)
    plant_loss(pair, 10)
    sides = [
        str(write_capture(tmp_path / name, pcapng_bytes(frames) + statistics_block(dropped)))
        for name, frames, dropped in (("in", pair.ingress, 0), ("out", pair.egress, 10))
    ]

    found = document(capsys, *sides, "--no-content")

    assert (found["lost"], found["ingress"]["dropped"], found["egress"]["dropped"]) == (10, 0, 10)
    assert found["warnings"] == [
        f"{sides[1]}: 10 packets were dropped while it was captured, as it says: "
        "up to so many of the lost are not the device's"
    ]


@pytest.mark.parametrize("side", [0, 1])
def test_a_stamp_in_the_future_is_named_by_its_frame(tmp_path, capsys, side):
    """All behind it match nothing, though their stamps are right."""
    pair = made_pair(2_000)
    frames = (pair.ingress, pair.egress)[side]
    frames[100] = frames[100]._replace(ts_ns=frames[100].ts_ns + 3_600 * 10**9)
    sides = write_sides(tmp_path, pair)

    found = document(capsys, *sides, "--no-content")

    assert (found["matched"], found["orphans"]) == (100, 1900)
    assert found["warnings"][1] == (
        f"{sides[side]}: frame 101 is stamped 1 h 0 min later than one behind it, more than "
        "the window: 1899 frames match as of its time, and up to so many count as lost or orphans; "
        "if its stamp is wrong, take it out (editcap FILE OUT 101), if the clock was set back, "
        "cut the file there"
    )


def test_a_clock_set_back_in_both_files_is_no_leap_where_all_match(tmp_path, capsys):
    """One host captured both; the packet that the device lost is not the clock's."""
    pair = made_pair(2_000)
    plant_loss(pair, 1)
    set_back_ns = pair.ingress[1_000].ts_ns
    for frames in (pair.ingress, pair.egress):
        frames[:] = [f._replace(ts_ns=f.ts_ns + 10**10 * (f.ts_ns < set_back_ns)) for f in frames]

    found = document(capsys, *write_sides(tmp_path, pair), "--no-content")

    assert (found["matched"], found["lost"]) == (1_999, 1)
    assert not any("is stamped" in said for said in found["warnings"])


def test_neighbours_in_the_wrong_order_are_no_leap(tmp_path, capsys):
    pair = made_pair(2_000)
    plant_loss(pair, 3)
    plant_backwards(pair, 3)
    sides = write_sides(tmp_path, pair)

    found = document(capsys, *sides, "--no-content")

    assert found["egress"]["backwards"] == 3
    assert not any("is stamped" in said for said in found["warnings"])


def test_records_passed_over_are_said_to_have_a_number_of_their_own(tmp_path, capsys):
    pair = made_pair(200)
    pair.egress[100] = pair.egress[100]._replace(ts_ns=pair.egress[100].ts_ns + 10**10)
    frames = pcapng_bytes(pair.egress)
    simple = simple_packet_block(pair.egress[0])
    sides = [str(write_capture(tmp_path / "in", pcap_bytes(pair.ingress))), str(tmp_path / "out")]
    # Behind the section and its interface.
    at = 28 + 20 + 8 + 12 + 4
    (tmp_path / "out").write_bytes(frames[:at] + simple + frames[at:])

    [said] = (w for w in document(capsys, *sides)["warnings"] if "is stamped" in w)

    assert "frame 101, without those passed over, is stamped" in said
    assert "(editcap)" in said


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("holding", [(True, True), (True, False), (False, True)])
def test_frames_that_hold_their_fcs_match_or_are_told(tmp_path, capsys, declared, holding):
    """Of the shortest ones it is in the key, and other MAC addresses make it another one."""
    sides = []
    for side, holds in enumerate(holding):
        frames = [made_frame(10**9 + i * 10**5 + side * 3_000, i, 0, 60) for i in range(50)]
        frames = [f._replace(data=bytes([side]) * 12 + f.data[12:]) for f in frames]
        link_type = 1 | FCS_DECLARED * (holds and declared)
        content = pcap_bytes(with_fcs(frames) if holds else frames, link_type=link_type)
        sides.append(str(write_capture(tmp_path / str(side), content)))

    found = document(capsys, *sides, "--no-content")
    told = [w for w in found["warnings"] if "frames may hold their FCS: try --key 12-59" in w]

    assert (found["matched"], len(told)) == ((50, 0) if declared else (0, 1))
    if not declared:
        assert document(capsys, *sides, "--no-content", "--key", "12-59")["matched"] == 50


@pytest.mark.parametrize("version", [4, 6])
def test_behind_a_router_the_key_without_an_fcs_leaves_out_what_it_changes(
    tmp_path, capsys, version
):
    """TTL and header checksum of IPv4, the hop limit of IPv6: network has them."""
    sides = []
    for side in (0, 1):
        frames = [made_frame(10**9 + i * 10**5 + side * 3_000, i, 0, 60) for i in range(50)]
        changed = (22, 24, 25) if version == 4 else (21,)
        for i, frame in enumerate(frames):
            data = bytearray(frame.data)
            data[:12] = bytes([side]) * 12
            if version == 6:
                data[12:15] = b"\x86\xdd\x60"
            for at in changed:
                data[at] = 64 - side
            frames[i] = frame._replace(data=bytes(data))
        sides.append(str(write_capture(tmp_path / str(side), pcap_bytes(with_fcs(frames)))))

    warnings = document(capsys, *sides, "--no-content", "--key", "routed")["warnings"]
    [said] = (w for w in warnings if "nothing" in w)

    assert "network" not in said
    key = said.split("frames may hold their FCS: try --key ")[1]
    assert document(capsys, *sides, "--no-content", "--key", key)["matched"] == 50


@pytest.mark.parametrize("side", [0, 1])
def test_a_tag_pushed_or_popped_is_followed_by_the_key_network(tmp_path, capsys, side):
    """What was padded to 60 bytes without the tag needs less with it."""
    pair = made_pair(100)
    for frames in (pair.ingress, pair.egress):
        frames[:] = [f._replace(data=f.data[:16] + b"\0\x20" + f.data[18:]) for f in frames]
    tagged = (pair.ingress, pair.egress)[side]
    tagged[:] = [Frame(f.ts_ns, f.data[:12] + b"\x81\0\0\x07" + f.data[12:56], 60) for f in tagged]
    sides = write_sides(tmp_path, pair)

    [said] = (w for w in document(capsys, *sides, "--no-content")["warnings"] if "nothing" in w)

    assert "or network if it pushes or pops a VLAN tag" in said
    found = document(capsys, *sides, "--no-content", "--key", "network")
    assert (found["key"], found["matched"]) == ("network", 100)
