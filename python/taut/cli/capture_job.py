"""What `taut analyze` does with a pair of captures, after its options are read.

Libraries are imported where they are needed: `--json` alone is done before the others would load.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from taut.capture.companions import kept_frames, refuse_twice
from taut.capture.native import Matched, MatchOptions, Progress, run_match
from taut.core.errors import InputError
from taut.records.tables import PACKETS

if TYPE_CHECKING:  # loaded while taut-match works
    from taut.records.documents.capture import CaptureDocument
    from taut.records.documents.content import ContentSearch
    from taut.records.rundir import TrialDirectory


class Remove(StrEnum):
    """Which part of the clocks' difference is subtracted from the egress time stamps."""

    DRIFT = "drift"
    OFFSET = "offset"
    BOTH = "both"


@dataclass(frozen=True)
class CaptureJob:
    """One pair of captures and how it is to be analysed."""

    name: str
    ingress: Path
    egress: Path
    options: MatchOptions
    engine: str | None
    """What counts the packets; None: taut's own programs."""
    engine_url: str | None
    wants_content: bool
    parquet: Path | None = None
    """Where `document` leaves every packet, if anywhere."""
    companions: "Sequence[TrialDirectory]" = ()
    """Captures of the same device, to be searched by content together with this one."""

    def corrected(self, remove: Remove) -> "CaptureJob":
        """Match once to see how the clocks differ, and subtract that from egress time stamps."""
        from taut.analysis.capture_result import growth_words
        from taut.capture.clocks import EgressDrift, drift_by_egress, estimate_clocks
        from taut.testbed.scratch import Scratch

        with Scratch("analyze") as folder:
            report = self._match(folder, []).report
        clocks = estimate_clocks(report.envelope)
        drift_ppb, offset_ns = clocks.drift_ppb, clocks.offset_ns
        if remove is not Remove.OFFSET and drift_ppb is None:
            raise InputError(
                f"--remove {remove}: too few packets matched to see a drift; leave it out"
            )
        if remove is not Remove.OFFSET and clocks.is_beyond_clocks:
            raise InputError(
                f"--remove {remove}: {growth_words(clocks)}; leave it out, or take off the offset "
                "alone"
            )
        if remove is not Remove.DRIFT and offset_ns is None:
            raise InputError(f"--remove {remove}: nothing matched; give --offset")
        drift = EgressDrift() if remove is Remove.OFFSET else drift_by_egress(clocks, report)
        off_ns = self.options.egress_offset_ns + drift.offset_ns
        if remove is not Remove.DRIFT:
            off_ns += offset_ns or 0
        options = replace(self.options, egress_offset_ns=off_ns, egress_drift_ppb=drift.drift_ppb)
        return replace(self, options=options)

    def document(self, *, match_in_engine: bool) -> "CaptureDocument":
        """Measure, and leave no files: give the document."""
        from taut.testbed.scratch import Scratch

        with Scratch("analyze") as folder:
            if match_in_engine or self.engine is not None:
                return self._document_of_engine(folder, match_in_engine)
            matched, packets = self._match_as_wanted(folder, [], _load_measuring)

            from taut.analysis.capture_result import capture_document
            from taut.capture.series import NativeSeries

            document = capture_document(matched.report, matched.counts, NativeSeries(folder))
            return replace(document, content=self._content(matched, packets))

    def run(self, out: Path | None, *, as_json: bool, details: bool = False) -> "CaptureDocument":
        """Leave a run directory with a report; print the table unless JSON is wanted."""
        from rich.console import Console

        from taut.analysis.capture_engine import TableSeries
        from taut.analysis.capture_result import capture_document
        from taut.analysis.results import analyse_run, read_distribution
        from taut.capture.pair_run import Pair, analyse_pairs
        from taut.core.files import default_out
        from taut.report.html import write_html
        from taut.report.table import print_results

        notes = Console(stderr=True)
        with _bytes_shown(self.ingress, self.egress) as progress:
            run = analyse_pairs(
                [Pair(self.name, self.ingress, self.egress)],
                out or default_out(self.name),
                self.options,
                bytes_done=progress,
                with_heads=self.wants_content,
                companions=self.companions,
                command_line=sys.argv,
            )
        [trial] = run.trials()
        with notes.status("analysing"):
            analysed = analyse_run(run, self.engine, engine_url=self.engine_url)
        with notes.status("drawing figures"):
            report = write_html([(run, analysed)], run.path / "report.html")
        series = TableSeries(read_distribution(run.path, trial.name))
        assert trial.meta.capture is not None, f"{trial.name}: made of captures just now"
        document = capture_document(trial.meta.capture, trial.meta.capture.counts, series)
        [measured] = analysed.trials
        # The run directory adds what the document lacks: packets counted by time.
        doubt = measured.measured.doubt
        document = replace(
            document,
            latency=measured.latency(),
            unsupported_percentiles=doubt.unsupported_percentiles,
            confidence_intervals=doubt.confidence_intervals,
            blocks=doubt.blocks,
            content=None if measured.capture is None else measured.capture.content,
            run=str(run.path),
        )
        if not as_json:
            print_results([(run, analysed)], Console(), report, details=details)
        return document

    def _match(
        self, folder: Path, write: Sequence[str], meanwhile: Callable[[], None] | None = None
    ) -> Matched:
        with _bytes_shown(self.ingress, self.egress) as progress:
            return run_match(
                self.ingress,
                self.egress,
                self.options,
                folder,
                write=write,
                progress=progress,
                meanwhile=meanwhile,
            )

    def _document_of_engine(self, folder: Path, match_in_engine: bool) -> "CaptureDocument":
        from taut.analysis.capture_engine import match_and_measure, measure_matched
        from taut.analysis.capture_result import capture_document
        from taut.storage.engines import open_engine

        with open_engine(self.engine or "duckdb", self.engine_url) as engine:
            if match_in_engine:
                matched, packets = self._match_as_wanted(folder, ["keys"])
                counts, series = match_and_measure(
                    engine, matched, self.options.window_ns, self.options.skip_ns
                )
            else:
                matched, packets = self._match_to_parquet(folder, [])
                counts, series = matched.counts, measure_matched(engine, packets)
            document = capture_document(matched.report, counts, series)
            return replace(document, content=self._content(matched, packets))

    def _match_as_wanted(
        self, folder: Path, write: Sequence[str], meanwhile: Callable[[], None] | None = None
    ) -> tuple[Matched, Path | None]:
        """Match; give every packet as Parquet only where somebody will read it."""
        if self.wants_content or self.parquet:
            return self._match_to_parquet(folder, write, meanwhile)
        return self._match(folder, write, meanwhile), None

    def _match_to_parquet(
        self, folder: Path, write: Sequence[str], meanwhile: Callable[[], None] | None = None
    ) -> tuple[Matched, Path]:
        """Match, and write every packet as Parquet, where --parquet says or beside the rest."""
        from taut.records.follow import converting_packets

        packets = self.parquet or folder / PACKETS
        heads = ["heads"] if self.wants_content else []
        with converting_packets(folder, packets):
            matched = self._match(folder, ["packets", *heads, *write], meanwhile)
        refuse_twice(matched.report, self.companions)
        return matched, packets

    def _content(self, matched: Matched, packets: Path | None) -> "ContentSearch | None":
        if packets is None or not self.wants_content:
            return None
        from taut.analysis.content import search_capture

        others = kept_frames(self.companions)
        unit_ns = matched.report.resolution_ns
        return search_capture(matched.folder, packets, together_with=others, resolution_ns=unit_ns)


def _load_measuring() -> None:
    import taut.analysis.capture_result
    import taut.capture.series  # noqa: F401


@contextmanager
def _bytes_shown(ingress: Path, egress: Path) -> Iterator[Progress | None]:
    """Show on a terminal how far the matcher is; decompressed bytes have no total."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    plain = all(p.is_file() and p.suffix not in (".gz", ".zst") for p in (ingress, egress))
    total = f" of {_megabytes(sum(p.stat().st_size for p in (ingress, egress)))}" if plain else ""
    with Console(stderr=True).status("matching") as status:
        yield lambda a, b: status.update(f"matching: {_megabytes(a + b)}{total}")


def _megabytes(n: int) -> str:
    return f"{n / 1e6:,.0f} MB"
