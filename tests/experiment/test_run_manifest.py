"""What a run's manifest says of a resumed run: the machine of each part."""

from pathlib import Path

import pytest

from taut.experiment.cores import Cores
from taut.experiment.plan import make_plan
from taut.experiment.run_manifest import NO_ORIGIN, describe_run
from taut.experiment.spec import parse_spec
from taut.host.host import Host
from taut.records.rundir import RunDirectory

CORES = Cores(generator=0, device=0, writer=0, runner=0)
SPEC = """
name = "made"
duration = "1s"
[[device]]
driver = "taut_forward"
[[traffic]]
rates = ["10kpps"]
"""


@pytest.fixture
def described(tmp_path: Path):
    """Describe a run on a machine with a processor and a kernel; give what that warns of."""
    run = RunDirectory(tmp_path / "run")
    run.trials_path.mkdir(parents=True)

    def on(processor: str, kernel: str) -> tuple[list[str], RunDirectory]:
        proc = tmp_path / "machine" / "proc"
        (proc / "sys/kernel").mkdir(parents=True, exist_ok=True)
        (proc / "cpuinfo").write_text(f"model name : {processor}\n")
        (proc / "sys/kernel/osrelease").write_text(f"{kernel}\n")
        host = Host(tmp_path / "machine")
        plan = make_plan(parse_spec(SPEC))
        return describe_run(run, plan, NO_ORIGIN, host, CORES, ["as ever"], []), run

    return on


def test_a_run_resumed_on_another_machine_says_so(described):
    assert described("one", "6.1")[0] == []

    said, run = described("another", "6.1")

    assert said == ["resumed: processor another, before one: this run has trials of both"]
    assert run.manifest().warnings == ("as ever", *said)


def test_a_run_is_compared_with_where_it_measured_last(described):
    described("one", "6.1")
    described("one", "6.12")

    said, run = described("one", "6.12")

    assert said == []
    assert [one for one in run.manifest().warnings if "kernel 6.12, before 6.1" in one]
