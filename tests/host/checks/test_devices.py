from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from check_rows import (
    BY_ID,
    GUEST,
    HOUSEKEEPING,
    KVM_HOST,
    NOBODY,
    bad,
    each,
    good,
    skipped,
    unseen,
)
from host_commands import CommandWriter
from host_tree import BARE_METAL, POLL, SLEEP, Link, remedied, tree
from taut.host.host import Host

NET = "/sys/class/net"
POLICY = "/sys/module/pcie_aspm/parameters/policy"
LINK = f"{NET}/eth0/device/link"
ETH0 = replace(POLL, interfaces=("eth0",))
ETH0_IN_GUEST = replace(GUEST, interfaces=("eth0",))
PCI = "0000:3b:00.0"
LSPCI = f"/commands/lspci -vv -s {PCI}"
SAID = "\t\tLnkCtl:\tASPM {}; RCB 64 bytes, Disabled- CommClk+\n"
UNIT = {"/sys/class/iommu/dmar0/uevent": ""}
GROUPS = "/sys/kernel/iommu_groups"
NIC = {f"{NET}/eth0/device/vendor": "0x8086\n", "/commands/ethtool --version": "ethtool 6.1\n"}
COALESCE, EEE = "/commands/ethtool -c eth0", "/commands/ethtool --show-eee eth0"
CHANNELS = """\
Channel parameters for eth0:
Pre-set maximums:
RX:\t\tn/a
Combined:\t64
Current hardware settings:
RX:\t\tn/a
Combined:\t4
"""


def device(name: str) -> dict[str, str]:
    """Make eth0 a device as /sys does: by a link."""
    return {
        f"/sys/devices/{name}/uevent": "",
        f"{NET}/eth0/device": Link(f"../../../devices/{name}"),
    }


def groups(*types: str) -> dict[str, str]:
    return UNIT | {f"{GROUPS}/{at}/type": f"{kind}\n" for at, kind in enumerate(types)}


def queues(n_queues: int) -> dict[str, str]:
    files = {f"{NET}/eth0/queues/rx-{n}/rps_cpus": "0\n" for n in range(n_queues)}
    return {f"{NET}/eth0/device/vendor": "0x8086\n"} | files


def coalescing(adaptive: str, usecs: str) -> dict[str, str]:
    lines = f"Coalesce parameters for eth0:\nAdaptive RX: {adaptive}  TX: off\nrx-usecs: {usecs}\n"
    return NIC | {COALESCE: lines}


def eee(status: str) -> dict[str, str]:
    return NIC | {EEE: f"EEE settings for eth0:\n\tEEE status: {status}\n\tTx LPI: 17 (us)\n"}


