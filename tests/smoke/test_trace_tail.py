"""taut-trace --mode tail beside a generator: what it keeps is all there was, then, and no more."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import generator_run
from stops import stop_for
from taut.core.binaries import find_binary
from taut.records.layout import EVENT, EVENT_KINDS, PacketFlag
from waiting import wait_until_ran

pytestmark = [pytest.mark.smoke, pytest.mark.root]
CORE = max(os.sched_getaffinity(0))
MARGIN_NS = 1_000_000
N_STOPS = 6
ODD = generator_run.ODD | PacketFlag.COLD


@contextmanager
def tracing(out: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run it in the background, armed; skip where it cannot be."""
    argv = [str(find_binary("taut-trace")), "--cores", str(CORE), "--out", str(out), *arguments]
    process = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = ""
    try:
        for line in process.stderr:
            said = line
            if line.strip() == "taut-trace: armed":
                break
        else:
            process.wait()
            if process.returncode == 2:
                pytest.skip(said.strip())
            pytest.fail(said)
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str], out: Path) -> tuple[dict[str, Any], np.ndarray]:
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    _, events = generator_run.read_records(out / "events.bin", EVENT)
    return json.loads((out / "trace.json").read_text()), events


def is_kind(events: np.ndarray, kind: str) -> np.ndarray:
    return events["kind"] == EVENT_KINDS.index(kind)


def surroundings(packets: np.ndarray, over_ticks: float, margin_ticks: int) -> np.ndarray:
    """From when to when a packet was on its way that was late or lost, and the margin."""
    own = packets[(packets["flags"] & ODD) == 0]
    sent = np.where(own["sent_tsc"] > 0, own["sent_tsc"], own["due_tsc"]).astype(np.int64)
    came = own["received_tsc"].astype(np.int64)
    is_late = (came == 0) | (came - sent > over_ticks)
    until = np.where(came == 0, sent, came)
    return np.stack([sent[is_late] - margin_ticks, until[is_late] + margin_ticks], axis=1)


def inside(tsc: np.ndarray, spans: np.ndarray) -> np.ndarray:
    """Mark what lies in one of the spans at least."""
    starts, ends = np.sort(spans[:, 0]), np.sort(spans[:, 1])
    begun, over = np.searchsorted(starts, tsc, "right"), np.searchsorted(ends, tsc, "left")
    return begun > over


