from dataclasses import replace
from pathlib import Path

from host_tree import BARE_METAL, POLL, judge, remedied, tree
from taut.host.check import State
from taut.host.checks.kernel.frequency_driver import CHECK
from taut.host.situation import Role

CPU = "/sys/devices/system/cpu"
NEW = {"/sys/devices/cpu/caps/pmu_name": "icelake\n"}
OLD = {"/sys/devices/cpu/caps/pmu_name": "skylake\n"}


def driver(name: str, mode: str | None = None) -> dict[str, str]:
    """Who drives core 2, and intel_pstate's mode."""
    files = {f"{CPU}/cpu2/cpufreq/scaling_driver": f"{name}\n"}
    return files if mode is None else files | {f"{CPU}/intel_pstate/status": f"{mode}\n"}


def test_active_passes_on_a_new_processor(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, NEW | driver("intel_pstate", "active")).state is State.PASS


def test_passive_fails_on_a_new_processor_and_is_remedied(tmp_path: Path) -> None:
    tree(tmp_path, NEW | driver("intel_cpufreq", "passive"))

    with remedied(CHECK, tmp_path) as remedies:
        assert [remedy.id for remedy in remedies] == ["K16-now", "K16-boot"]
        assert str(remedies[1].boot[0]) == "intel_pstate=active"


def test_active_fails_on_an_old_processor_and_is_remedied(tmp_path: Path) -> None:
    tree(tmp_path, OLD | driver("intel_pstate", "active"))

    with remedied(CHECK, tmp_path) as remedies:
        assert str(remedies[1].boot[0]) == "intel_pstate=disable"
        assert all(remedy.measure for remedy in remedies)


def test_without_a_counter_unit_the_model_tells_the_generation(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, driver("acpi-cpufreq")).state is State.FAIL  # Ice Lake
    old = replace(POLL, machine=replace(BARE_METAL, model=85))
    assert judge(CHECK, tmp_path, driver("acpi-cpufreq"), old).state is State.PASS


def test_an_unknown_generation_is_unknown(tmp_path: Path) -> None:
    odd = replace(POLL, machine=replace(BARE_METAL, model=0))

    assert judge(CHECK, tmp_path, driver("intel_pstate", "active"), odd).state is State.UNKNOWN


def test_amd_with_cppc_wants_its_own_driver(tmp_path: Path) -> None:
    capable = replace(POLL, machine=replace(BARE_METAL, vendor="amd", flags=frozenset({"cppc"})))

    assert judge(CHECK, tmp_path, driver("acpi-cpufreq"), capable).state is State.FAIL
    (remedy,) = CHECK.propose(tree(tmp_path, {}), capable)
    assert str(remedy.boot[0]) == "amd_pstate=active"
    assert judge(CHECK, tmp_path, driver("amd-pstate-epp"), capable).state is State.PASS


def test_amd_without_cppc_has_no_choice(tmp_path: Path) -> None:
    old = replace(POLL, machine=replace(BARE_METAL, vendor="amd", flags=frozenset()))

    assert judge(CHECK, tmp_path, driver("acpi-cpufreq"), old).state is State.PASS


def test_without_frequency_scaling_there_is_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE


def test_a_container_sends_the_remedy_to_its_host(tmp_path: Path) -> None:
    container = replace(POLL, role=Role.CONTAINER)

    (remedy,) = CHECK.propose(tree(tmp_path, driver("intel_cpufreq", "passive")), container)

    assert remedy.by_hand.startswith("on the host")
