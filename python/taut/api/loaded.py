"""A run directory as Python sees it: its documents, its figures, the tables of its trials."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from taut.analysis.pairing import read_analysis
from taut.analysis.results import is_measured
from taut.analysis.trial_tables import DISTRIBUTION
from taut.analysis.worst import WORST
from taut.api import Document
from taut.api.table import Derived, Table, parquet_table, table_of
from taut.core.errors import InputError, telling
from taut.core.words import did_you_mean
from taut.explain.tell.unexplained import LEFT_OUT, is_left_out
from taut.records.documents.figures import Figures
from taut.records.documents.json_form import plain_object
from taut.records.documents.results import (
    Analysis,
    Results,
    TrialFigures,
    TrialResult,
    summary_document,
)
from taut.records.documents.trial import Failure
from taut.records.layout import EXTRA_RECORD, PacketFlag
from taut.records.rundir import RunDirectory, TrialDirectory
from taut.records.tables import EVENTS, GAPS, PACKETS, STAMPS

_NOT_EVERY_PACKET = 'not every packet was recorded (record = "all" does)'


@telling()
def load(path: str | os.PathLike[str]) -> "Run":
    """Open a run directory. InputError: it is none, or a file of it is damaged.

    Figures are those that `taut run` or `taut report` wrote; where none fit they are computed, once
    they are asked for, and written as `taut report` does.
    """
    run = RunDirectory(Path(path))
    run.some_trials()
    return Run(run.path)


@dataclass(frozen=True)
class Run:
    """One run directory; read again by `taut.load` when it has changed."""

    path: Path

    @cached_property
    @telling()
    def trials(self) -> tuple["Trial", ...]:
        """Every finished trial, whole and failed, in the order they ran."""
        return tuple(Trial(one.name, self, one) for one in self._directory.trials())

    @cached_property
    @telling()
    def manifest(self) -> Document:
        """Give manifest.json: what was measured, on which machine."""
        return plain_object(self._directory.manifest())

    @cached_property
    def results(self) -> Document:
        """Give results.json: everything that was found of each trial."""
        return plain_object(Results(self._analysis.trials))

    @cached_property
    def summary(self) -> Document:
        """Give summary.json: the verdict, repetitions pooled to variants, what metrics mean."""
        return summary_document(self._analysis)

    @property
    def verdict(self) -> str:
        """The sentence on top of the report."""
        return self._analysis.verdict

    @cached_property
    def figures(self) -> Table:
        """Every figure of every metric of each whole trial, one a row; a time is in ns."""
        rows = [row for trial in self._analysis.trials for row in _figure_rows(trial)]
        return table_of(f"{self.path.name} figures", pa.Table.from_pylist(rows, _FIGURES))

    @property
    def _directory(self) -> RunDirectory:
        return RunDirectory(self.path)

    @cached_property
    @telling()
    def _analysis(self) -> Analysis:
        return read_analysis(self._directory)


@dataclass(frozen=True)
class Trial:
    """One trial of a run. A table that it does not have is an InputError that says why."""

    name: str
    run: Run = field(repr=False, compare=False)
    _directory: TrialDirectory = field(repr=False, compare=False)

    @property
    def path(self) -> Path:
        """The folder of its files."""
        return self._directory.path

    @property
    def is_whole(self) -> bool:
        """Whether it ended as planned; a failed one has no figures."""
        return self._directory.is_whole

    @cached_property
    def document(self) -> Document:
        """Give trial.json: what was asked and achieved, counters, or why it failed."""
        return plain_object(self._directory.meta)

    @cached_property
    def results(self) -> Document:
        """Give its entry of results.json."""
        return plain_object(self._result)

    @cached_property
    def metrics(self) -> dict[str, Document]:
        """Give n, min, mean, percentiles, max of each metric, in ns; InputError: it failed."""
        found = self._measured.metrics.all_packets
        return {name: plain_object(figures) for name, figures in found.items()}

    def figure(
        self, name: str, metric: str = "latency", *, without_void: bool = False
    ) -> float | None:
        """Give one figure, as `figure("p99.9")`, in ns; None: no packet was seen.

        `without_void` leaves out packets that a gap of the generator touched. InputError: there is
        no such figure or metric, or the trial failed.
        """
        metrics = self._measured.metrics
        known = metrics.without_void if without_void else metrics.all_packets
        if metric not in known:
            raise InputError(f"{self.name}: no metric {metric!r}{did_you_mean(metric, known)}")
        try:
            return known[metric].value_ns(name)
        except KeyError:
            names = figure_names(known[metric])
            raise InputError(
                f"{self.name}: no figure {name!r}{did_you_mean(name, names)}"
            ) from None

    @property
    def packets(self) -> Table:
        """One row a packet, warm-up and second receipts included; latency_ns is sent to received.

        `is_void`, `is_cold` and the like are the flags by name. A trial with `record = "tail"` has
        about the slowest 1 % and what is odd. InputError: none were recorded, or they were left
        out when it was packed.
        """
        why = 'packets were not recorded (record = "all" does); `distribution` has their figures'
        if self._directory.meta.traffic.record == "none":
            raise InputError(f"{self.name} packets: there are none: {why}")
        if is_left_out(self._directory.packets, self._directory.meta):
            why = LEFT_OUT
        return self._table(PACKETS, why, _PACKET_COLUMNS)

    @property
    def distribution(self) -> Table:
        """Every value of every metric, and how often it occurred."""
        return self._analysed_table(DISTRIBUTION, "nothing was counted")

    @property
    def worst(self) -> Table:
        """The slowest packets, slowest first."""
        return self._analysed_table(WORST, _NOT_EVERY_PACKET)

    @property
    def gaps(self) -> Table:
        """When the polling threads of generator and device did not poll."""
        return self._table(GAPS, "gaps were not recorded")

    @property
    def stamps(self) -> Table:
        """When each hop saw a packet that it stamped."""
        return self._table(STAMPS, "no hop of it stamps packets")

    @property
    def events(self) -> Table:
        """What the kernel did on the cores."""
        return self._table(EVENTS, "it was not traced")

    def _analysed_table(self, file: str, why_absent: str) -> Table:
        _ = self._result  # Analysis writes the file.
        return self._table(file, why_absent)

    @telling()
    def _table(
        self, file: str, why_absent: str, derived: Mapping[str, Derived] | None = None
    ) -> Table:
        why = why_absent if self.is_whole else self._failure
        return parquet_table(self.path / file, f"{self.name} {Path(file).stem}", why, derived)

    @property
    def _failure(self) -> str:
        return f"it failed: {(self._directory.meta.failure or Failure()).reason}"

    @property
    def _result(self) -> TrialResult:
        return next(of for of in self.run._analysis.trials if of.name == self.name)

    @property
    def _measured(self) -> TrialFigures:
        if not is_measured(self._result):
            why = "nothing was counted" if self.is_whole else self._failure
            raise InputError(f"{self.name}: no figures: {why}")
        return self._result.measured


def figure_names(figures: Figures) -> list[str]:
    """Name the figures of a distribution, in the order of results.json."""
    return ["min", "mean", "stdev", *figures.percentiles_ns, "max"]


_FIGURES = pa.schema(
    [
        ("trial", pa.string()),
        ("dut", pa.string()),
        ("host", pa.string()),
        ("placement", pa.string()),
        ("neighbour", pa.string()),
        ("traffic", pa.string()),
        ("frame", pa.string()),
        ("asked_pps", pa.float64()),
        ("repetition", pa.int64()),
        ("metric", pa.string()),
        ("without_void", pa.bool_()),
        ("figure", pa.string()),
        ("value_ns", pa.float64()),
    ]
)


def _figure_rows(trial: TrialResult) -> list[dict[str, object]]:
    if not is_measured(trial):
        return []
    about = {
        "trial": trial.name,
        "dut": trial.device.dut,
        "host": trial.device.host,
        "placement": trial.device.place,
        "neighbour": trial.device.beside,
        "traffic": trial.load.traffic,
        "frame": trial.load.frame,
        "asked_pps": trial.load.asked_pps,
        "repetition": trial.repetition,
    }
    metrics = trial.measured.metrics
    return [
        {
            **about,
            "metric": metric,
            "without_void": without_void,
            "figure": name,
            "value_ns": figures.value_ns(name),
        }
        for without_void, of in ((False, metrics.all_packets), (True, metrics.without_void))
        for metric, figures in of.items()
        for name in figure_names(figures)
    ]


def _has_flag(flag: PacketFlag, rows: pa.Table) -> pa.ChunkedArray:
    flags = rows["flags"].cast(pa.int32())
    return pc.not_equal(pc.bit_wise_and(flags, pa.scalar(int(flag), pa.int32())), 0)


def _latency(rows: pa.Table) -> pa.ChunkedArray:
    """Null where a packet did not come back, and in the second receipt of one that did."""
    latency = pc.subtract(rows["received_ns"], rows["sent_ns"])
    return pc.if_else(_has_flag(EXTRA_RECORD, rows), pa.scalar(None, pa.int64()), latency)


_PACKET_COLUMNS = {
    "latency_ns": Derived(("sent_ns", "received_ns", "flags"), _latency),
    **{
        f"is_{flag.name.lower()}": Derived(("flags",), partial(_has_flag, flag))
        for flag in PacketFlag
        if flag.name is not None
    },
}
