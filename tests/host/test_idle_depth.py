"""How deep idle cores sleep, as a state of the host: what `[[host]] only = [...]` makes of it."""

from pathlib import Path

import pytest

from check_rows import GUEST
from host_idle import STATES, idle_files
from host_tree import POLL, SLEEP, TreeWriter, snapshot, tree
from taut.core.cpus import CpuSet
from taut.experiment.model import HostSpec
from taut.host.host import Host
from taut.host.situation import Situation
from taut.host.state import HostState, HostStates, why_nothing

CPU = "/sys/devices/system/cpu"
MACHINE = {
    "/etc/machine-id": "me\n",
    "/proc/sys/kernel/random/boot_id": "now\n",
    f"{CPU}/cpuidle/current_driver": "intel_idle\n",
} | idle_files()
DEEP = [number for number, (name, _) in enumerate(STATES) if name in ("C1E", "C6")]


def state(*only: str) -> HostState:
    """The state that an experiment asks for."""
    return HostSpec(name="shallow", only=only).state


def limits(host: Host) -> list[str | None]:
    return [host.read(f"{CPU}/cpu{core}/power/pm_qos_resume_latency_us") for core in range(4)]


def cores_with_deep_states(host: Host) -> CpuSet:
    return tuple(
        core
        for core in range(4)
        if any(host.read(f"{CPU}/cpu{core}/cpuidle/state{n}/disable") == "0" for n in DEEP)
    )


@pytest.mark.parametrize("situation", [POLL, SLEEP], ids=["polls", "sleeps"])
def test_the_cores_of_the_device_sleep_no_deeper_than_c1_and_then_as_before(
    tmp_path: Path, situation: Situation
) -> None:
    host = tree(tmp_path, MACHINE)
    before = snapshot(tmp_path)

    with HostStates(host, TreeWriter(host), lambda: situation, "run abcd") as run:
        run.enter(state("R19-now"))
        assert limits(host) == ["0", "0", "2", "2"]

        run.enter(state("K15-now"))
        assert limits(host) == ["0"] * 4
        assert cores_with_deep_states(host) == (0, 1)
        standing = run.read_in_force()
        assert standing.n_changes == standing.n_in_force == 2 * len(DEEP)

    after = snapshot(tmp_path)
    assert {path: after[path] for path in before} == before


@pytest.mark.parametrize(
    ("files", "situation", "why"),
    [
        ({}, POLL, "NOT_APPLICABLE: no idle states (cpuidle): nothing to limit"),
        (idle_files(limit="2"), SLEEP, "PASS: no state deeper than C1 is open on 2-3"),
        (idle_files(), GUEST, "NOT_APPLICABLE: not asked of a kvm-guest"),
    ],
)
def test_where_there_is_nothing_to_limit_a_line_says_so(
    tmp_path: Path, files: dict[str, str], situation: Situation, why: str
) -> None:
    host = tree(tmp_path, files)

    assert why_nothing(host, situation, state("R19-now")) == (
        f"R19-now: nothing to change; the check says {why}"
    )


def test_a_state_that_changes_something_needs_no_word(tmp_path: Path) -> None:
    host = tree(tmp_path, MACHINE)

    assert why_nothing(host, SLEEP, state("R19-now")) is None
    assert why_nothing(host, SLEEP, HostState("as found")) is None
