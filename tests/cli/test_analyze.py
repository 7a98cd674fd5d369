"""`taut analyze --with RUN`: captures of one device searched by content together."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest

from made_captures import (
    FCS_DECLARED,
    Frame,
    MadePair,
    frame_bytes,
    made_frame,
    made_pair,
    pcap_bytes,
    pcapng_bytes,
    plant_backwards,
    plant_loss,
    shift_clock,
    simple_packet_block,
    statistics_block,
    with_fcs,
    write_capture,
)
from made_run import VARIANTS, make_run
from taut.analysis.judging import judge_run
from taut.analysis.results import analyse_run
from taut.capture.companions import find_companions
from taut.capture.native import MatchOptions
from taut.capture.pair_run import Pair, analyse_pairs
from taut.cli.main import run_command
from taut.core.requirement import parse_requirement
from taut.report.run_warnings import lines_of, warnings_of

WRAP = 1 << 12
SLOW = 3_000  # the identifier that is slow; two packets of a capture have it

# Of its own files alone.
pytestmark = [pytest.mark.smoke, pytest.mark.beside]


def frame(ident: int, ts_ns: int, side: int) -> Frame:
    """A frame whose identifier comes back, and whose payload does not."""
    data = bytearray(frame_bytes(ident, side=side))
    data[18:20] = (ident % WRAP).to_bytes(2, "big")
    return Frame(ts_ns, bytes(data), len(data))


def write_pair(folder: Path, first_id: int, start_s: int) -> list[str]:
    """Two wraps of the identifier; where it is 3,000 the device takes 3 us longer."""
    folder.mkdir()
    rng = np.random.default_rng(first_id)
    idents = np.arange(2 * WRAP) + first_id
    sent_ns = start_s * 10**9 + np.arange(2 * WRAP) * 100_000
    latency_ns = rng.normal(3200, 40, 2 * WRAP).astype(int) + 3000 * (idents % WRAP == SLOW)
    sides = []
    for side, times_ns in enumerate((sent_ns, sent_ns + latency_ns)):
        frames = [frame(*of, side) for of in zip(idents.tolist(), times_ns.tolist(), strict=True)]
        sides.append(str(write_capture(folder / f"{side}.pcap", pcap_bytes(frames))))
    return sides


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two captures of one device, and the run that the first of them left."""
    folder = tmp_path_factory.mktemp("with")
    first = write_pair(folder / "first", 0, 1)
    write_pair(folder / "second", 500, 9)
    pair = Pair("capture", Path(first[0]), Path(first[1]))
    analyse_run(analyse_pairs([pair], folder / "run", MatchOptions()))
    return folder


