from dataclasses import replace
from pathlib import Path

from host_tree import POLL, judge, remedied, tree
from taut.host.check import State
from taut.host.checks.kernel.hugepages import CHECK
from taut.host.situation import Role

POOLS = "/sys/kernel/mm/hugepages"
NODES = "/sys/devices/system/node"
PLENTY = {"/proc/meminfo": "MemTotal: 67108864 kB\nMemAvailable: 50000000 kB\n"}
TWO_NODES = {
    f"{NODES}/node0/hugepages/hugepages-2048kB/nr_hugepages": "512\n",
    f"{NODES}/node1/hugepages/hugepages-2048kB/nr_hugepages": "0\n",
    "/sys/class/net/eth0/device/numa_node": "1\n",
}


def reserved(small: str, large: str | None = None) -> dict[str, str]:
    files = {f"{POOLS}/hugepages-2048kB/nr_hugepages": f"{small}\n"}
    if large is not None:
        files[f"{POOLS}/hugepages-1048576kB/nr_hugepages"] = f"{large}\n"
    return files


def test_a_reserve_of_any_size_passes(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, reserved("0", "4")).state is State.PASS


def test_no_reserve_fails_and_a_gib_is_proposed(tmp_path: Path) -> None:
    tree(tmp_path, reserved("0", "0") | PLENTY)

    with remedied(CHECK, tmp_path) as remedies:
        now, boot = remedies
        assert now.changes[0].wanted == "512"
        assert [str(item) for item in boot.boot] == [
            "default_hugepagesz=1G",
            "hugepagesz=1G",
            "hugepages=2",
        ]


def test_a_small_machine_keeps_three_quarters_of_its_memory(tmp_path: Path) -> None:
    little = {"/proc/meminfo": "MemTotal: 2097152 kB\nMemAvailable: 819200 kB\n"}

    now, boot = CHECK.propose(tree(tmp_path, reserved("0", "0") | little), POLL)

    assert now.changes[0].wanted == "100"
    assert [str(item) for item in boot.boot][1:] == ["hugepagesz=2M", "hugepages=256"]


def test_what_is_reserved_stays_as_it_is(tmp_path: Path) -> None:
    remedies = CHECK.propose(tree(tmp_path, reserved("64") | PLENTY), POLL)

    assert not any(remedy.changes for remedy in remedies)


def test_a_reserve_on_the_other_node_fails_and_is_made_on_the_right_one(tmp_path: Path) -> None:
    situation = replace(POLL, interfaces=("eth0",))
    tree(tmp_path, reserved("512") | TWO_NODES | PLENTY)

    assert "none on node 1" in judge(CHECK, tmp_path, {}, situation).observed
    with remedied(CHECK, tmp_path, situation) as remedies:
        assert "/node1/" in remedies[0].changes[0].setting.name


def test_a_guest_cannot_see_what_is_behind_its_pages(tmp_path: Path) -> None:
    guest = replace(POLL, role=Role.KVM_GUEST)

    finding = judge(CHECK, tmp_path, reserved("512"), guest)

    assert finding.state is State.UNKNOWN
    assert "host" in finding.needs
    assert judge(CHECK, tmp_path, reserved("0"), guest).state is State.FAIL


def test_a_container_is_bound_by_its_limit(tmp_path: Path) -> None:
    container = replace(POLL, role=Role.CONTAINER)
    limit = "/sys/fs/cgroup/hugetlb.2MB.max"

    assert judge(CHECK, tmp_path, reserved("512"), container).state is State.PASS
    finding = judge(CHECK, tmp_path, reserved("512") | {limit: "0\n"}, container)
    assert finding.state is State.FAIL
    (remedy,) = CHECK.propose(tree(tmp_path, {}), container)
    assert remedy.by_hand.startswith("on the host")


def test_a_kernel_without_huge_pages_has_nothing_to_judge(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE


def test_what_is_no_number_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, reserved("some")).state is State.UNKNOWN
