from dataclasses import replace
from pathlib import Path

from host_tree import BARE_METAL, POLL, judge
from taut.host.check import State
from taut.host.checks.runtime.cache_allocation import CHECK
from taut.host.host import Host
from taut.host.situation import Role

FOLDER = "/sys/fs/resctrl"
CAN = replace(POLL, machine=replace(BARE_METAL, flags=frozenset({"cat_l3"})))


def groups(poll: str = "L3:0=00f;1=00f", rest: str = "L3:0=3f0;1=3f0") -> dict[str, str]:
    return {
        f"{FOLDER}/schemata": f"    MB:0=100;1=100\n    {rest}\n",
        f"{FOLDER}/cpus_list": "0-1\n",
        f"{FOLDER}/poll/schemata": f"{poll}\n",
        f"{FOLDER}/poll/cpus_list": "2-3\n",
        f"{FOLDER}/info/L3/shareable_bits": "600\n",
        "/sys/devices/system/cpu/cpu2/cache/index3/id": "0\n",
        "/sys/devices/system/cpu/cpu3/cache/index3/id": "1\n",
    }


def test_ways_of_their_own_are_good(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, groups(), CAN).state is State.PASS


def test_ways_that_overlap_with_the_rest_on_one_cache_fail(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, groups(rest="L3:0=3f0;1=3f8"), CAN)

    assert (finding.state, finding.cores) == (State.FAIL, (3,))
    assert "core 3: shares ways 8 with group default" in finding.observed


def test_ways_that_devices_fill_fail(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, groups(poll="L3:0=60f;1=00f", rest="L3:0=1f0;1=1f0"), CAN)

    assert finding.state is State.FAIL
    assert "ways 600 of group poll are filled by devices" in finding.observed


def test_code_and_data_count_together(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, groups(poll="L3CODE:0=00f;1=00f\nL3DATA:0=01f;1=00f"), CAN)

    assert finding.cores == (2,)


def test_poll_cores_in_the_default_group_fail(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, {f"{FOLDER}/schemata": "L3:0=7ff\n"}, CAN)

    assert finding.state is State.FAIL
    assert "core 2: in the default group" in finding.observed


def test_a_processor_that_could_and_does_not_fails(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}, CAN).state is State.FAIL
    (remedy,) = CHECK.propose(Host(tmp_path), CAN)
    assert "echo 2-3 > /sys/fs/resctrl/poll/cpus_list" in remedy.by_hand


def test_a_guest_leaves_it_to_the_host(tmp_path: Path) -> None:
    guest = replace(CAN, role=Role.KVM_GUEST)
    (remedy,) = CHECK.propose(Host(tmp_path), guest)
    assert remedy.by_hand.startswith("on the host")

    blind = judge(CHECK, tmp_path, {}, replace(POLL, role=Role.KVM_GUEST))
    assert blind.state is State.UNKNOWN
    virtual = replace(POLL, machine=replace(BARE_METAL, hypervisor="kvm"))
    assert judge(CHECK, tmp_path, {}, virtual).state is State.UNKNOWN


def test_absent_and_malformed(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE
    odd = {f"{FOLDER}/schemata": "L3:0=ways;x=7\nL2\n=\n"}
    assert judge(CHECK, tmp_path, odd, CAN).state is State.UNKNOWN
