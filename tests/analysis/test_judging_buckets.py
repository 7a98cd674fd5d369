"""Requirements judged by the buckets of a histogram, where not every packet is recorded."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from made_calm import CALM
from made_run import MadeVariant, make_run
from taut.analysis.judging import judge_run
from taut.analysis.proof import Verdict
from taut.analysis.results import analyse_run
from taut.core.requirement import parse_requirement
from taut.records.rundir import RunDirectory


@pytest.mark.parametrize(
    ("rule", "late_from_ns"),
    [("max < {}ns", 20_000), ("max <= {}ns", 19_999), ("within({}ns) >= 100%", 19_999)],
)
def test_a_bucket_that_only_partly_lies_in_time_is_late(tmp_path, rule, late_from_ns):
    """Packets of 19 to 20 us are in one bucket, and none is slower."""
    made = MadeVariant("eager", "taut_forward", replace(CALM, device_stall=(10**8, 100_019_950)))
    run = RunDirectory(make_run(tmp_path / "run", (made,), repetitions=1))
    [trial] = run.trials()
    trial.packets.unlink()
    rows = pq.read_table(trial.histogram)
    least_ns = rows["value_ns"].to_numpy() // 1_000 * 1_000
    for name, values in (("value_ns", least_ns), ("width_ns", np.full(len(rows), 1_000))):
        at = rows.schema.get_field_index(name)
        rows = rows.set_column(at, rows.schema.field(at), pa.array(values))
    pq.write_table(rows, trial.histogram)
    analysis = analyse_run(run)

    limits = (late_from_ns - 500, late_from_ns - 1, late_from_ns)
    found = judge_run(run, analysis, [parse_requirement(rule.format(ns)) for ns in limits])

    assert [one.verdict for one in found] == [Verdict.NOT_MET, Verdict.NOT_MET, Verdict.MET]
