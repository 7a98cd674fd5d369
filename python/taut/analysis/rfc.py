"""The figures of a recipe's trials, added to its document once they are analysed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from taut.analysis.outages import read_losses, read_silence
from taut.analysis.reordering import read_reordering
from taut.analysis.tags import read_tags
from taut.core.percentiles import PERCENTILES, percentile_rank
from taut.records.documents.figures import NO_FIGURES
from taut.records.documents.results import Analysis, TrialFigures
from taut.records.documents.rfc import (
    LatencyTrial,
    Recipe,
    RecoveryTrial,
    ResetTrial,
    RfcDocument,
    RfcOfDevice,
)
from taut.records.rundir import RunDirectory
from taut.records.tables import PACKETS


def with_figures(document: RfcDocument, run: RunDirectory, analysis: Analysis) -> RfcDocument:
    """Fill in what analysis and records of the trials say."""
    figures = {one.name: one.figures for one in analysis.trials if one.figures is not None}
    reader = _Reader(document.recipe, run.trials_path, figures)
    return replace(document, results=tuple(reader.row(row) for row in document.results))


@dataclass(frozen=True)
class _Reader:
    recipe: Recipe
    trials: Path
    figures: Mapping[str, TrialFigures]

    def row(self, row: RfcOfDevice) -> RfcOfDevice:
        """Fill in the trials of one device and frame size."""
        latency, recovery, reset = row.latency, row.recovery, row.reset
        if latency is not None:
            latency = replace(latency, trials=tuple(map(self._latency, latency.trials)))
        if recovery is not None:
            recovery = replace(recovery, trials=tuple(map(self._recovery, recovery.trials)))
        if reset is not None:
            pps = reset.load_pps * (2 if self.recipe.both else 1)
            reset = replace(reset, trials=tuple(self._reset(one, pps) for one in reset.trials))
        return replace(row, latency=latency, recovery=recovery, reset=reset)

    def _latency(self, one: LatencyTrial) -> LatencyTrial:
        figures = self.figures.get(one.trial)
        if figures is None:
            return one
        metrics = figures.metrics.without_void
        latency, pdv, ipdv = (metrics.get(name, NO_FIGURES) for name in ("latency", "pdv", "ipdv"))
        one = replace(
            one,
            min_ns=latency.min_ns,
            p50_ns=latency.percentiles_ns.get("p50"),
            p99_ns=latency.percentiles_ns.get("p99"),
            p99_9_ns=latency.percentiles_ns.get("p99.9"),
            max_ns=latency.max_ns,
            pdv_p99_9_ns=pdv.percentiles_ns.get("p99.9"),
            ipdv_min_ns=ipdv.min_ns,
            ipdv_p50_ns=ipdv.percentiles_ns.get("p50"),
            ipdv_max_ns=ipdv.max_ns,
            received=figures.warm.matched,
            lost=figures.warm.lost + figures.warm.unsent,
            void=figures.warm.void,
        )
        packets = self._packets(one.trial)
        return one if packets is None else self._of_packets(one, packets)

    def _of_packets(self, one: LatencyTrial, packets: Path) -> LatencyTrial:
        recipe = self.recipe
        tags = read_tags(packets, recipe.tag_after_ns, recipe.latency_ns, recipe.tags)
        one = replace(
            one,
            n_tags=len(tags.latencies_ns),
            n_tags_lost=tags.n_lost,
            n_tags_void=tags.n_void,
        )
        if tags.latencies_ns:
            one = replace(
                one,
                tags_mean_ns=sum(tags.latencies_ns) / len(tags.latencies_ns),
                tags_p50_ns=disc(tags.latencies_ns, PERCENTILES["p50"]),
                tags_p99_9_ns=disc(tags.latencies_ns, PERCENTILES["p99.9"]),
            )
        # Whatever the flow: the generator counts those of one flow alone.
        found = read_reordering(packets)
        return replace(
            one,
            reordered=found.n_reordered,
            longest_extent=found.longest_extent,
            n_reordered=found.n_by_n,
        )

    def _recovery(self, one: RecoveryTrial) -> RecoveryTrial:
        packets = self._packets(one.trial)
        if packets is None:
            return one
        losses = read_losses(packets, self.recipe.warm_up_ns + self.recipe.overload_ns)
        return replace(
            one,
            recovery_ns=losses.recovery_ns,
            lost_before=losses.before,
            lost_after=losses.after,
            lost_void_after=losses.void_after,
        )

    def _reset(self, one: ResetTrial, pps: float) -> ResetTrial:
        packets = self._packets(one.trial)
        if packets is None:
            return one
        found = read_silence(packets)
        by_loss_ns = round(1e9 * found.lost / pps) if pps else None
        return replace(
            one,
            reset_ns=found.longest_ns,
            lost=found.lost,
            by_loss_ns=by_loss_ns,
            lost_void=found.lost_void,
            instrument_limited=one.instrument_limited or found.may_be_generators,
        )

    def _packets(self, trial: str) -> Path | None:
        """Give the packets of a trial; None: not every one was recorded."""
        figures = self.figures.get(trial)
        if figures is None or not figures.every_packet:
            return None
        return self.trials / trial / PACKETS


def disc(values: list[int], fraction: tuple[int, int]) -> int:
    """Give a percentile as SQL's percentile_disc does; there must be a value."""
    return sorted(values)[percentile_rank(len(values), fraction) - 1]
