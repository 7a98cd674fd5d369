"""A trial of slow packets alone: what is usual in it is what all of its packets would say."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from made_trace import write_trial
from taut.core.errors import InputError
from taut.explain import Options, explain_trial
from taut.explain.read.counted_normal import HISTOGRAM, read_counted_normal
from taut.records.documents.generator import GeneratorResult
from taut.records.documents.trial import Traffic, TrialDocument

SECOND_NS = 1_000_000_000


def document() -> TrialDocument:
    return TrialDocument(
        traffic=Traffic(duration_ns=9 * SECOND_NS, warm_up_ns=SECOND_NS, record="tail"),
        generator=GeneratorResult(
            counters={"void": 7, "lost": 5, "lost_cold": 2, "unsent": 9, "unsent_cold": 7}
        ),
    )


def write(trial: Path, counts: dict[int, int]) -> None:
    """Beside them stand those of another series, and a warm-up that was slow."""
    table = pa.table(
        {
            "series": ["service"] * len(counts) + ["intent", "service"],
            "direction": [0] * (len(counts) + 2),
            "is_cold": [False] * (len(counts) + 1) + [True],
            "value_ns": [*counts, 1, 5_000_000],
            "n": [*counts.values(), 99, 400],
        }
    )
    pq.write_table(table, trial / HISTOGRAM)


def test_the_threshold_is_a_percentile_of_all_packets_not_of_those_recorded(
    tmp_path: Path,
) -> None:
    # Out of order, as directions follow each other in the file.
    write(tmp_path, {90_000: 10, 2_000: 500, 1_000: 490})

    normal = read_counted_normal(tmp_path, document(), "p99")

    assert (normal.n_packets, normal.low_ns, normal.p50_ns) == (1_000, 1_000, 2_000)
    assert normal.threshold_ns == 2_000
    assert normal.mean_interval_ns == 9 * SECOND_NS // 1_000
    assert (normal.n_void, normal.n_gone) == (7, 5)
    assert normal.is_partial
    assert read_counted_normal(tmp_path, document(), "p99.5").threshold_ns == 90_000
    assert read_counted_normal(tmp_path, document(), "25us").threshold_ns == 25_000


def test_where_no_packet_came_back_there_is_nothing_to_explain(tmp_path: Path) -> None:
    write(tmp_path, {})

    with pytest.raises(InputError, match="no packet came back"):
        read_counted_normal(tmp_path, document(), "p99")


def test_a_trial_so_quiet_that_no_packet_was_recorded_is_explained(tmp_path: Path) -> None:
    traffic = {"duration_ns": SECOND_NS, "warm_up_ns": 0, "record": "tail"}
    trial = write_trial(tmp_path, [], meta={"traffic": traffic})
    write(trial, {900: 1_000})

    found = explain_trial(trial, Options())

    assert (found.n_packets, found.n_tail, found.worst) == (1_000, 0, ())
