"""Boot configuration that is written a second time, in a boot with the first, is the same."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from check_rows import BY_ID, Row, all_rows
from host_tree import put, tree
from taut.core.cpus import cpu_mask, format_cpu_list
from taut.host.boot.choose import choose_wishes
from taut.host.boot.item import BootItem, KernelParameter, ModuleOption, Sysctl, SysfsValue
from taut.host.boot.systemd import hold_back_path
from taut.host.check import Profile, State
from taut.host.host import Host

CPU = "/sys/devices/system/cpu"
CMDLINE, INTERRUPTS = "/proc/cmdline", "/proc/interrupts"
SWITCHES = {"0": "N\n", "1": "Y\n"}


def chosen(row: Row, host: Host) -> list[BootItem]:
    wishes = choose_wishes([BY_ID[row.check]], host, row.situation, Profile.EXTREME)
    return [wish.item for wish in wishes]


def reboot(host: Host, items: Iterable[BootItem]) -> None:
    """Let the host be as the items make it."""
    words = [host.read(CMDLINE) or ""]
    for item in items:
        match item:
            case KernelParameter():
                words.append(str(item))
                obey(host, item)
            case Sysctl():
                put(host.root, f"/proc/sys/{item.key.replace('.', '/')}", as_shown(item))
            case SysfsValue():
                put(host.root, item.path, as_shown(item))
            case ModuleOption():
                folder = f"/sys/module/{item.module.replace('-', '_')}/parameters"
                put(host.root, f"{folder}/{item.option}", SWITCHES.get(item.value, item.value))
            case _:
                put(host.root, hold_back_path(item.unit), "")
                for asked, answer in (("is-active", "inactive\n"), ("is-enabled", "enabled\n")):
                    put(host.root, f"/commands/systemctl {asked} {item.unit}", answer)
    put(host.root, CMDLINE, f"{' '.join(words)}\n")


def as_shown(item: Sysctl | SysfsValue) -> str:
    """Write a value as the kernel shows it: masks as wide as one for 64 processors has them."""
    if item.form != "mask":
        return f"{item.value}\n"
    digits = f"{int(item.value.replace(',', ''), 16):016x}"
    return f"{digits[:8]},{digits[8:]}\n"


def obey(host: Host, parameter: KernelParameter) -> None:
    """Show what a kernel shows that was given a parameter."""
    cores = f"{format_cpu_list(parameter.cores)}\n" if parameter.cores else ""
    module, _, option = parameter.name.partition(".")
    shown = {
        "isolcpus": (f"{CPU}/isolated", cores),
        "nohz_full": (f"{CPU}/nohz_full", cores),
        "irqaffinity": ("/proc/irq/default_smp_affinity", f"{cpu_mask(parameter.cores)}\n"),
        "no-kvmapf": (INTERRUPTS, "           CPU0       CPU1\nHYP:  0  0   Hypervisor\n"),
    }
    if parameter.name in shown:
        put(host.root, *shown[parameter.name])
    elif option and host.is_there(path := f"/sys/module/{module}/parameters/{option}"):
        put(host.root, path, f"{parameter.value}\n")


# A sibling that is offline is no longer in the list of its core's threads: nobody knows whose it
# was. It is taken offline again at each boot by the unit that applies.
FAILING = [row for row in all_rows() if row.state is State.FAIL and row.check != "HW03"]


@pytest.mark.parametrize("row", FAILING, ids=str)
def test_what_was_chosen_is_chosen_again_after_the_reboot(row: Row, tmp_path: Path) -> None:
    host = tree(tmp_path, row.files)
    first = chosen(row, host)

    reboot(host, first)

    assert [item for item in first if item not in chosen(row, host)] == []