@contextmanager
def forwarding(ports: Sequence[str]) -> Iterator[int]:
    """Run a device on the first core; gives its number."""
    argv = [str(find_binary("taut-forward")), "--core", str(min(os.sched_getaffinity(0)))]
    argv += [word for port in ports for word in ("--port", port)]
    process = subprocess.Popen([*argv, "--", "--no-huge"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert "ready" in process.stdout.readline()
        yield process.pid
    finally:
        process.terminate()
        process.communicate()


def send_with_stops(out: Path, tx: str, rx: str, device: int) -> None:
    """Send through a device that is stopped again and again."""
    generator = generator_run.start(
        out, "--tx", tx, "--rx", rx, "--rate", "10kpps", "--duration", "60s",
        "--warm-up", "500ms", "--core", str(CORE), "--", "--no-huge",
    )  # fmt: skip
    generator_run.wait_until_sending(generator, out)
    # What waits in a device that stands is late, and of 100 packets that are due meanwhile many
    # come to wait, though the machine may keep the generator from sending half of the time.
    for _ in range(N_STOPS):
        wait_until_ran(generator.pid, 0.5)
        stop_for(device, 10_000_000)
    wait_until_ran(generator.pid)
    generator.send_signal(signal.SIGINT)
    _, said = generator.communicate(timeout=60)
    assert generator.returncode == 130, said


@pytest.mark.timing
def test_around_late_packets_all_is_kept_that_a_whole_trace_has(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
):
    tail, whole = tmp_path / "tail", tmp_path / "whole"
    # A socket's path may have 107 characters.
    tx, rx = (f"memif:{tmp_path_factory.mktemp('r')}/s.sock" for _ in range(2))
    follow = ["--mode", "tail", "--follow", str(tail / "packets.bin"), "--over", "200us"]
    with (
        forwarding([tx, rx]) as device,
        tracing(whole, "--buffer", "16MB") as all_of_it,
        tracing(tail, *follow, "--buffer", "16MB") as some_of_it,
    ):
        send_with_stops(tail, tx, rx, device)
        document, kept = ended(some_of_it, tail)
        reference, events = ended(all_of_it, whole)

    told = document["tail"]
    result = generator_run.read(tail)
    hz = json.loads((tail / "generator.json").read_text())["clock"]["tsc_hz"]
    ticks = hz / 1e9
    assert (told["over"], told["margin_ns"], told["over_disk"]) == ("200us", MARGIN_NS, 0)
    assert document["lost"] == reference["lost"] == []
    asked = surroundings(result.packets, 200_000 * ticks, int(MARGIN_NS * ticks))
    # The kernel's marks are for the whole time that is not told of otherwise.
    skipped = kept[is_kind(kept, "skipped")]
    rest = kept[~is_kind(kept, "skipped")]
    assert len(rest) == told["kept"]
    assert told["skipped"] == int(skipped["args"][:, 0].sum())
    assert (np.diff(kept["tsc"].astype(np.int64)) >= 0).all()
    holes = np.stack([skipped["tsc"], skipped["args"][:, 1]], axis=1).astype(np.int64)
    assert (holes[1:, 0] >= holes[:-1, 1]).all()
    # What is not near a late one is left out.
    assert len(asked) > N_STOPS * 10
    assert len(holes) > 0

    # Both were armed in this time, and were not yet stopped.
    armed = max(document["armed_tsc"], reference["armed_tsc"])
    stopped = min(document["stopped_tsc"], reference["stopped_tsc"])
    tsc = events["tsc"].astype(np.int64)
    events, tsc = events[(tsc > armed) & (tsc < stopped)], tsc[(tsc > armed) & (tsc < stopped)]
    in_hole = inside(tsc, holes)
    # What was asked for is in no hole (the ticks of the margin are rounded differently) ...
    assert not (inside(tsc, asked + np.array([2, -2])) & in_hole).any()
    # ... and outside the holes the two have the same, event by event.
    before = rest[(rest["tsc"] > armed) & (rest["tsc"] < stopped)]
    # Each trace has an instance of its own, which stamps an event by itself, and sees the other's
    # system calls and switches alike.
    for cpu_kind in ("irq_entry", "softirq_entry", "vector_entry", "switch", "timer_entry"):
        of = is_kind(events, cpu_kind) & (events["cpu"] == CORE) & ~in_hole
        found = is_kind(before, cpu_kind) & (before["cpu"] == CORE)
        assert int(of.sum()) == pytest.approx(int(found.sum()), abs=len(holes) + 2)
    assert told["most_bytes"] <= told["memory_bytes"]


@pytest.mark.long
def test_few_records_speak_for_all_packets_before_events_fill_the_memory(tmp_path: Path):
    # Of 10 kpkt/s the slowest hundredth: a second of them is a page of the ring.
    follow = ["--mode", "tail", "--follow", str(tmp_path / "packets.bin"), "--memory", "8MB"]
    waking = [sys.executable, "-c", "import time\nwhile True: time.sleep(2e-4)"]
    waker = subprocess.Popen(["taskset", "--cpu-list", str(CORE), *waking])
    try:
        with tracing(tmp_path, *follow, "--buffer", "16MB") as process:
            generator_run.run(
                tmp_path, *generator_run.LOOP, "--rate", "10kpps", "--duration", "20s",
                "--record", "tail", "--record-void", "slow", "--record-within", "200ms",
                "--core", str(CORE), "--", "--no-huge",
            )  # fmt: skip
            document, _ = ended(process, tmp_path)
    finally:
        waker.kill()
        waker.wait()

    told = document["tail"]
    result = generator_run.read(tmp_path)
    counters = result.summary["counters"]
    assert document["lost"] == []
    # The percentile is of all packets from the first record to the last, though few have one. Where
    # a slow time of the machine ends, seconds may pass without a record.
    own = result.packets[(result.packets["flags"] & ODD) == 0]
    seq = own["seq"][own["received_tsc"] > 0].astype(np.int64)
    n_lost = int((own["received_tsc"] == 0).sum())
    assert told["packets"] == int(seq.max() - seq.min()) + 1 - n_lost
    assert len(result.packets) < told["packets"] / 2
    assert told["packets"] <= counters["matched"]
    # All that there was is more than the memory holds: some had its verdict meanwhile.
    assert (told["kept"] + told["skipped"]) * EVENT.itemsize > told["memory_bytes"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--mode", "tail"], "--mode tail: needs --follow FILE"),
        (["--follow", "packets.bin"], "--follow: only --mode tail"),
        (["--mode", "tail", "--follow", "x", "--over", "p"], "--over p: wanted a percentile"),
        (["--mode", "tail", "--follow", "x", "--memory", "1KB"], "--memory 1KB: wanted a size"),
        (["--mode", "tail", "--follow", "x", "--disk", "much"], "--disk much: wanted a size"),
    ],
)
def test_bad_input_is_one_line_and_status_2(tmp_path: Path, arguments: list[str], words: str):
    argv = [str(find_binary("taut-trace")), "--cores", str(CORE), "--out", str(tmp_path)]

    done = subprocess.run([*argv, *arguments], capture_output=True, text=True, timeout=60)

    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_file_that_is_none_of_packets_ends_it_with_a_word(tmp_path: Path):
    other = tmp_path / "packets.bin"
    with tracing(tmp_path, "--mode", "tail", "--follow", str(other)) as process:
        other.write_bytes(b"no records of packets" * 20)
        _, errors = process.communicate(timeout=60)

    assert process.returncode == 1
    assert f"--follow {other}: no packet records" in errors
