from dataclasses import replace
from pathlib import Path

import pytest

from host_threads import HIDDEN, PID_NAMESPACE, thread_files
from host_tree import BARE_METAL, POLL, Link, tree
from taut.core.errors import InputError
from taut.host.audit import as_document, find_role, find_situation, run_audit
from taut.host.check import Finding, Severity, State, failed, passed
from taut.host.host import Host
from taut.host.machine import has_own_numbers, read_machine
from taut.host.situation import Role, Waiting
from taut.host.table import Check
from taut.host.view import View
from taut.records.documents.json_form import plain

CORES = {"/sys/devices/system/cpu/online": "0-3\n"}
GUEST = {"/proc/cpuinfo": "vendor_id\t: GenuineIntel\nflags\t\t: tsc hypervisor\n"}
# Forty fields, as proc(5) says; only names and masks count here.
POLLER = {
    "/proc/70/comm": "dpdk-testpmd\n",
    "/proc/70/task/70/comm": "dpdk-testpmd\n",
    "/proc/70/task/70/status": "Cpus_allowed_list:\t1\n",
    "/proc/70/task/71/comm": "rte-worker-2\n",
    "/proc/70/task/71/status": "Cpus_allowed_list:\t2\n",
    "/proc/70/task/72/comm": "eal-intr-thread\n",
    "/proc/70/task/72/status": "Cpus_allowed_list:\t3\n",
}


def still(see: View) -> Finding:
    watched = see.watched
    if watched.before == watched.after == {"/proc/count1": "5"} and watched.seconds > 0:
        return passed("still")
    return failed(f"{watched}", "still")


COUNTS = Check(
    "X1",
    "counter",
    "It counts",
    Severity.MAJOR,
    still,
    watches=("/proc/count*",),
    why="why",
    source="source",
)


def test_a_machine_with_a_hypervisor_is_a_guest(tmp_path: Path) -> None:
    host = tree(tmp_path, GUEST)

    assert find_role(host, read_machine(host)) is Role.KVM_GUEST


VENDOR, PRODUCT = "/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name"


@pytest.mark.parametrize(
    ("files", "role"),
    [
        ({VENDOR: "QEMU\n"}, Role.KVM_GUEST),
        ({VENDOR: "Amazon EC2\n", PRODUCT: "c7g.2xlarge\n"}, Role.KVM_GUEST),
        ({VENDOR: "Amazon EC2\n", PRODUCT: "c7g.metal\n"}, Role.POLL_CORE),
        ({VENDOR: "Amazon EC2\n", PRODUCT: "c8g.metal-48xl\n"}, Role.POLL_CORE),
        ({"/commands/systemd-detect-virt --vm": "kvm\n"}, Role.KVM_GUEST),
        ({"/commands/systemd-detect-virt --vm": "none\n"}, Role.POLL_CORE),
        ({}, Role.POLL_CORE),
    ],
)
def test_an_arm_guest_is_known_by_its_firmware(
    files: dict[str, str], role: Role, tmp_path: Path
) -> None:
    """Its processor has no flag that tells."""
    arm = {"/proc/cpuinfo": "CPU implementer\t: 0x41\nFeatures\t: fp asimd\n"}
    host = tree(tmp_path, arm | files)

    assert find_role(host, read_machine(host)) is role


@pytest.mark.parametrize(
    ("monitor", "virtual_cpu"),
    [
        ("qemu-system-x86", "CPU 0/KVM"),
        ("cloud-hyperviso", "vcpu0"),
        ("firecracker", "fc_vcpu 0"),
        ("crosvm", "crosvm_vcpu0"),
    ],
)
def test_a_machine_that_runs_guests_is_their_host(
    monitor: str, virtual_cpu: str, tmp_path: Path
) -> None:
    files = thread_files(9, monitor, "0-3") | thread_files(10, virtual_cpu, "2", pid=9)
    host = tree(tmp_path / "guests", files)
    idle = tree(tmp_path / "idle", thread_files(9, monitor, "0-3"))

    assert find_role(host, read_machine(host)) is Role.KVM_HOST
    assert find_role(idle, BARE_METAL) is Role.POLL_CORE
    assert find_role(Host(tmp_path / "bare"), BARE_METAL) is Role.POLL_CORE


def test_a_container_is_one_also_in_a_guest(tmp_path: Path) -> None:
    host = tree(tmp_path, {**GUEST, "/.dockerenv": ""})

    assert find_role(host, read_machine(host)) is Role.CONTAINER


def test_a_machine_whose_root_came_from_an_image_is_no_container(tmp_path: Path) -> None:
    host = tree(tmp_path, {**GUEST, "/.dockerenv": "", "/proc/2/comm": "kthreadd\n"})

    assert find_role(host, read_machine(host)) is Role.KVM_GUEST


def test_a_container_that_nothing_names_is_one(tmp_path: Path) -> None:
    """A pod of containerd leaves no file, and only root may read the first environment."""
    files = {**GUEST, PID_NAMESPACE: Link("pid:[4026532201]"), "/proc/1/comm": "nginx\n"}
    host = tree(tmp_path, files)
    machine = read_machine(host)

    assert machine.container == "unknown"
    assert has_own_numbers(host)
    assert find_role(host, machine) is Role.CONTAINER


