"""Requirements judged where packets were lost: in one outage, or each by itself."""

from dataclasses import replace

import pytest

from made_calm import CALM
from made_run import MadeVariant, make_run
from taut.analysis.judging import judge_run
from taut.analysis.proof import Verdict
from taut.analysis.results import analyse_run
from taut.core.requirement import parse_requirement
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
