"""What records of a recipe's trials add to its document, and what is not known without them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from made_rfc import made_rfc, made_row
from made_run import MadeTrial, MadeVariant, make_run
from taut.analysis.load import share_words
from taut.analysis.results import analyse_run
from taut.analysis.rfc import with_figures
from taut.records.documents.results import Analysis
from taut.records.documents.rfc import LatencyFound, LatencyTrial
from taut.records.rundir import RunDirectory
from taut.report.rfc import tables_of

TWO_FLOWS = MadeVariant("eager", "taut_forward", MadeTrial(n_flows=2))


def measured(path: Path) -> tuple[RunDirectory, Analysis]:
    run = RunDirectory(make_run(path, (TWO_FLOWS,), repetitions=1))
    return run, analyse_run(run)


def latency_of(run: RunDirectory, analysis: Analysis) -> tuple[LatencyTrial, tuple[str, ...]]:
    """Give the only trial with its figures, and its row of the table."""
    row = made_row(latency=LatencyFound(1e5, (LatencyTrial(analysis.trials[0].name, False),)))
    document = made_rfc("2544", row)
    recipe = replace(
        document.recipe, tag_after_ns=10**8, latency_ns=19 * 10**7, tags=10, both=False
    )
    found = with_figures(replace(document, recipe=recipe), run, analysis)
    assert found.results[0].latency is not None
    [trial] = found.results[0].latency.trials
    [table] = [table for table in tables_of(found, found.results) if table.title == "Reordering"]
    return trial, table.rows[0]


def test_packets_of_different_flows_that_overtake_each_other_are_reordered(tmp_path: Path) -> None:
    run, analysis = measured(tmp_path / "run")
    in_order, _ = latency_of(run, analysis)
    packets = run.trials()[0].packets
    table = pq.read_table(packets)
    swapped = np.arange(len(table))
    # Neighbours are of different flows, so that each flow stays in order.
    swapped[[5_000, 5_001]] = [5_001, 5_000]
    pq.write_table(table.take(swapped), packets)

    trial, row = latency_of(run, analysis)

    assert analysis.trials[0].measured.out_of_sequence == 0
    assert in_order.reordered == 0
    assert (trial.reordered, trial.longest_extent, trial.n_reordered) == (1, 1, (1,))
    assert row[3:] == (f"1 ({share_words(1 / trial.received)})", "1", "0")


def test_where_packets_are_not_recorded_nobody_knows_their_order(tmp_path: Path) -> None:
    run, analysis = measured(tmp_path / "run")
    [trial] = analysis.trials
    no_records = replace(trial, figures=replace(trial.measured, every_packet=False))

    found, row = latency_of(run, replace(analysis, trials=(no_records,)))

    assert found.reordered is None
    assert row[3:] == ("–", "–", "–")
