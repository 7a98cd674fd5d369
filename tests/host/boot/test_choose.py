from collections.abc import Callable
from pathlib import Path

import pytest

from check_rows import BY_ID
from host_tree import POLL, TreeWriter, put, tree
from taut.host.apply import Wish, apply_changes
from taut.host.boot.choose import choose_hold_us, choose_wishes, is_in_force
from taut.host.boot.context import BootContext
from taut.host.boot.grub import grub_files
from taut.host.boot.item import (
    BootItem,
    KernelParameter,
    ModuleOption,
    Sysctl,
    SysfsValue,
    UnitState,
)
from taut.host.boot.tuned import tuned_files
from taut.host.boot.wish import BootWish
from taut.host.check import Finding, Profile, Remedy, Severity, failed, unknown
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.settings.held_latency import HeldLatency
from taut.host.table import Check, boot, now
from taut.host.view import View

CHECK = BY_ID["R06"]
PATH = "/proc/sys/vm/stat_interval"
ITEM = Sysctl("vm.stat_interval", "120")


def made(judge: Callable[[View], Finding], remedy: Remedy) -> Check:
    return Check("X01", "", "", Severity.MAJOR, judge, remedies=(remedy,), why="why")


def chosen(root: Path, profile: Profile = Profile.RECOMMENDED) -> list[BootItem]:
    return [wish.item for wish in choose_wishes([CHECK], tree(root, {}), POLL, profile)]


def test_a_failed_check_puts_its_items_at_boot_with_its_reason(tmp_path: Path) -> None:
    host = tree(tmp_path, {PATH: "1\n"})

    (wish,) = choose_wishes([CHECK], host, POLL, Profile.RECOMMENDED)

    assert wish.item == ITEM
    assert wish.by == "R06-boot"
    assert wish.reason == CHECK.why


def test_a_smaller_profile_leaves_it_out(tmp_path: Path) -> None:
    put(tmp_path, PATH, "1\n")

    assert chosen(tmp_path, Profile.MINIMAL) == []


def test_what_helps_already_is_chosen_again(tmp_path: Path) -> None:
    put(tmp_path, PATH, "120\n")

    assert chosen(tmp_path) == [ITEM]


def test_what_helps_already_stays_where_the_check_cannot_tell(tmp_path: Path) -> None:
    unsure = made(lambda _: unknown("not watched", "--watch 5s"), boot("", ITEM))

    host = tree(tmp_path, {PATH: "1\n"})
    assert choose_wishes([unsure], host, POLL, Profile.RECOMMENDED) == []

    put(tmp_path, PATH, "120\n")
    assert [w.item for w in choose_wishes([unsure], host, POLL, Profile.RECOMMENDED)] == [ITEM]


def test_what_an_apply_of_this_boot_made_good_is_chosen_again(tmp_path: Path) -> None:
    balancing, boot_id = "/proc/sys/kernel/numa_balancing", "/proc/sys/kernel/random/boot_id"
    host = tree(tmp_path, {balancing: "1\n", boot_id: "this\n"})
    now_off = Wish("R13-now", Change(FileSetting(balancing, "number"), "0"))

    def items() -> list[str]:
        found = choose_wishes([BY_ID["R13"]], host, POLL, Profile.RECOMMENDED)
        return [str(wish.item) for wish in found]

    before = items()
    apply_changes(host, TreeWriter(host), [now_off])
    assert items() == before == ["numa_balancing=disable"]

    # As after a boot that left it so by itself.
    put(tmp_path, boot_id, "next\n")
    assert items() == []


def test_what_is_good_in_its_own_way_is_left_alone(tmp_path: Path) -> None:
    put(tmp_path, PATH, "30\n")

    assert chosen(tmp_path) == []


