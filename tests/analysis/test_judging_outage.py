"""Requirements judged where packets were lost: in one outage, or each by itself."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from made_calm import CALM
from made_run import MadeVariant, make_run
from taut.analysis.failing import Longest
from taut.analysis.judging import _is_short_enough, judge_run
from taut.analysis.proof import Verdict
from taut.analysis.results import analyse_run
from taut.core.requirement import parse_requirement
from taut.records import parquet
from taut.records.rundir import RunDirectory

OUTAGE, APART = range(10_000, 10_500), range(1_000, 20_000, 38)
"""Of 19,000 packets after the warm-up 500."""


@pytest.fixture(scope="module", params=[1, 2])
def runs(request, tmp_path_factory):
    """By how packets were lost, and over how many trials."""
    found = []
    for lost in (OUTAGE, APART):
        made = MadeVariant("device", "taut_forward", replace(CALM, lost=tuple(lost)))
        folder = tmp_path_factory.mktemp("lost") / "run"
        run = RunDirectory(make_run(folder, (made,), repetitions=request.param))
        found.append((run, analyse_run(run)))
    return found


@pytest.mark.parametrize("asked", ["loss < 4%", "within(1ms) >= 96%", "window(1ns..1ms) >= 96%"])
def test_what_an_outage_lost_shows_less_than_as_much_lost_apart(runs, asked):
    outage, apart = (judge_run(*run, [parse_requirement(asked)])[0] for run in runs)

    assert (outage.n, outage.verdict) == (apart.n, Verdict.NOT_SHOWN)
    assert outage.n_eff < outage.n / 200
    # At even distances packets are independent, in whatever blocks they are counted.
    assert (apart.n_eff, apart.verdict) == (apart.n, Verdict.MET)


@pytest.mark.parametrize(
    ("rate_pps", "n_lost", "met", "not_met"),
    [
        (1e3, 1, "outage(1ms) <= 1ms", "outage(1ms) < 1ms"),
        (3e3, 2, "outage(1ms) <= 666666ns", "outage(1ms) <= 333333ns"),
    ],
)
def test_how_long_an_outage_is_does_not_hang_on_when_the_sender_sent(
    tmp_path, rate_pps, n_lost, met, not_met
):
    """A survival time of one transfer interval survives one lost packet, in every trial."""
    lost = tuple(range(500, 500 + n_lost))
    trial = replace(CALM, n_packets=1_000, n_cold=100, lost=lost)
    made = MadeVariant("device", "taut_forward", trial)
    run = RunDirectory(make_run(tmp_path / "run", (made,), (rate_pps,), repetitions=4))

    found = judge_run(run, analyse_run(run), [parse_requirement(one) for one in (met, not_met)])

    assert [one.verdict for one in found] == [Verdict.MET, Verdict.NOT_MET]


def test_an_outage_behind_a_sender_that_lags_is_as_long_as_nothing_was_in_time(tmp_path):
    """Due each 100 us and sent each 130: of ten lost it is 1.3 ms, though due within 1 ms."""
    folder = tmp_path / "run"
    trial = replace(CALM, n_packets=1_000, n_cold=100, lost=tuple(range(500, 510)))
    run = RunDirectory(
        make_run(folder, (MadeVariant("device", "taut_forward", trial),), (1e4,), repetitions=1)
    )
    [kept] = run.trials()
    packets = parquet.read_table(kept.packets)
    lag = pc.multiply(packets["seq"].cast(pa.int64()), 30_000)
    for name in ("sent_ns", "received_ns"):
        column = packets[name].cast(pa.int64())
        packets = packets.set_column(
            packets.schema.get_field_index(name), name, pc.add(column, lag).cast(packets[name].type)
        )
    pq.write_table(packets, kept.packets)

    found = judge_run(
        run,
        analyse_run(run),
        [parse_requirement(f"outage(1ms) <= {most}us") for most in (1_250, 1_350)],
    )

    assert [one.verdict for one in found] == [Verdict.NOT_MET, Verdict.MET]


def test_no_outage_is_shorter_than_any():
    assert _is_short_enough(parse_requirement("outage(1ms) < 1ns"), Longest(0, 0))
