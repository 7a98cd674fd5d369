"""The acceptance of `taut analyze`: a real pair with known answers, and files that are broken."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from acceptance_run import TAUT
from capture.pairs import EGRESS, INGRESS, expected, hipnet21, real_pair
from made_captures import (
    FORMATS,
    Frame,
    made_pair,
    pcap_bytes,
    plant_ambiguous,
    plant_duplicates,
    plant_loss,
    plant_reordering,
    planted_pair,
    write_as,
    write_capture,
)
from servers import missing_spark
from stages import SPARK_AT_LENGTH
from taut.cli.main import run_command
from taut.core.binaries import find_binary
from waiting import wait_for

# Numbers of files, not of this machine.
pytestmark = [pytest.mark.acceptance, pytest.mark.beside]

PERCENTILES = {
    "p50": "perc_50",
    "p90": "perc_90",
    "p99": "perc_99",
    "p99.9": "perc_999",
    "p99.99": "perc_9999",
    "p99.999": "perc_99999",
    "p99.9999": "perc_999999",
}
SKIPS = {"0s": "unfiltered", "1s": "filtered", "15s": "after15s"}
HEADER_LEN, RECORD_LEN = 24, 16 + 100


def analyze(*arguments: object, timeout_s: float = 280) -> subprocess.CompletedProcess[str]:
    argv = [*TAUT, "analyze", *map(str, arguments)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=timeout_s)


def document(*arguments: object) -> dict[str, Any]:
    done = analyze(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def assert_expected(found: dict[str, Any], skip: str) -> None:
    """All that expected.json knows of one population."""
    known = expected()[SKIPS[skip]]
    latency = found["latency_ns"]
    names = {**PERCENTILES, "n": "n", "min": "min", "max": "max"}
    assert {name: latency[name] for name in names} == {n: known[k] for n, k in names.items()}
    assert latency["mean"] == pytest.approx(known["mean"], rel=1e-6)
    assert latency["stdev"] == pytest.approx(known["stdev_sample"], rel=1e-6)
    jitter = expected().get(f"jitter_rfc4689_{SKIPS[skip]}")
    if jitter is not None:
        assert (found["jitter_ns"]["n"], found["jitter_ns"]["max"]) == (jitter["n"], jitter["max"])
        assert found["jitter_ns"]["mean"] == pytest.approx(jitter["mean"], rel=1e-6)
        assert found["jitter_ns"]["stdev"] == pytest.approx(jitter["stdev_sample"], rel=1e-6)
    histogram = {"0s": "hist", "1s": "hist_filtered"}.get(skip)
    if histogram is not None:
        assert found["histogram_ns"] == {"bin": 100, "counts": expected()[histogram]}
    assert found["skipped_warmup"] == expected()["n_pre"] - known["n"]


def assert_all_matched(found: dict[str, Any]) -> None:
    truth = expected()
    assert (found["ingress"]["frames"], found["egress"]["frames"]) == (
        truth["n_pre"],
        truth["n_post"],
    )
    assert (found["matched"], found["lost"]) == (truth["matched"], truth["lost"])
    assert found["transfer_rate"] == truth["transferrate"]
    assert (found["duplicate_keys"], found["duplicates"], found["orphans"]) == (0, 0, 0)
    assert (found["negative"], found["beyond_window"], found["out_of_sequence"]) == (0, 0, 0)
    assert found["ingress"]["first_ns"] == truth["first_pre_ts"]
    assert found["egress"]["first_ns"] == truth["first_post_ts"]


@pytest.mark.parametrize("skip", SKIPS)
def test_the_real_pair_gives_the_known_numbers(skip: str) -> None:
    found = document(hipnet21(INGRESS), hipnet21(EGRESS), "--skip", skip)

    assert_all_matched(found)
    assert_expected(found, skip)
    assert found["warnings"] == []
    assert found["content"]["classes"] == []


def in_an_engine(
    capsys: pytest.CaptureFixture[str], engine_at: tuple[str, str | None], *arguments: object
) -> dict[str, Any]:
    """In this process: Spark's driver takes half a minute to be as fast as it will be."""
    name, url = engine_at
    at = ("--engine", name, *(["--engine-url", url] if url else []))
    words = ["analyze", *map(str, arguments), "--no-content", *at, "--json"]
    assert run_command(words) == 0
    return json.loads(capsys.readouterr().out)


