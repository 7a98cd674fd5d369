"""A soak for Prometheus: a textfile that node_exporter's collector reads, written with each row.

Counters grow over all segments; of the row alone are percentiles, maximum and memory. Buckets stand
at the limits of the requirements, so that a rule asks for what the verdict asks for.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from prometheus_client import CollectorRegistry, write_to_textfile
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from taut.core.errors import TautError
from taut.records.documents.soak import SHARES, Row
from taut.records.segments import Kept

_NS_PER_S = 1e9
_LABELS = ("soak", "device")
_COUNTS = ("sent", "lost", "unsent", "void", "late", "duplicates", "orphans", "out_of_sequence")


class SoakMetrics:
    """What was counted of one device up to the last row (a collector of prometheus_client)."""

    def __init__(
        self, soak: str, device: str, planned_ns: int, limits_ns: Sequence[int], path: Path
    ) -> None:
        self._labels = (soak, device)
        self._planned_s = planned_ns / _NS_PER_S
        self._above = {str(limit): 0 for limit in sorted(limits_ns)}
        self._counts = dict.fromkeys(_COUNTS, 0)
        self._n_latencies = 0
        self._sum_ns = 0.0
        self._measured_ns = 0
        self._last: Row | None = None
        self._path = path
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def add_segments(self, kept: Iterable[Kept]) -> None:
        """Count what was measured before this taut began."""
        for one in kept:
            for row in one.segment.rows:
                self._add(row)
            # Rows of an older taut have no sum.
            self._sum_ns += one.all.sum_ns

    def told(self, row: Row) -> None:
        """Count a row and write the file whole; TautError: it cannot be written."""
        self._add(row)
        self._sum_ns += row.sum_ns or 0.0
        try:
            write_to_textfile(str(self._path), self._registry)
        except OSError as error:
            raise TautError(
                f"--prometheus {self._path}: {error.strerror}; name a file in a folder that is "
                "there"
            ) from None

    def _add(self, row: Row) -> None:
        for name in self._counts:
            self._counts[name] += row.counters.get(name, 0)
        for limit in self._above:
            self._above[limit] += row.above[limit]
        self._n_latencies += row.latency.n
        self._measured_ns += row.end_ns - row.start_ns
        self._last = row

    def collect(self) -> Iterator[Metric]:
        """Give what prometheus_client is to write: nothing before the first row."""
        if self._last is None:
            return
        packets = CounterMetricFamily(
            "taut_soak_packets", "Packets by what became of them.", labels=[*_LABELS, "fate"]
        )
        for name, n in self._counts.items():
            packets.add_metric([*self._labels, name], n)
        yield packets
        latency = HistogramMetricFamily(
            "taut_soak_latency_seconds",
            "Service latency of packets that came back; the sum is of the buckets that taut counts "
            "in, and less than 0.01 % too small.",
            labels=_LABELS,
        )
        total = self._n_latencies
        within = [
            (f"{int(limit) / _NS_PER_S:g}", float(total - n)) for limit, n in self._above.items()
        ]
        latency.add_metric(
            self._labels, [*within, ("+Inf", float(total))], sum_value=self._sum_ns / _NS_PER_S
        )
        yield latency
        yield from self._of_row(self._last)
        measured = CounterMetricFamily(
            "taut_soak_measured_seconds", "Time that was measured.", labels=_LABELS
        )
        measured.add_metric(self._labels, self._measured_ns / _NS_PER_S)
        yield measured
        planned = GaugeMetricFamily(
            "taut_soak_planned_seconds", "Time that is to be measured.", labels=_LABELS
        )
        planned.add_metric(self._labels, self._planned_s)
        yield planned

    def _of_row(self, row: Row) -> Iterator[Metric]:
        quantiles = GaugeMetricFamily(
            "taut_soak_row_latency_seconds",
            "Percentiles of the last row alone; they cannot be added up.",
            labels=[*_LABELS, "percentile"],
        )
        for name in SHARES:
            value = row.latency.percentiles_ns[name]
            if value is not None:
                quantiles.add_metric([*self._labels, name], value / _NS_PER_S)
        yield quantiles
        most = GaugeMetricFamily(
            "taut_soak_row_max_seconds", "The slowest packet of the last row.", labels=_LABELS
        )
        if row.latency.max_ns is not None:
            most.add_metric(self._labels, row.latency.max_ns / _NS_PER_S)
        yield most
        memory = GaugeMetricFamily(
            "taut_soak_memory_bytes",
            "Resident memory of taut and of what it started.",
            labels=[*_LABELS, "program"],
        )
        for program, n_bytes in row.memory_bytes.items():
            memory.add_metric([*self._labels, program], n_bytes)
        yield memory
