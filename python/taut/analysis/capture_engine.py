"""A pair of captures measured, and if asked matched, inside an engine: the same numbers.

For captures that outgrow one machine, and for those who keep their captures in a database anyway.
"""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from taut.analysis.distribution import measure_records, select_metric
from taut.analysis.statistics import Integers
from taut.analysis.tables import load_packets, name_tables
from taut.capture.frames import EGRESS_KEYS_FILE, INGRESS_KEYS_FILE, write_frames
from taut.capture.matching import class_counts, match_in_engine
from taut.capture.native import Matched
from taut.core.errors import TautError
from taut.records.documents.match import MatchCounts
from taut.storage.engine import Engine


@dataclass(frozen=True)
class TableSeries:
    """Gives the distribution of a metric after the warm-up from distribution.parquet's table."""

    distribution: pa.Table

    def __call__(self, metric: str) -> tuple[Integers, Integers]:
        rows = select_metric(self.distribution, metric)
        rows = rows.filter(pc.invert(rows["is_cold"]))
        return rows["value_ns"].to_numpy(), rows["n"].to_numpy()


def measure_matched(engine: Engine, packets_parquet: Path) -> TableSeries:
    """Measure in the engine the packets the native matcher found."""
    load_packets(engine, packets_parquet)
    return TableSeries(measure_records(engine, n_flows=1).distribution)


def match_and_measure(
    engine: Engine, matched: Matched, window_ns: int, skip_ns: int
) -> tuple[MatchCounts, TableSeries]:
    """Match the frames taut-match read (--keys) by a join in the engine, and measure them there.

    The engine's counts are held against those of the native matcher.
    """
    sides: dict[str, Path] = {}
    for side, keys in (("ingress", INGRESS_KEYS_FILE), ("egress", EGRESS_KEYS_FILE)):
        raw = matched.folder / keys
        sides[side] = matched.folder / f"{side}_frames.parquet"
        write_frames(raw, sides[side])
        # The Parquet file now holds all of it, and the disk may not have room for both.
        raw.unlink()
    match_in_engine(engine, sides["ingress"], sides["egress"], window_ns, skip_ns)
    counts = class_counts(engine)
    if counts != matched.counts:
        raise TautError(
            f"the engine counts {counts}, the native matcher {matched.counts}: a bug of taut"
        )
    engine.define("record", "SELECT * FROM matched_record")
    name_tables(engine)
    return counts, TableSeries(measure_records(engine, n_flows=1).distribution)
