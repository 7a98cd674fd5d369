import pytest

from made_run import VARIANTS, make_run
from taut.analysis.results import analyse_run
from taut.records.rundir import RunDirectory


@pytest.fixture(scope="session")
def analysed(tmp_path_factory):
    """Two rates, two repetitions, four devices, one failed trial."""
    path = make_run(
        tmp_path_factory.mktemp("report") / "run",
        VARIANTS,
        rates_pps=(100_000.0, 200_000.0),
        repetitions=2,
        failed=True,
    )
    run = RunDirectory(path)
    return run, analyse_run(run)
