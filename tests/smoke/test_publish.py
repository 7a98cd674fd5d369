"""taut-generate --publish: others see what it has counted, while it runs and to the last packet."""

import signal
import socket
from pathlib import Path

import numpy as np
import pytest

from generator_run import LOOP, run, start
from taut.core.errors import InputError
from taut.core.files import write_json
from taut.records.documents.generator import GeneratorResult
from taut.records.documents.json_form import read_document
from taut.records.layout import HistogramSeries, RecordKind
from taut.records.live import LIVE_FILE, Live
from taut.records.raw_file import open_raw
from waiting import wait_for

pytestmark = pytest.mark.smoke

SOON = ("--warm-up", "100ms", "--duration", "1m", "--rate", "50kpps", "--publish")


def _no_rest() -> None:
    pass


def test_a_reader_sees_counters_and_latencies_grow_and_has_all_of_them_at_the_end(
    tmp_path: Path,
) -> None:
    process = start(tmp_path, *LOOP, *SOON)
    wait_for("live", lambda: (tmp_path / LIVE_FILE).exists() or process.poll() is not None)
    live = Live(tmp_path / LIVE_FILE)
    wait_for("some packets", lambda: live.counters()["matched"] > 1000)
    seen = [np.zeros(live.buckets.n, np.uint64) for _ in range(2)]
    first = [live.add_latencies(seen[v], _no_rest, is_void=bool(v)) for v in range(2)]
    early = live.counters()
    assert 0 < live.elapsed_ns() < 60_000_000_000
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)

    # The program is gone; what it counted is not, as long as somebody reads.
    assert process.returncode == 130
    assert live.has_ended
    result = read_document(GeneratorResult, tmp_path / "generator.json")
    assert live.counters() == result.counters
    assert live.gaps().n == result.gaps.n
    assert early["sent"] <= result.counters["sent"]
    rest = [live.add_latencies(seen[v], _no_rest, is_void=bool(v)) for v in range(2)]
    written = np.concatenate(
        list(open_raw(tmp_path / "histograms.bin", RecordKind.HISTOGRAM).chunks())
    )
    for is_void in range(2):
        assert first[is_void].n + rest[is_void].n == seen[is_void].sum()
        own = written[
            (written["series"] == HistogramSeries.SERVICE)
            & (written["is_void"] == is_void)
            & (written["is_cold"] == 0)
        ]
        index = np.flatnonzero(seen[is_void])
        ticks = np.rint(live.buckets.bounds_ns(index) * live.tsc_hz / 1e9).astype(np.int64)
        assert ticks.tolist() == own["value_ticks"].tolist()
        assert seen[is_void][index].tolist() == own["count"].tolist()
    assert not (tmp_path / LIVE_FILE).is_symlink()


def test_what_a_killed_generator_had_counted_is_still_there(tmp_path: Path) -> None:
    process = start(tmp_path, *LOOP, "--duration", "1m", "--rate", "50kpps", "--publish")
    wait_for("live", lambda: (tmp_path / LIVE_FILE).exists() or process.poll() is not None)
    live = Live(tmp_path / LIVE_FILE)
    wait_for("some packets", lambda: live.counters()["matched"] > 1000)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)

    counters = live.counters()

    assert not live.has_ended
    # It counts a packet as due first; it may have been killed in between.
    assert 0 <= counters["due"] - counters["sent"] - counters["unsent"] <= 1
    assert counters["matched"] > 1000
    with pytest.raises(InputError, match="it has ended"):
        Live(tmp_path / LIVE_FILE)


@pytest.mark.root
def test_a_reader_sees_foreign_frames_when_they_come(
    tmp_path: Path, veth_pair: tuple[str, str]
) -> None:
    tx, rx = veth_pair
    process = start(tmp_path, "--tx", f"veth:{tx}", "--rx", f"veth:{rx}", "--warm-up", "0s",
                    "--duration", "1m", "--rate", "1kpps", "--publish")  # fmt: skip
    wait_for("live", lambda: (tmp_path / LIVE_FILE).exists() or process.poll() is not None)
    live = Live(tmp_path / LIVE_FILE)
    wait_for("some packets", lambda: live.counters()["sent"] > 0)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as other:
        other.bind((tx, 0))
        other.send(bytes(60))
    wait_for("the frame", lambda: live.counters()["foreign"] > 0)

    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    result = read_document(GeneratorResult, tmp_path / "generator.json")
    assert live.counters()["foreign"] == result.counters["foreign"]


def test_nothing_is_published_unless_asked(tmp_path: Path) -> None:
    run(tmp_path, *LOOP, "--warm-up", "0s", "--duration", "50ms", "--rate", "10kpps")

    assert not (tmp_path / LIVE_FILE).is_symlink()


def test_a_file_that_is_no_generators_is_refused_in_one_line(tmp_path: Path) -> None:
    write_json(tmp_path / LIVE_FILE, ["x" * 300])

    with pytest.raises(InputError, match="of another version than taut"):
        Live(tmp_path / LIVE_FILE)
