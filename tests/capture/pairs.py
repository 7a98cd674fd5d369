"""What the tests of all matchers share: random pairs, packet rows, the real pair."""

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from made_captures import Frame, made_frame, read_pcap
from taut.records.convert import PACKET_SCHEMA

HIPNET21 = Path(__file__).resolve().parents[3] / "shared" / "data" / "hipnet21"
INGRESS = "dpdk-l2fwd-hw-10kpps-pre.pcap.zst"
EGRESS = "dpdk-l2fwd-hw-10kpps-post.pcap.zst"

# Time runs on, stands still, runs backwards or leaps; keys are few; some frames are snapped.
_STEPS = st.lists(
    st.tuples(st.sampled_from((-6, -1, 0, 0, 1, 2, 3, 9, 40)), st.integers(0, 4), st.booleans()),
    max_size=14,
)


def _made_side(side: int, first_ns: int, steps: list[tuple[int, int, bool]]) -> list[Frame]:
    frames, ts_ns = [], first_ns
    for step_ns, ident, is_snapped in steps:
        ts_ns += step_ns
        cap_len = 50 if is_snapped and ident == 0 else None
        frames.append(made_frame(ts_ns, ident, side, 60 + 20 * (ident % 3), cap_len))
    return frames


# For windows of 1 to 12 ns.
SMALL_PAIRS = st.builds(
    lambda ingress, egress, offset_ns: (
        _made_side(0, 1_000, ingress),
        _made_side(1, 1_000 + offset_ns, egress),
    ),
    _STEPS,
    _STEPS,
    st.integers(-20, 20),
)


def rows_of(table: pa.Table) -> Counter[tuple[int | None, ...]]:
    """Packet rows, in no order."""
    columns = [table.column(name).to_pylist() for name in PACKET_SCHEMA.names]
    return Counter(zip(*columns, strict=True))


def hipnet21(name: str) -> Path:
    """Give a file of the real pair; skip where it is not."""
    if not HIPNET21.is_dir():
        pytest.skip(f"{HIPNET21} is absent: the real pair is not part of taut")
    return HIPNET21 / name


@cache
def real_pair() -> tuple[list[Frame], list[Frame]]:
    """Both files of the real pair."""
    return read_pcap(hipnet21(INGRESS)), read_pcap(hipnet21(EGRESS))


@cache
def expected() -> dict[str, Any]:
    """What is known of the real pair."""
    return json.loads(hipnet21("expected.json").read_text())


def assert_latencies_are(latency_ns: np.ndarray, known: dict[str, Any]) -> None:
    """Compare latencies with a block of expected.json, to the nanosecond."""
    latency_ns = np.sort(latency_ns)
    assert len(latency_ns) == known["n"]
    assert (latency_ns[0], latency_ns[-1]) == (known["min"], known["max"])
    for name, value_ns in known.items():
        if name.startswith("perc_"):
            digits = name.removeprefix("perc_")
            per, of = int(digits), 10 ** len(digits)
            at = -(-len(latency_ns) * per // of) - 1  # percentile_disc, in integers
            assert latency_ns[at] == value_ns, name
    assert latency_ns.mean() == pytest.approx(known["mean"], rel=1e-9)
    assert latency_ns.std(ddof=1) == pytest.approx(known["stdev_sample"], rel=1e-9)
