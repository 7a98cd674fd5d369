"""What a trim for an experiment refuses before it measures anything."""

import pytest

from host_tree import POLL, tree
from taut.core.errors import InputError
from taut.experiment.spec import parse_spec
from taut.host.situation import Situation
from taut.trim import experiment
from taut.trim.experiment import check_trim
from taut.trim.job import Job
from taut.trim.trim import Request

SPEC = """
name = "short"
duration = "1s"
[[device]]
driver = "taut_forward"
[[traffic]]
rates = ["100kpps"]
"""
HOST = {
    "/sys/devices/system/cpu/online": "0-3\n",
    "/sys/devices/system/cpu/isolated": "\n",
    "/proc/sys/vm/stat_interval": "1\n",
}
VERSION_2 = {"/sys/fs/cgroup/cgroup.controllers": "cpuset cpu\n"}
VERSION_1 = {"/sys/fs/cgroup/cpuset/cpuset.cpus": "0-3\n"}


@pytest.mark.parametrize(
    ("only", "files", "is_refused"),
    [
        (("R06", "K04-now"), VERSION_2, True),
        (("K04",), VERSION_2, True),
        (("R06", "K04-boot"), VERSION_2, False),
        (("R06", "K04-now"), VERSION_1, False),
        (None, VERSION_2, False),
    ],
)
def test_a_state_in_which_no_trial_could_run_is_refused_at_once(
    only: tuple[str, ...] | None, files: dict[str, str], is_refused: bool, tmp_path, monkeypatch
):
    def poll(*_: object) -> Situation:
        return POLL

    host = tree(tmp_path, HOST | files)
    monkeypatch.setattr(experiment, "Host", lambda: host)
    monkeypatch.setattr(experiment, "situation_of", poll)
    monkeypatch.setattr(experiment, "choose_cores", poll)
    monkeypatch.setattr(experiment, "require", lambda _: None)
    job = Job(Request(only=only), keep=False, yes=True, dry_run=True)

    if not is_refused:
        check_trim(job, parse_spec(SPEC), "p99", "10m")
        return
    with pytest.raises(InputError, match=r"^host 'trimmed': K04-now: an isolated partition .*out$"):
        check_trim(job, parse_spec(SPEC), "p99", "10m")
