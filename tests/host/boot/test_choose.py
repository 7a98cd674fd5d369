from pathlib import Path

import pytest

from host_tree import POLL, put, tree
from taut.host.boot.choose import choose_wishes, is_in_force
from taut.host.boot.item import (
    BootItem,
    KernelParameter,
    ModuleOption,
    Sysctl,
    SysfsValue,
    UnitState,
)
from taut.host.check import Profile
from taut.host.checks.runtime.vm_stat_interval import CHECK

PATH = "/proc/sys/vm/stat_interval"
ITEM = Sysctl("vm.stat_interval", "120")


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


def test_what_is_good_in_its_own_way_is_left_alone(tmp_path: Path) -> None:
    put(tmp_path, PATH, "30\n")

    assert chosen(tmp_path) == []


@pytest.mark.parametrize(
    ("item", "path", "text"),
    [
        (KernelParameter("nohz_full", cores=(3,)), "/proc/cmdline", "ro nohz-full=2 quiet\n"),
        (Sysctl("vm.swappiness", "10"), "/proc/sys/vm/swappiness", "10\n"),
        (SysfsValue("/sys/kernel/mm/ksm/run", "0"), "/sys/kernel/mm/ksm/run", "0\n"),
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
