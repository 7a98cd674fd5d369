"""Gaps of taut-forward: all of them on disk, whoever kills it and whatever is full."""

import json
import os
import resource
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from forwarding import run, runtime_folders, start, stop
from taut.records import layout
from taut.records.raw_file import RawFile, open_raw
from waiting import wait_for

pytestmark = [pytest.mark.smoke, pytest.mark.beside]

# Every iteration is then a gap: millions a second.
ALL_GAPS = ("--port", "ring:a", "--gap-threshold", "1ns")
LOG_RING = 1 << 20  # gaps the log holds in memory


def wait_for_gaps(gaps: Path, n: int) -> None:
    """Wait until so many are in the file, however long this machine takes for them."""
    wait_for(f"{n} gaps", lambda: gaps.stat().st_size >= n * layout.GAP.itemsize, 120)


def test_gaps_are_on_disk_however_many_there_are(run_dir: Path, tmp_path: Path) -> None:
    gaps, stats = tmp_path / "gaps.bin", tmp_path / "stats.json"
    process = start(*ALL_GAPS, "--gaps", str(gaps), "--stats", str(stats))

    wait_for_gaps(gaps, LOG_RING + 1000)
    stop(process)

    counts = json.loads(stats.read_text())["gaps"]
    raw = open_raw(gaps, layout.RecordKind.GAP)
    assert raw.n_records == counts["n"] - counts["not_logged"]
    assert raw.n_records > LOG_RING
    assert n_before_a_hole(raw) >= (LOG_RING if counts["not_logged"] else raw.n_records)
    gaps.unlink()


def n_before_a_hole(raw: RawFile) -> int:
    """How many gaps begin where the one before them ended, until one is missing.

    While the writer waits for its core, memory takes the gaps: none of as many as it holds may be
    missing. Later it may have been full. They are in order in any case. What is shorter than half
    an iteration is none that is missing: after an interruption a processor may give two readings
    of its counter that are one tick apart, which no threshold takes for a gap.
    """
    n, n_whole, before = 0, 0, None
    for gaps in raw.chunks():
        starts, ends = gaps["start_tsc"], gaps["end_tsc"]
        expected = np.concatenate([starts[:1] if before is None else [before], ends[:-1]])
        assert (starts >= expected).all()
        holes = np.flatnonzero(starts - expected > np.median(ends - starts) / 2)
        if n_whole == n:
            n_whole += int(holes[0]) if holes.size else len(gaps)
        n, before = n + len(gaps), ends[-1]
    return n_whole


def test_a_killed_forwarder_leaves_the_gaps_it_had_written(run_dir: Path, tmp_path: Path) -> None:
    gaps = tmp_path / "gaps.bin"
    process = start(*ALL_GAPS, "--gaps", str(gaps))

    wait_for_gaps(gaps, 50_000)
    process.kill()
    process.communicate()

    raw = open_raw(gaps, layout.RecordKind.GAP)
    assert raw.n_records > 1000
    assert n_before_a_hole(raw) >= min(raw.n_records, LOG_RING)
    gaps.unlink()
    for folder in runtime_folders():
        # Any program of taut removes those of the dead.
        with suppress(FileNotFoundError):
            folder.rmdir()


def test_a_log_that_is_bounded_has_so_many_gaps_and_counts_all(
    run_dir: Path, tmp_path: Path
) -> None:
    gaps, stats = tmp_path / "gaps.bin", tmp_path / "stats.json"

    done = run(
        *(*ALL_GAPS, "--duration", "50ms", "--gaps", str(gaps), "--gaps-most", "10"),
        *("--stats", str(stats)),
    )

    assert done.returncode == 0, done.stderr
    counts = json.loads(stats.read_text())["gaps"]
    raw = open_raw(gaps, layout.RecordKind.GAP)
    assert raw.n_records == 10
    assert counts["not_logged"] == counts["n"] - 10 > 0


def test_without_a_file_gaps_are_counted_only(run_dir: Path, tmp_path: Path) -> None:
    stats = tmp_path / "stats.json"

    done = run(*ALL_GAPS, "--duration", "50ms", "--stats", str(stats))

    assert done.returncode == 0, done.stderr
    counts = json.loads(stats.read_text())["gaps"]
    assert counts["n"] == counts["not_logged"] > 0


def test_a_disk_without_room_for_gaps_ends_it_with_an_error_and_whole_counters(
    run_dir: Path, tmp_path: Path
) -> None:
    gaps, stats = tmp_path / "gaps.bin", tmp_path / "stats.json"

    # Huge pages are files to the kernel: they would meet the limit first.
    done = run(
        *(*ALL_GAPS, "--duration", "2s", "--gaps", str(gaps), "--stats", str(stats)),
        *("--", "--no-huge"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16)),
    )

    assert done.returncode == 1
    assert f"--gaps {gaps}: File too large" in done.stderr
    assert json.loads(stats.read_text())["gaps"]["not_logged"] > 0
    raw = open_raw(gaps, layout.RecordKind.GAP)
    assert n_before_a_hole(raw) == raw.n_records


def cores_of_threads(pid: int) -> dict[str, list[int]]:
    """Give the name of each thread and the cores it may use."""
    tasks = [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]
    return {
        Path(f"/proc/{pid}/task/{task}/comm").read_text().strip(): sorted(
            os.sched_getaffinity(task)
        )
        for task in tasks
    }


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_gaps_are_written_on_another_core_than_the_poller_s(run_dir: Path, tmp_path: Path) -> None:
    first, *_, last = sorted(os.sched_getaffinity(0))
    for asked, poller, writer in (
        ((), last, first),
        (("--core", str(first)), first, sorted(os.sched_getaffinity(0))[1]),
        (("--core", str(last), "--writer-core", str(last)), last, last),
    ):
        process = start("--port", "ring:a", "--gaps", str(tmp_path / "gaps.bin"), *asked)
        threads = cores_of_threads(process.pid)
        stop(process)

        assert threads["taut-forward"] == [poller]
        assert threads["taut-writer"] == [writer]