def second(folder: Path) -> list[str]:
    return [str(folder / "second" / f"{side}.pcap") for side in (0, 1)]


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run_command(["analyze", *arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_value_that_neither_capture_shows_is_settled_by_both(folder, capsys):
    alone = document(capsys, *second(folder))
    together = document(capsys, *second(folder), "--with", str(folder / "run"))

    assert alone["content"]["classes"] == []
    (found,) = together["content"]["classes"]
    assert (found["field"], found["value"], found["alternative"]) == ("ipv4 id", str(SLOW), None)
    assert found["by_capture"] == [{"packets": 2, "in_tail": 2}] * 2
    assert together["content"]["captures"] == 2

    # As --out does, but for the report, which takes seconds to draw.
    companions = find_companions([folder / "run"])
    pair = Pair("capture", *map(Path, second(folder)))
    run = analyse_pairs([pair], folder / "together", MatchOptions(), companions=companions)
    analyse_run(run)
    [trial] = json.loads((run.path / "results.json").read_text())["trials"]
    assert trial["capture"]["content"] == together["content"]
    assert trial["capture"]["together_with"] == [str(companions[0].path)]


def test_packets_that_are_all_skipped_are_not_said_to_be_missing(folder, tmp_path, capsys):
    said = "every matched packet is within --skip: nothing is measured"
    assert said in document(capsys, *second(folder), "--skip", "100s")["warnings"]

    pair = Pair("capture", *map(Path, second(folder)))
    run = analyse_pairs([pair], tmp_path / "run", MatchOptions(skip_ns=100 * 10**9))
    analysis = analyse_run(run)

    assert said in analysis.trials[0].warnings
    assert "capture returned no packet after the warm-up." in analysis.verdict
    lines = lines_of(warnings_of([], [(run, analysis)]))
    assert lines[0].endswith(": no packet came back after the warm-up.")
    assert any(line.startswith(said) for line in lines)


def test_what_is_skipped_was_not_measured(folder, tmp_path):
    # Captures of 819 ms, of which 619 are left.
    pair = Pair("capture", *map(Path, second(folder)))
    run = analyse_pairs([pair], tmp_path / "run", MatchOptions(skip_ns=200 * 10**6))
    rules = [parse_requirement(f"max < 100us for {ms}ms") for ms in (600, 700)]

    shorter, longer = judge_run(run, analyse_run(run), rules)

    assert shorter.verdict.value == "pass", shorter.said
    assert longer.verdict.value == "inconclusive"
    assert longer.said.endswith("; 619 ms of 700 ms were measured")


def test_frames_that_are_no_probes_are_not_said_to_be_short(folder, capsys):
    found = document(capsys, *second(folder), "--key", "probe")

    assert found["ingress"]["too_short_for_key"] == 2 * WRAP
    for side in second(folder):
        assert (
            f"{side}: {2 * WRAP} frames are no probes of taut, or too short to tell; "
            "they take no part"
        ) in found["warnings"]
    assert not any("fewer bytes than the key needs" in said for said in found["warnings"])


def cut_pair(folder: Path, of_ingress: slice, of_egress: slice, ahead_ns: int) -> list[str]:
    """Parts of two captures of 100 ms, of which the egress clock is ahead; some are lost inside."""
    pair = made_pair(1_000)
    plant_loss(pair, 5)
    shift_clock(pair, ahead_ns)
    folder.mkdir()
    sides = (pair.ingress[of_ingress], pair.egress[of_egress])
    return [
        str(write_capture(folder / f"{side}.pcap", pcap_bytes(frames)))
        for side, frames in enumerate(sides)
    ]


ALL, FIRST, LAST = slice(None), slice(500), slice(-500, None)


@pytest.mark.parametrize("ahead_ns", [0, 500_000_000, -500_000_000])
@pytest.mark.parametrize(
    ("of_ingress", "of_egress", "said"),
    [
        (ALL, ALL, None),
        (ALL, FIRST, r"ingress file goes on for (49\.\d|50) ms after .* count as lost; "),
        (ALL, LAST, r"ingress file begins (49\.\d|50) ms before .* count as lost; "),
        (FIRST, ALL, r"egress file goes on for 50 ms after .* count as orphans; "),
        (LAST, ALL, r"egress file begins 50 ms before .* count as orphans; "),
    ],
)
def test_captures_that_begin_or_end_apart_are_told(
    tmp_path, capsys, of_ingress, of_egress, said, ahead_ns
):
    pair = cut_pair(tmp_path / "pair", of_ingress, of_egress, ahead_ns)

    found = document(capsys, *pair, "--no-content")["warnings"]
    run = analyse_pairs([Pair("capture", *map(Path, pair))], tmp_path / "run", MatchOptions())
    [trial] = analyse_run(run).trials

    for warnings in (found, trial.warnings):
        apart = [warning for warning in warnings if "editcap" in warning]
        assert len(apart) == (said is not None)
        assert said is None or re.match(f"the {said}", apart[0])


def refused(capsys: pytest.CaptureFixture[str], arguments: Sequence[str]) -> str:
    capsys.readouterr()
    assert run_command(["analyze", *arguments, "--json"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    return line


def test_what_cannot_be_searched_together_is_one_line_and_2(folder, tmp_path, capsys):
    pair, run = second(folder), str(folder / "run")
    first = [str(folder / "first" / f"{side}.pcap") for side in (0, 1)]
    live = make_run(tmp_path / "live", VARIANTS[:1], repetitions=1)
    out = ["--out", str(tmp_path / "out")]

    assert "no such run directory" in refused(capsys, [*pair, "--with", str(tmp_path / "none")])
    assert "holds no captures" in refused(capsys, [*pair, "--with", str(live)])
    assert "the same capture" in refused(capsys, [*pair, "--with", run, "--with", run])
    assert "the same capture" in refused(capsys, [*first, "--with", run])
    assert "the same capture" in refused(capsys, [*first, "--with", run, *out])
    assert not (tmp_path / "out").exists()
    assert "--no-content forbids" in refused(capsys, [*pair, "--with", run, "--no-content"])


def test_a_run_that_keeps_no_heads_or_damaged_ones_is_refused(folder, tmp_path, capsys):
    run = tmp_path / "run"
    copytree(folder / "run", run)
    [heads] = run.glob("trials/*/heads.parquet")
    heads.unlink()  # as --no-content leaves it

    arguments = [*second(folder), "--with", str(run)]
    assert "keeps no heads of its frames" in refused(capsys, arguments)
    heads.write_bytes(b"no parquet")
    assert "heads.parquet: damaged" in refused(capsys, arguments)


def test_captures_of_one_packet_keep_the_rate_that_nobody_asked_for(tmp_path: Path):
    """Their names may be any bytes."""
    sides = [tmp_path / f"\udcff{side}.pcap" for side in (0, 1)]
    for side, path in enumerate(sides):
        path.write_bytes(pcap_bytes([frame(7, 10_000 + 3_000 * side, side)]))

    analysis = analyse_run(
        analyse_pairs([Pair("capture", *sides)], tmp_path / "run", MatchOptions())
    )

    [row], [trial] = analysis.variants, analysis.trials
    assert row.latency.p50_ns == 3_000
    assert row.rate_ok and trial.warnings == ()
    assert trial.device.path == f"{sides[0]} to {sides[1]}"


def write_sides(folder: Path, pair: MadePair) -> list[str]:
    return [
        str(write_capture(folder / f"{side}.pcap", pcap_bytes(frames)))
        for side, frames in enumerate((pair.ingress, pair.egress))
    ]


def test_jitter_of_captures_is_said_to_be_across_flows(tmp_path, capsys):
    """Of two flows in turn, each as steady as can be, it is the distance between them."""
    pair = made_pair(1_000)
    pair.egress = [f._replace(ts_ns=f.ts_ns + 3_000 * (i % 2)) for i, f in enumerate(pair.egress)]
    sides = write_sides(tmp_path, pair)

    found = document(capsys, *sides, "--no-content")
    run = analyse_pairs([Pair("capture", *map(Path, sides))], tmp_path / "run", MatchOptions())
    [trial] = analyse_run(run).trials

    assert found["jitter_ns"]["p50"] == 3_000
    for definition in (
        found["jitter_ns"]["definition"],
        trial.figures.metrics.all_packets["jitter"].definition,
    ):
        assert "RFC" not in definition
        assert "whatever their flow" in definition
    assert "RFC" not in found["ipdv_ns"]["definition"]


def test_a_queue_that_fills_is_not_taken_off_as_a_drift(tmp_path, capsys):
    """A thousandth more than the device carries: no two clocks part so fast."""
    pair = made_pair(1_000)
    first_ns = pair.ingress[0].ts_ns
    pair.egress = [f._replace(ts_ns=f.ts_ns + (f.ts_ns - first_ns) // 1_000) for f in pair.egress]
    sides = write_sides(tmp_path, pair)

    warnings = document(capsys, *sides, "--no-content")["warnings"]

    assert any("the least latency grows by 1,000,000 ± " in said for said in warnings)
    for remove in ("drift", "both"):
        assert "a queue that fills" in refused(capsys, [*sides, "--remove", remove])


@pytest.mark.parametrize("remove", ["drift", "both"])
@pytest.mark.parametrize("drift_ppm", [100, -100])
@pytest.mark.parametrize("egress_later_s", [-10, 0, 10])
def test_a_drift_is_taken_off_whichever_capture_begins_first(
    tmp_path, capsys, remove, drift_ppm, egress_later_s
):
    """Of 20 s and a latency of 0; the clocks agree at the first of all stamps."""
    pair = made_pair(4_000, gap_ns=5_000_000, latency_ns=0)
    first_ns = pair.ingress[0].ts_ns
    parted = [
        f._replace(ts_ns=f.ts_ns + (f.ts_ns - first_ns) * drift_ppm // 10**6) for f in pair.egress
    ]
    pair.egress = parted[max(egress_later_s, 0) * 200 :]
    pair.ingress = pair.ingress[max(-egress_later_s, 0) * 200 :]
    apart_ns = (pair.ingress[0].ts_ns - first_ns) * drift_ppm // 10**6

    sides = write_sides(tmp_path, pair)
    found = document(capsys, *sides, "--no-content", "--remove", remove)

    expected_ns = 0 if remove == "both" else apart_ns  # at the first ingress stamp
    latency = found["latency_ns"]
    assert abs(latency["p50"] - expected_ns) <= 2
    assert latency["max"] - latency["min"] <= 4
    assert abs(found["clocks"]["drift_ppb"]) < 0.5
    assert not any("--remove" in said for said in found["warnings"])


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
        "the window: 1899 frames match as of its time, and count as lost or orphans; if its stamp "
        "is wrong, take it out (editcap FILE OUT 101), if the clock was set back, cut the file "
        "there"
    )


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