@SPARK_AT_LENGTH
def test_every_engine_matches_and_gives_the_known_numbers(
    engine_at: tuple[str, str | None], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = (hipnet21(INGRESS), hipnet21(EGRESS), "--skip", "1s")

    found = in_an_engine(capsys, engine_at, *asked, "--match", "engine")

    assert found == document(*asked, "--no-content")
    assert_expected(found, "1s")


@SPARK_AT_LENGTH
def test_every_engine_gives_the_same_of_what_was_matched_natively(
    engine_at: tuple[str, str | None], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pair = made_pair(2_000)
    pair.egress[:] = [f._replace(ts_ns=f.ts_ns + f.ts_ns // 7 % 1_000) for f in pair.egress]
    for plant in (plant_loss, plant_duplicates, plant_reordering, plant_ambiguous):
        plant(pair, 9)
    before = write_capture(tmp_path / "in.pcap", pcap_bytes(pair.ingress))
    after = write_capture(tmp_path / "out.pcap", pcap_bytes(pair.egress))
    asked = (before, after, "--skip", "50ms")

    found = in_an_engine(capsys, engine_at, *asked, "--match", "native")

    assert found == document(*asked, "--no-content")
    assert found["skipped_warmup"] > 0


@pytest.mark.long
def test_a_taut_of_its_own_brings_its_spark_and_ends_with_it(tmp_path: Path) -> None:
    if reason := missing_spark():
        pytest.skip(reason)
    ingress, egress = frames_of(100)
    before = write_capture(tmp_path / "in.pcap", pcap_bytes(ingress))
    after = write_capture(tmp_path / "out.pcap", pcap_bytes(egress))

    found = document(before, after, "--no-content", "--engine", "spark")

    assert found == document(before, after, "--no-content")


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "microsecond"])
def test_every_format_gives_the_known_numbers(tmp_path: Path, name: str) -> None:
    ingress, egress = real_pair()
    files = [
        write_as(tmp_path, name, frames, stem)
        for frames, stem in ((ingress, "in"), (egress, "out"))
    ]
    found = document(*files, "--no-content")

    assert_all_matched(found)
    assert_expected(found, "0s")


def test_microseconds_give_the_numbers_rounded_as_they_must(tmp_path: Path) -> None:
    ingress, egress = real_pair()
    files = [
        write_as(tmp_path, "microsecond", frames, stem)
        for frames, stem in ((ingress, "in"), (egress, "out"))
    ]
    found = document(*files, "--no-content")
    latencies = sorted(
        after.ts_ns // 1000 * 1000 - before.ts_ns // 1000 * 1000
        for before, after in zip(ingress, egress, strict=True)
    )

    assert (found["matched"], found["lost"]) == (len(latencies), 0)
    assert (found["latency_ns"]["min"], found["latency_ns"]["max"]) == (
        latencies[0],
        latencies[-1],
    )
    assert found["latency_ns"]["mean"] == pytest.approx(sum(latencies) / len(latencies), rel=1e-12)
    for name, over in (("p50", 2), ("p99", 100), ("p99.9", 1000)):
        rank = -(-len(latencies) * (over - 1) // over)
        assert found["latency_ns"][name] == latencies[rank - 1]


def frames_of(n: int) -> tuple[Sequence[Frame], Sequence[Frame]]:
    pair = made_pair(n)
    return pair.ingress, pair.egress


def test_a_file_cut_in_a_record_loses_that_record_only(tmp_path: Path) -> None:
    ingress, egress = frames_of(1000)
    before = write_capture(tmp_path / "in.pcap", pcap_bytes(ingress))
    after = write_capture(tmp_path / "out.pcap", pcap_bytes(egress)[:-50])
    found = document(before, after)

    assert (found["egress"]["frames"], found["egress"]["truncated"]) == (999, 1)
    assert (found["matched"], found["lost"]) == (999, 1)
    [warning] = found["warnings"]
    assert str(after) in warning
    assert str(HEADER_LEN + 999 * RECORD_LEN) in warning


def test_a_flipped_length_costs_one_frame(tmp_path: Path) -> None:
    ingress, egress = frames_of(1000)
    content = bytearray(pcap_bytes(ingress))
    at = HEADER_LEN + 500 * RECORD_LEN
    content[at + 8] ^= 0x80
    before = write_capture(tmp_path / "in.pcap", bytes(content))
    after = write_capture(tmp_path / "out.pcap", pcap_bytes(egress))
    found = document(before, after)

    assert (found["ingress"]["frames"], found["matched"]) == (999, 999)
    assert found["orphans"] == 1
    assert any(str(before) in warning and str(at) in warning for warning in found["warnings"])


def test_another_link_type_is_refused_in_one_line(tmp_path: Path) -> None:
    ingress, egress = frames_of(10)
    content = bytearray(pcap_bytes(ingress))
    content[20:24] = (113).to_bytes(4, "little")
    before = write_capture(tmp_path / "in.pcap", bytes(content))
    after = write_capture(tmp_path / "out.pcap", pcap_bytes(egress))
    done = analyze(before, after, "--json")

    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    assert str(before) in line
    assert "113" in line


@pytest.mark.parametrize("content", [b"", b"not a capture, whatever its name says"])
def test_what_is_no_capture_is_said_in_one_line(tmp_path: Path, content: bytes) -> None:
    ingress, _ = frames_of(10)
    before = write_capture(tmp_path / "in.pcap", pcap_bytes(ingress))
    after = tmp_path / "out.pcap"
    after.write_bytes(content)
    done = analyze(before, after, "--json")

    if content:
        assert (done.returncode, done.stdout) == (2, "")
        [line] = done.stderr.splitlines()
        assert str(after) in line
    else:
        found = json.loads(done.stdout)
        assert (found["egress"]["frames"], found["lost"]) == (0, 10)
        assert any(str(after) in warning for warning in found["warnings"])


def test_egress_before_ingress_is_measured_and_said(tmp_path: Path) -> None:
    ingress, egress = frames_of(1000)
    before = write_capture(tmp_path / "in.pcap", pcap_bytes(ingress))
    after = write_capture(tmp_path / "out.pcap", pcap_bytes(egress))
    found = document(after, before)

    assert (found["matched"], found["negative"], found["lost"]) == (1000, 1000, 0)
    assert found["latency_ns"]["p50"] == -3175
    [warning] = found["warnings"]
    assert "wrong order" in warning


def test_clocks_far_apart_get_the_remedy(tmp_path: Path) -> None:
    ingress, egress = frames_of(1000)
    ahead_ns = 3_600_000_000_000
    late = [frame._replace(ts_ns=frame.ts_ns + ahead_ns) for frame in egress]
    before = write_capture(tmp_path / "in.pcap", pcap_bytes(ingress))
    after = write_capture(tmp_path / "out.pcap", pcap_bytes(late))
    found = document(before, after)
    remedy = next(w for w in found["warnings"] if "--offset" in w).split("--offset ")[1]

    assert found["matched"] == 0
    assert document(before, after, "--offset", remedy)["matched"] == 1000


def test_drift_is_seen_and_taken_off_only_when_asked(tmp_path: Path) -> None:
    ingress, egress = frames_of(2000)
    first_ns = ingress[0].ts_ns
    # 100 us a second, which 200 ms of capture shows.
    fast = [f._replace(ts_ns=f.ts_ns + (f.ts_ns - first_ns) // 10_000) for f in egress]
    before = write_capture(tmp_path / "in.pcap", pcap_bytes(ingress))
    after = write_capture(tmp_path / "out.pcap", pcap_bytes(fast))
    found = document(before, after)
    removed = document(before, after, "--remove", "drift")

    clocks = found["clocks"]
    assert clocks["drift_ppb"] == pytest.approx(100_000, rel=1e-3)
    assert any("drift" in warning for warning in found["warnings"])
    assert found["latency_ns"]["max"] > 20_000
    assert removed["latency_ns"]["max"] - removed["latency_ns"]["min"] <= 20
    assert removed["egress_drift_ppb"] == pytest.approx(100_000, rel=1e-3)


def test_planted_faults_are_all_counted(tmp_path: Path) -> None:
    pair = planted_pair()
    before = write_capture(tmp_path / "in.pcap", pcap_bytes(pair.ingress))
    after = write_capture(tmp_path / "out.pcap.zst", pcap_bytes(pair.egress))
    found = document(before, after, "--window", "20ms")

    for name in ("lost", "duplicates", "orphans", "beyond_window", "out_of_sequence"):
        assert found[name] == pair.truth[name], name
    assert found["duplicate_keys"] == pair.truth["duplicate_keys"] > 0


def test_a_run_directory_holds_what_a_live_run_leaves(tmp_path: Path) -> None:
    ingress, egress = frames_of(5000)
    before = write_capture(tmp_path / "in.pcap", pcap_bytes(ingress))
    after = write_capture(tmp_path / "out.pcap", pcap_bytes(egress))
    out = tmp_path / "run"
    done = analyze(before, after, "--out", out, "--name", "device")

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"Report: {out / 'report.html'}"
    [result] = json.loads((out / "results.json").read_text())["trials"]
    assert (result["dut"], result["matched"], result["latency_ns"]["p50"]) == (
        "device",
        5000,
        3175,
    )
    assert result["sums_reconcile"]
    [trial] = (out / "trials").iterdir()
    left = {path.name for path in trial.iterdir()}
    assert {"packets.parquet", "histogram.parquet", "latency.hgrm", "latency.hlog"} <= left
    assert not {"raw", "ingress_heads.bin"} & left
    # A second time in the same place would mix two runs.
    again = analyze(before, after, "--out", out)
    assert again.returncode == 2
    assert str(out) in again.stderr


def test_every_packet_is_written_to_one_file_when_asked(tmp_path: Path) -> None:
    ingress, egress = frames_of(5000)
    before = write_capture(tmp_path / "in.pcap", pcap_bytes(ingress))
    after = write_capture(tmp_path / "out.pcap", pcap_bytes(egress))
    packets = tmp_path / "packets.parquet"

    found = document(before, after, "--parquet", packets)

    table = pq.read_table(packets)
    assert table.num_rows == found["matched"] == 5000
    latency = np.subtract(table["received_ns"].to_numpy(), table["sent_ns"].to_numpy())
    assert latency.max() == found["latency_ns"]["max"]
    refused = analyze(before, after, "--parquet", packets)
    assert refused.returncode == 2
    assert "--parquet: goes with --json" in refused.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_killed_it_leaves_nothing_that_the_next_in_its_place_does_not_remove(
    tmp_path: Path, number: signal.Signals
) -> None:
    ingress, egress = frames_of(1000)
    before = write_capture(tmp_path / "in.pcap", pcap_bytes(ingress))
    after = tmp_path / "out.pcap"
    os.mkfifo(after)
    out = tmp_path / "run"
    argv = [*TAUT, "analyze", str(before), str(after), "--out", str(out)]
    # A group of its own, as a terminal gives it: Ctrl-C reaches the matcher too.
    process = subprocess.Popen(
        argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    with after.open("wb") as pipe:
        # Half of the frames, so that it is in the middle of its work.
        pipe.write(pcap_bytes(egress)[: HEADER_LEN + 500 * RECORD_LEN])
        pipe.flush()
        time.sleep(0.5)
        if number is signal.SIGINT:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        status = process.wait(60)

    assert status == (130 if number is signal.SIGINT else -signal.SIGKILL)
    # A killed parent takes its child along.
    wait_for("an end of the matcher", lambda: not running(str(after)))
    left = [p for p in out.rglob("*") if p.is_file() and ".tmp-" not in str(p)]
    assert left == ([] if number is signal.SIGINT else [out / ".taut-scratch"])
    whole = write_capture(tmp_path / "whole.pcap", pcap_bytes(egress))
    again = analyze(before, whole, "--out", out)
    assert again.returncode == 0, again.stderr
    assert [path.name for path in (out / "trials").iterdir()] == ["001-capture-capture-r1"]
    assert not (out / ".taut-scratch").exists()


def running(argument: str) -> bool:
    """Whether a taut-match works on that file."""
    name = find_binary("taut-match").name
    found = subprocess.run(["pgrep", "-f", f"{name}.*{argument}"], capture_output=True)
    return found.returncode == 0