@pytest.mark.parametrize(
    ("item", "path", "text"),
    [
        (KernelParameter("nohz_full", cores=(3,)), "/proc/cmdline", "ro nohz-full=2 quiet\n"),
        (Sysctl("vm.swappiness", "10"), "/proc/sys/vm/swappiness", "10\n"),
        (SysfsValue("/sys/kernel/mm/ksm/run", "0"), "/sys/kernel/mm/ksm/run", "0\n"),
        # The kernel shows as many digits as it has cores.
        (
            SysfsValue("/sys/devices/virtual/workqueue/cpumask", "f", "mask"),
            "/sys/devices/virtual/workqueue/cpumask",
            "0f\n",
        ),
        (
            ModuleOption("kvm-intel", "ple_gap", "0"),
            "/sys/module/kvm_intel/parameters/ple_gap",
            "0\n",
        ),
        (
            UnitState("irqbalance.service", is_enabled=False),
            "/commands/systemctl is-enabled irqbalance.service",
            "disabled\n",
        ),
    ],
)
def test_in_force_is_what_the_machine_shows(
    tmp_path: Path, item: BootItem, path: str, text: str
) -> None:
    assert not is_in_force(tree(tmp_path, {}), item)
    assert is_in_force(tree(tmp_path, {path: text}), item)
    assert not is_in_force(tree(tmp_path, {path: "7\n"}), item)


def test_what_is_for_init_is_not_in_force(tmp_path: Path) -> None:
    host = tree(tmp_path, {"/proc/cmdline": "ro -- nohz_full=3\n"})

    assert not is_in_force(host, KernelParameter("nohz_full", cores=(3,)))


def test_a_parameter_that_taut_placed_for_the_next_boot_is_in_force(tmp_path: Path) -> None:
    wish = BootWish(KernelParameter("numa_balancing", "disable"), "psi is another")
    context = BootContext(role=POLL.role, online=POLL.online, cores=POLL.cores)
    host = tree(tmp_path, grub_files([wish], context))

    assert is_in_force(host, KernelParameter("numa-balancing", "disable"))
    assert not is_in_force(host, KernelParameter("psi", "0"))


def test_a_unit_that_taut_holds_back_is_in_force(tmp_path: Path) -> None:
    path = "/etc/systemd/system/irqbalance.service.d/90-taut.conf"

    assert is_in_force(tree(tmp_path, {path: ""}), UnitState("irqbalance.service", False))


def test_what_advice_contradicts_itself_about_is_left_out_as_in_a_plan(tmp_path: Path) -> None:
    contested = made(lambda _: failed("1", "120"), boot("", ITEM, measure="others say 1"))

    host = tree(tmp_path, {PATH: "1\n"})

    assert choose_wishes([contested], host, POLL, Profile.EXTREME) == []


def test_the_latency_to_hold_is_that_of_the_plan(tmp_path: Path) -> None:
    held = now("", Change(HeldLatency(), "2"), profile=Profile.EXTREME)
    latency = made(lambda _: failed("deep states", "C1"), held)

    host = tree(tmp_path, {})

    assert choose_hold_us([latency], host, POLL, Profile.EXTREME) == 2
    assert choose_hold_us([latency], host, POLL, Profile.RECOMMENDED) is None
    assert choose_hold_us([latency], host, POLL, Profile.RECOMMENDED, ["X01"]) == 2
    assert choose_hold_us([latency], host, POLL, Profile.EXTREME, ["X01-boot"]) is None


OWN_PAGES = {
    "/proc/cmdline": "ro default_hugepagesz=1G hugepagesz=1G hugepages=64 "
    "transparent_hugepage=madvise\n",
    "/proc/meminfo": "MemTotal: 134217728 kB\nMemAvailable: 50000000 kB\n",
    "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "0\n",
    "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages": "64\n",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
}


def test_parameters_of_somebody_else_that_are_good_are_left_alone(tmp_path: Path) -> None:
    checks = [BY_ID["K22"], BY_ID["K23"]]

    assert choose_wishes(checks, tree(tmp_path, OWN_PAGES), POLL, Profile.EXTREME) == []


@pytest.mark.parametrize("files", [grub_files, tuned_files])
def test_pages_that_taut_placed_are_placed_again_whatever_their_number(
    tmp_path: Path, files: Callable[[list[BootWish], BootContext], dict[str, str]]
) -> None:
    words = {"default_hugepagesz": "1G", "hugepagesz": "1G", "hugepages": "4"}
    wishes = [BootWish(KernelParameter(*word), "why") for word in words.items()]
    context = BootContext(role=POLL.role, online=POLL.online, cores=POLL.cores)
    host = tree(tmp_path, OWN_PAGES | files(wishes, context))

    found = choose_wishes([BY_ID["K22"]], host, POLL, Profile.RECOMMENDED)

    assert [str(wish.item).partition("=")[0] for wish in found] == list(words)