def test_a_host_that_hides_processes_is_no_container(tmp_path: Path) -> None:
    host = tree(tmp_path, {**GUEST, **HIDDEN, "/proc/900/comm": "bash\n"})

    assert find_role(host, read_machine(host)) is Role.KVM_GUEST
    assert not has_own_numbers(host)


def test_isolated_cores_poll(tmp_path: Path) -> None:
    files = {**CORES, **POLLER, "/sys/devices/system/cpu/isolated": "3\n"}

    assert find_situation(tree(tmp_path, files)).cores == (3,)


@pytest.mark.parametrize(
    ("ours", "cores"),
    [
        ({"/proc/self/status": "Cpus_allowed_list:\t1,3\n"}, (3,)),
        ({"/proc/self/status": "Cpus_allowed_list:\t0-1\n"}, ()),
        # Whatever core this process keeps to itself.
        (
            {
                "/proc/self/status": "Cpus_allowed_list:\t1\n",
                "/sys/fs/cgroup/cpuset.cpus.effective": "1,3\n",
            },
            (3,),
        ),
        ({}, (2, 3)),
    ],
)
def test_of_isolated_cores_those_of_a_container_poll(
    ours: dict[str, str], cores: tuple[int, ...], tmp_path: Path
) -> None:
    isolated = {**CORES, "/sys/devices/system/cpu/isolated": "2-3\n"}

    assert find_situation(tree(tmp_path / "bare", {**isolated, **ours})).cores == (2, 3)
    container = tree(tmp_path / "container", {**isolated, **ours, "/.dockerenv": ""})
    assert find_situation(container).cores == cores


def test_cores_of_a_partition_poll_where_the_kernel_does_not_sum_them_up(tmp_path: Path) -> None:
    group = "/sys/fs/cgroup/taut"
    files = {**CORES, f"{group}/cpuset.cpus.partition": "isolated\n", f"{group}/cpuset.cpus": "1\n"}
    files["/sys/devices/system/cpu/isolated"] = "\n"

    assert find_situation(tree(tmp_path, files)).cores == (1,)


def test_cores_that_no_group_of_version_1_balances_poll(tmp_path: Path) -> None:
    root = "/sys/fs/cgroup/cpuset"
    files = {
        **CORES,
        "/sys/devices/system/cpu/isolated": "\n",
        f"{root}/cpuset.cpus": "0-3\n",
        f"{root}/cpuset.sched_load_balance": "0\n",
        f"{root}/taut-others/cpuset.cpus": "0-2\n",
        f"{root}/taut-others/cpuset.sched_load_balance": "1\n",
    }

    assert find_situation(tree(tmp_path, files)).cores == (3,)


def test_else_cores_with_a_polling_thread_poll(tmp_path: Path) -> None:
    situation = find_situation(tree(tmp_path, {**CORES, **POLLER}))

    assert situation.cores == (1, 2)
    assert situation.processes == (70,)
    assert situation.housekeeping == (0, 3)


@pytest.mark.parametrize(
    "temporary",
    [
        {"/proc/70/comm": "taut-generate\n"},
        {"/proc/70/environ": "PATH=/bin\0TAUT_RUN=ab12\0"},
    ],
)
def test_what_a_run_starts_and_ends_changes_no_audit_of_the_host(
    temporary: dict[str, str], tmp_path: Path
) -> None:
    """Of another session too: its programs come and go with each trial."""
    first = tree(tmp_path / "first", CORES)
    second = tree(tmp_path / "second", CORES | POLLER | temporary)

    documents = [
        plain(as_document(run_audit(host, find_situation(host)))) for host in (first, second)
    ]

    assert documents[1]["processes"] == []
    assert documents[0] == documents[1]


@pytest.mark.parametrize(("cores", "word"), [((0, 1, 2, 3), "housekeeping"), ((4,), "not online")])
def test_cores_that_cannot_poll_are_refused(
    cores: tuple[int, ...], word: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=word):
        find_situation(tree(tmp_path, CORES), cores=cores)


def test_programs_poll_unless_it_is_said_that_they_sleep(tmp_path: Path) -> None:
    host = tree(tmp_path, CORES)
    both = frozenset({Waiting.POLLS, Waiting.SLEEPS})

    assert find_situation(host).waiting == {Waiting.POLLS}
    assert not find_situation(host).sleeps
    assert find_situation(host, waiting=both).sleeps
    assert list(as_document(run_audit(host, replace(POLL, waiting=both), checks=[])).waiting) == [
        "polls",
        "sleeps",
    ]


def test_watched_files_are_read_twice(tmp_path: Path) -> None:
    host = tree(tmp_path, {"/proc/count1": "5\n"})

    audit = run_audit(host, POLL, checks=[COUNTS], watch_s=0.01)

    assert audit.rows[0].finding.state is State.PASS


def test_the_document_counts_states_and_names_each_check(tmp_path: Path) -> None:
    document = plain(as_document(run_audit(tree(tmp_path, {}), POLL, checks=[COUNTS])))

    assert document["counts"]["FAIL"] == 1
    [row] = document["checks"]
    assert (row["id"], row["state"], row["severity"]) == ("X1", "FAIL", "major")
