"""The synthetic pairs of bench/: the data's own format, and what they say of themselves."""

from collections import Counter
from pathlib import Path

import pytest

import make_pair
from capture import reference
from capture.pairs import EGRESS, INGRESS, hipnet21
from made_captures import Frame, read_pcap

WINDOW_NS = 5_000_000_000


def made(folder: Path, **options: object) -> tuple[list[Frame], list[Frame], dict[str, object]]:
    files = folder / "a.pcap", folder / "b.pcap"
    truth = make_pair.make_pair(*files, make_pair.Pair(**options))
    return read_pcap(files[0]), read_pcap(files[1]), truth


@pytest.mark.parametrize("variant", make_pair.VARIANTS)
@pytest.mark.parametrize("rate_pps", [10_000, 1_000_000])
def test_the_reference_finds_what_was_planted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variant: str, rate_pps: int
) -> None:
    # Chunks and faults as many as a small pair can hold.
    monkeypatch.setattr(make_pair, "CHUNK", 512)
    for share in ("LOST", "DUPLICATED", "HELD_BACK"):
        monkeypatch.setattr(make_pair, share, 0.02)

    ingress, egress, truth = made(tmp_path, frames=2300, rate_pps=rate_pps, variant=variant)
    found = reference.match_frames(ingress, egress, WINDOW_NS)

    assert truth["counts"] == reference.counts(found)
    latencies = Counter(f.partner.ts_ns - f.ts_ns for f in found.ingress if f.fate == "matched")
    values = sorted(latencies.elements())
    assert (truth["latency_ns"]["min"], truth["latency_ns"]["max"]) == (values[0], values[-1])
    assert truth["latency_ns"]["p50"] == values[-(-len(values) // 2) - 1]
    assert truth["latency_ns"]["p99"] == values[-(-len(values) * 99 // 100) - 1]


@pytest.mark.parametrize(
    ("variant", "faults"),
    [
        ("plain", ()),
        ("lossy", ("lost",)),
        ("duplicates", ("duplicates", "duplicate_keys")),
        ("reordered", ("out_of_sequence",)),
        ("scrambled", ("out_of_sequence",)),
        ("mixed", ("lost", "duplicates", "duplicate_keys", "out_of_sequence")),
    ],
)
def test_a_variant_has_its_faults_and_no_other(
    tmp_path: Path, variant: str, faults: tuple[str, ...]
) -> None:
    _, egress, truth = made(tmp_path, frames=50_000, variant=variant)

    counts = truth["counts"]
    possible = ("lost", "duplicates", "duplicate_keys", "out_of_sequence")
    assert tuple(name for name in possible if counts[name] > 0) == faults
    stamps = [frame.ts_ns for frame in egress]
    assert (stamps == sorted(stamps)) == (variant not in ("scrambled", "mixed"))


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    first, second, other = (
        made(tmp_path, frames=500, seed=seed, variant="mixed")[:2] for seed in (1, 1, 2)
    )

    assert first == second != other


def test_latencies_are_those_of_the_published_pair(tmp_path: Path) -> None:
    _, _, truth = made(tmp_path, frames=200_000)

    latency_ns = truth["latency_ns"]
    assert latency_ns["p50"] == 3175
    assert 3300 < latency_ns["p99"] < 3400 <= latency_ns["p99.9"] < 3450
    assert 4050 < latency_ns["p99.99"] < latency_ns["max"] == 4275


@pytest.mark.parametrize("side", [0, 1])
def test_frames_are_those_of_the_published_pair(tmp_path: Path, side: int) -> None:
    real = read_pcap(hipnet21((INGRESS, EGRESS)[side]))[:300]
    frames = made(tmp_path, frames=300)[side]

    # Byte for byte: the addresses, the identifiers and both checksums.
    assert [frame.data for frame in frames] == [frame.data for frame in real]
    assert frames[0].ts_ns // 10**6 == real[0].ts_ns // 10**6