ROWS = (
    good("HW12", {f"{LINK}/l0s_aspm": "0\n", f"{LINK}/l1_aspm": "0\n"}, on=ETH0),
    bad(
        "HW12",
        {f"{LINK}/l1_aspm": "1\n", f"{LINK}/l0s_aspm": "0\n", f"{LINK}/clkpm": "1\n"},
        "eth0: l1_aspm",
        on=ETH0,
        remedies="now boot",
        does=(f"{LINK}/l1_aspm = 0", "pcie_aspm.policy=performance"),
        mends=True,
    ),
    # lspci tells where the kernel shows no switch.
    bad(
        "HW12",
        device(PCI) | {POLICY: "[default] performance\n", LSPCI: SAID.format("L1 Enabled")},
        "ASPM L1 Enabled",
        on=ETH0,
        does=(f"{POLICY} = performance",),
    ),
    good("HW12", device(PCI) | {LSPCI: SAID.format("Disabled")}, on=ETH0),
    # The policy alone is believed only when it is performance.
    good("HW12", device(PCI) | {POLICY: "default [performance] powersave\n"}, on=ETH0),
    unseen("HW12", device(PCI) | {POLICY: "[default] performance\n"}, "lspci -vv", on=ETH0),
    # Virtual NICs have no link, and those passed through are the host's.
    skipped("HW12", device("virtio2"), on=ETH0_IN_GUEST),
    unseen("HW12", device(PCI), on=ETH0_IN_GUEST),
    unseen("HW12", {}, "--interface"),
    unseen("HW12", {f"{LINK}/l1_aspm": "maybe\n", POLICY: "none of these\n"}, on=ETH0),
    # Although one narrow device is translated.
    good("K24", groups("identity", "DMA")),
    bad(
        "K24",
        groups("DMA", "DMA-FQ"),
        "DMA-FQ",
        remedies="boot",
        does=("intel_iommu=on", "iommu=pt", "security", "extreme"),
    ),
    # The interface's group decides where it is known.
    bad(
        "K24",
        groups("identity", "DMA")
        | {f"{NET}/eth0/device/iommu_group": Link("../../../kernel/iommu_groups/1")},
        on=ETH0,
    ),
    skipped("K24", {}),
    bad("K24", {}, "No device can be given", on=KVM_HOST),
    unseen("K24", UNIT),
    unseen("K24", groups("")),
    good("R03", queues(2)),
    bad("R03", queues(4), "eth0: 4 receive queues", "at most 2", does=("-L INTERFACE combined 2",)),
    bad(
        "R03",
        queues(4) | {"/commands/ethtool -l eth0": "\x00 netlink error\n:::"},
        remedies="by-hand",
    ),
    skipped("R03", {f"{NET}/docker0/queues/rx-7/rps_cpus": "0\n"}),
    # Whichever core polls, one queue fits.
    good("R03", queues(1), on=NOBODY),
    unseen("R03", queues(2), on=NOBODY),
    bad("R03", queues(5), on=NOBODY),
    good("R03", queues(4), on=replace(HOUSEKEEPING, cores=())),
    skipped("R03", queues(4), on=SLEEP),
    good("R05", coalescing("off", "3") | eee("disabled"), "rx-usecs 3"),
    bad(
        "R05",
        coalescing("on", "50") | eee("enabled - active"),
        "adaptive-rx on, rx-usecs 50, eee on",
        remedies="now",
    ),
    # A driver that only has a timeout is judged by it.
    bad("R05", coalescing("n/a", "11") | eee("not supported"), "eth0 rx-usecs 11"),
    # Flow control is shown and not judged.
    good(
        "R05",
        coalescing("off", "0")
        | {"/commands/ethtool -a eth0": "Pause parameters for eth0:\nRX: on\nTX: off\n"},
        "pause-rx on",
    ),
    unseen("R05", {f"{NET}/eth0/device/vendor": "0x8086\n"}, "install ethtool"),
    skipped("R05", NIC, "neither"),
    skipped("R05", NIC | {COALESCE: "\x00\x80 :: rx-usecs\nAdaptive RX:", EEE: "EEE status: ?\n"}),
    # Only interfaces that carry the traffic count.
    skipped(
        "R05",
        coalescing("on", "50") | {f"{NET}/eth1/device/vendor": "0x8086\n"},
        on=replace(POLL, interfaces=("eth1",)),
    ),
    skipped("R05", {f"{NET}/lo/address": "0\n"}),
)

test_devices = each(ROWS)


@pytest.mark.parametrize(
    ("check", "files", "wanted"),
    [
        (
            "R03",
            queues(4) | {"/commands/ethtool -l eth0": CHANNELS},
            {"eth0: channels combined": "2"},
        ),
        (
            "R05",
            coalescing("on", "50") | eee("enabled - active"),
            {
                "eth0: coalesce adaptive-rx": "off",
                "eth0: eee eee": "off",
                "eth0: coalesce rx-usecs": "0",
            },
        ),
    ],
)
def test_ethtool_mends_it(
    check: str, files: Mapping[str, str], wanted: Mapping[str, str], tmp_path: Path
) -> None:
    writer = CommandWriter(tree(tmp_path, files))

    with remedied(BY_ID[check], tmp_path, writer=writer) as remedies:
        changes = {change.setting.name: change.wanted for change in remedies[0].changes}
        assert list(changes.items()) == list(wanted.items())


@pytest.mark.parametrize(("vendor", "words"), [("amd", "iommu=pt"), ("arm", "iommu.passthrough=1")])
def test_the_iommu_has_other_parameters_elsewhere(vendor: str, words: str, tmp_path: Path) -> None:
    there = replace(POLL, machine=replace(BARE_METAL, vendor=vendor))

    (remedy,) = BY_ID["K24"].propose(Host(tmp_path), there)

    assert [str(item) for item in remedy.boot] == [words]
