"""`taut analyze --with RUN`: captures of one device searched by content together."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

from analyze_run import document, write_sides
from made_captures import (
    Frame,
    frame_bytes,
    made_pair,
    pcap_bytes,
    plant_loss,
    shift_clock,
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
