"""Acceptance 3: a device in a container is measured as on the host, and what differs is told.

No bar is set on a latency: docs/placements.md has the comparison, and how it was made.
"""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from acceptance_run import TAUT
from taut.dut.drivers.chain import ChainDriver, ChainOptions
from taut.records.documents.trial import WHOLE
from taut.testbed.placements.container import ContainerOptions, ContainerPlacement

NO_CONTAINER = ContainerPlacement().missing(ContainerOptions())
pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.beside,
    pytest.mark.root,
    pytest.mark.skipif(NO_CONTAINER is not None, reason=str(NO_CONTAINER)),
]
SPEC = """
name = "placed"
duration = "300ms"
warm_up = "100ms"
deadline = "200ms"
floor = false
[[device]]
driver = "taut_forward"
name = "memif"
[[device]]
driver = "taut_forward"
name = "xdp"
link = "xdp"
[[device]]
driver = "testpmd"
link = "veth"
[[device]]
driver = "chain"
SWITCHED[[placement]]
name = "bare"
devices = ["memif"]
[[placement]]
name = "container"
[[placement]]
kind = "container"
name = "empty"
options = { root = "." }
devices = ["memif"]
[[traffic]]
rates = ["20kpps"]
"""
SWITCHED = """[[device]]
driver = "chain"
name = "switched"
options = { switch = "ovs_dpdk" }
"""
NO_SWITCH = ChainDriver().missing(ChainOptions(switch="ovs_dpdk"))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("placed")
    spec = SPEC.replace("SWITCHED", SWITCHED if NO_SWITCH is None else "")
    (folder / "spec.toml").write_text(spec)
    (folder / "root").mkdir()
    options = ["--set", f'placement.empty.options={{root="{folder / "root"}"}}']
    options += ["--no-trace", "--no-report", "--wait"]
    # As users name it: from where they are.
    argv = [*TAUT, "run", "spec.toml", *options, "--out", "run"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=folder)
    trials = {}
    for path in (folder / "run" / "trials").iterdir():
        meta = json.loads((path / "trial.json").read_text())
        trials[meta["dut"]["name"], meta["dut"]["placement"]] = meta
    yield done.returncode, trials


def test_3_each_link_and_a_chain_work_in_containers(run: tuple[int, dict[str, Any]]):
    _, trials = run

    for device in ("memif", "xdp", "testpmd", "chain"):
        meta = trials[device, "container"]
        assert meta["status"] == WHOLE, meta.get("failure")
        assert meta["generator"]["directions"][0]["received"] > 0


@pytest.mark.skipif(NO_SWITCH is not None, reason=str(NO_SWITCH))
def test_3_containers_in_a_row_pass_packets_by_a_switch_on_the_host(
    run: tuple[int, dict[str, Any]],
):
    _, trials = run

    meta = trials["switched", "container"]
    assert meta["status"] == WHOLE, meta.get("failure")
    [counted], dut = meta["generator"]["directions"], meta["dut"]
    passed = [hop["stats"]["ports"][1]["tx"] for hop in dut["hops"]]
    # Who was held up too long to read its ring has missed some, which nobody else counts.
    assert counted["sent"] >= passed[0] >= passed[1] >= counted["received"] > 0
    assert dut["stats"]["in"] >= sum(passed) + counted["received"]
    assert "capabilities: none" in dut["notes"][0]


def test_3_what_it_ran_in_and_its_threads_are_in_its_document(run: tuple[int, dict[str, Any]]):
    _, trials = run

    inside, bare = trials["memif", "container"]["dut"], trials["memif", "bare"]["dut"]
    assert inside["placed"]["kind"] == "container"
    assert "version" in inside["placed"]["version"]
    assert "capabilities: none" in inside["notes"][0]
    assert len(inside["threads"]) == len(bare["threads"]) > 1
    assert inside["stats"].keys() == bare["stats"].keys()
    assert "placed" not in bare


def test_3_a_root_that_does_not_start_fails_its_own_trials_alone(run: tuple[int, dict[str, Any]]):
    status, trials = run

    failed = [key for key, meta in trials.items() if meta["status"] != WHOLE]
    failure = trials["memif", "empty"]["failure"]
    assert status == 1
    assert failed == [("memif", "empty")]
    assert failure["reason"].startswith("taut-forward: ")
    assert "no such file or directory" in failure["log_tail"][-1].lower()
