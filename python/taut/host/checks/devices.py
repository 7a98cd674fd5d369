"""Checks of network devices: their links, queues, interrupts and address translation."""

import re
from collections.abc import Iterable, Mapping

from taut.host.boot.item import KernelParameter
from taut.host.check import Finding, Remedy
from taut.host.checks._platform import Nic, hidden, nics
from taut.host.setting import Change
from taut.host.settings.ethtool import EthtoolSetting, ethtool_options
from taut.host.situation import Role
from taut.host.table import (
    BARE,
    EVERYWHERE,
    EXTREME,
    MAJOR,
    MINOR,
    REBOOT,
    Check,
    boot,
    by_hand,
    now,
    write,
)
from taut.host.view import NAME_CORES, View

_NET = "/sys/class/net"
_POLICY = "/sys/module/pcie_aspm/parameters/policy"
_CONTROL = re.compile(r"LnkCtl:\s*ASPM (\w[^;]*)")
_UNITS = "/sys/class/iommu"
_GROUPS = "/sys/kernel/iommu_groups"
_MOST_USECS = 10


def link_power(see: View) -> Finding:
    """Look at each NIC's link; at the policy where no link can be seen."""
    found = nics(see)
    if not found:
        see.cannot_tell("no NIC found", "name it with --interface")
    if see.is_guest:
        if not any(nic.address for nic in found):
            see.skip("virtual NICs only: they have no PCIe link")
        hidden(see, "PCIe link")
    states = {nic.name: _sleeps(see, nic) for nic in found}
    if asleep := [f"{name}: {', '.join(on)}" for name, on in states.items() if on]:
        return see.failed(f"link may sleep: {'; '.join(asleep)}")
    names = " ".join(states)
    unseen = " ".join(name for name, on in states.items() if on is None)
    if not unseen:
        return see.passed(f"{names}: link never sleeps")
    policy = _policy(see)
    if policy == "performance":
        return see.passed(f"policy performance ({names})")
    observed = f"{unseen}: link states not shown; policy {policy or 'not shown'}"
    return see.unknown(observed, "as root: lspci -vv, line LnkCtl of the NIC")


def _sleeps(see: View, nic: Nic) -> list[str] | None:
    """Sleep states that are on; None: the kernel does not show them."""
    switches = {path: see.read(path) for path in _switches(see, nic)}
    if switches and all(value in ("0", "1") for value in switches.values()):
        return [path.rpartition("/")[2] for path, value in switches.items() if value == "1"]
    if not nic.address:
        return None
    shown = _CONTROL.search(see.command("lspci", "-vv", "-s", nic.address) or "")
    if shown is None:
        return None
    return [] if shown[1].startswith("Disabled") else [f"ASPM {shown[1]}"]


def _switches(see: View, nic: Nic) -> list[str]:
    """Files of the kernel since 5.5: l0s_aspm, l1_aspm, l1_1_aspm ..."""
    folder = f"{nic.folder}/link"
    return [f"{folder}/{name}" for name in see.names(folder) if name.endswith("_aspm")]


def _policy(see: View) -> str | None:
    chosen = re.search(r"\[(\w+)\]", see.read(_POLICY) or "")
    return chosen[1] if chosen else None


def wake_links(see: View) -> Iterable[Remedy]:
    """Keep each link awake; the policy at boot, for devices may change their names."""
    switches = [path for nic in nics(see) for path in _switches(see, nic)]
    changes = [write(path, "0") for path in switches if see.read(path) == "1"]
    if not changes and _policy(see) not in (None, "performance"):
        changes = [write(_POLICY, "performance", "choice")]
    if changes:
        yield now("keep the NICs' links awake", *changes, cost="about a watt per device")
    yield boot(
        "boot with links that never sleep",
        KernelParameter("pcie_aspm.policy", "performance"),
        risk="pcie_aspm=off, often advised, leaves what the firmware has switched on",
        cost="a few watts per device",
    )


def iommu(see: View) -> Finding:
    """Look at the groups of the traffic's interfaces, else at all.

    What counts is the type of the groups, whatever the command line says.
    """
    if not see.names(_UNITS) and not see.names(_GROUPS):
        if see.role is not Role.KVM_HOST:
            see.skip("no IOMMU is on: nothing is translated")
        fault = "No device can be given to a guest"
        return see.failed("no IOMMU is on", wanted=f"on, {see.wanted}", fault=fault)
    own = _types_of_interfaces(see)
    paths = own or see.paths(f"{_GROUPS}/*/type")
    kinds = sorted({kind for path in paths if (kind := see.read(path))})
    if not kinds:
        needs = f"a readable type in {_GROUPS}/N (Linux 5.11)"
        see.cannot_tell(f"{len(paths)} groups", needs)
    where = "groups of the interfaces" if own else f"{len(paths)} groups"
    # Without an interface to ask for, some group that passes through shows the default;
    # devices with narrow addresses keep their translation in spite of it.
    is_good = kinds == ["identity"] if own else "identity" in kinds
    return see.good_if(is_good, f"{where}: {' '.join(kinds)}")


def _types_of_interfaces(see: View) -> list[str]:
    links = (f"{_NET}/{name}/device/iommu_group" for name in see.situation.interfaces)
    groups = {see.host.link_target(link) for link in links}
    return sorted(f"{_GROUPS}/{group}/type" for group in groups if group)


def pass_through(see: View) -> Iterable[Remedy]:
    """At boot; each vendor has its own words."""
    items = [KernelParameter("iommu", "pt")]
    if see.machine.vendor == "intel":
        items.insert(0, KernelParameter("intel_iommu", "on"))
    if not see.machine.is_x86:
        items = [KernelParameter("iommu.passthrough", "1")]
    yield boot(
        "pass the host's own devices through the IOMMU",
        *items,
        profile=EXTREME,
        rollback=REBOOT,
        risk="a broken or hostile device of the host can write anywhere in memory",
        cost="security: less isolation of the host's devices; those of programs keep it",
    )


def queues(see: View) -> Finding:
    """Compare with the housekeeping cores; any number of queues fits where none polls.

    A driver makes a queue, with an interrupt, for every core it may use.
    """
    if not see.situation.polls:
        see.skip("a device that sleeps takes queues on its own cores")
    counted = {name: n for name in _physical(see) if (n := _n_receive_queues(see, name))}
    if not counted:
        see.skip("no network interface that a kernel driver runs")
    observed = ", ".join(f"{name}: {n} receive queues" for name, n in counted.items())
    most, n_cores = max(counted.values()), len(see.housekeeping)
    wanted = f"at most {n_cores}: as many as housekeeping cores"
    if most > n_cores:
        return see.failed(observed, wanted=wanted)
    # Whichever core polls, one is left.
    if see.cores or see.role is Role.HOUSEKEEPING or most == 1:
        return see.passed(observed, wanted=wanted)
    return see.unknown(observed, NAME_CORES, "as many as housekeeping cores")


def fewer_queues(see: View) -> Iterable[Remedy]:
    """Fewer combined queues, or receive queues where the driver tells them apart."""
    wanted = len(see.housekeeping)
    changes = []
    for name in _physical(see):
        options = ethtool_options(see.host, name, "channels")
        option = "combined" if options.get("combined", "0") != "0" else "rx"
        if wanted and option in options and _n_receive_queues(see, name) > wanted:
            changes.append(Change(EthtoolSetting(name, "channels", option), str(wanted)))
    if changes:
        yield now(
            f"as many queues as housekeeping cores: {wanted}",
            *changes,
            profile=EXTREME,
            risk="the link may go down for seconds: packets are lost",
            cost="less throughput of the kernel's network stack",
        )
        return
    what = f"ethtool -L INTERFACE combined {max(wanted, 1)}, where the driver can"
    yield by_hand("give network interfaces fewer queues", what)


def _physical(see: View) -> list[str]:
    """Interfaces with a device below them, as opposed to bridges and tunnels."""
    return [name for name in see.names(_NET) if see.is_there(f"{_NET}/{name}/device")]


def _n_receive_queues(see: View, interface: str) -> int:
    return sum(name.startswith("rx-") for name in see.names(f"{_NET}/{interface}/queues"))


def coalescing(see: View) -> Finding:
    """Ask ethtool; flow control is shown and not judged: it trades loss for delay.

    Of interfaces that carry the traffic through the kernel or in interrupt mode.
    """
    interfaces = _carrying(see)
    if not interfaces:
        see.skip("no network interface that a kernel driver runs")
    if see.command("ethtool", "--version") is None:
        see.cannot_tell(", ".join(interfaces), "install ethtool")
    options = {name: _options(see, name) for name in interfaces}
    if not any(options.values()):
        see.skip(f"{', '.join(interfaces)}: neither coalescing nor EEE")
    wrong = [name for name in interfaces if _corrected(options[name])]
    shown = [f"{name} {_said(see, name, options[name])}" for name in wrong or interfaces]
    return see.good_if(not wrong, "; ".join(shown))


def end_coalescing(see: View) -> Iterable[Remedy]:
    """Switch off what holds packets back."""
    changes = [
        Change(EthtoolSetting(name, "eee" if option == "eee" else "coalesce", option), value)
        for name in _carrying(see)
        for option, value in _corrected(_options(see, name)).items()
    ]
    if changes:
        yield now(
            "switch off adaptive coalescing, its timeout and EEE",
            *changes,
            risk="a change of EEE takes the link down for seconds on some interfaces",
            cost="an interrupt for each burst: more load on the cores that take them",
            profile=EXTREME,
        )


def _carrying(see: View) -> list[str]:
    """Interfaces that carry the traffic, as far as the kernel runs them; all where nobody said."""
    named = see.situation.interfaces
    return [name for name in named if see.is_there(f"{_NET}/{name}")] if named else _physical(see)


def _options(see: View, interface: str) -> dict[str, str]:
    """Give the options that this check judges."""
    coalesce = ethtool_options(see.host, interface, "coalesce")
    known = {name: coalesce[name] for name in ("adaptive-rx", "rx-usecs") if name in coalesce}
    return {**known, **ethtool_options(see.host, interface, "eee")}


def _corrected(options: Mapping[str, str]) -> dict[str, str]:
    """Give the values that are wanted instead, of those that are wrong."""
    wanted = {name: "off" for name in ("adaptive-rx", "eee") if options.get(name) == "on"}
    usecs = options.get("rx-usecs", "")
    if usecs.isdecimal() and int(usecs) > _MOST_USECS:
        wanted["rx-usecs"] = "0"
    return wanted


def _said(see: View, interface: str, options: Mapping[str, str]) -> str:
    pause = ethtool_options(see.host, interface, "pause")
    flow = [f"pause-{way} {pause[way]}" for way in ("rx", "tx") if way in pause]
    return ", ".join([*(f"{name} {value}" for name, value in options.items()), *flow])


CHECKS = (
    Check(
        "HW12",
        "PCIe link power states",
        "PCIe links may sleep",
        MAJOR,
        link_power,
        "no sleep states on the NIC's link",
        remedies=wake_links,
        why="a link that sleeps between packets takes microseconds to tens of microseconds to "
        "wake, most of all at low rates",
        source="kernel-parameters.txt; Intel NFV-I host configuration (2018); size not verified",
    ),
    Check(
        "K24",
        "IOMMU passes the host's devices through",
        "The IOMMU translates for the host's devices",
        MINOR,
        iommu,
        "passthrough (identity) for the host's own devices",
        roles=BARE,
        remedies=pass_through,
        why="where every buffer is mapped and unmapped the device's TLB is flushed, which stalls a "
        "driver in the kernel for microseconds; passed-through devices of programs do not care",
        source="Intel NFV-I (2018); NTO; kernel-parameters.txt (iommu=pt)",
    ),
    Check(
        "R03",
        "queues of network interfaces",
        "Network interfaces have more queues than housekeeping cores",
        MINOR,
        queues,
        roles=EVERYWHERE - {Role.CONTAINER},
        remedies=fewer_queues,
        why="drivers spread receive queues over all cores: each queue more than there are "
        "housekeeping cores brings its interrupt and softirq to a polling core",
        source="OpenShift node tuning operator (userLevelNetworking); tuned [net]",
    ),
    Check(
        "R05",
        "coalescing and energy saving of network interfaces",
        "Network interfaces hold packets back, or sleep",
        MAJOR,
        coalescing,
        "adaptive-rx off, rx-usecs at most 10, eee off",
        remedies=end_coalescing,
        why="interrupts held back add their timeout to every packet, adaptive coalescing in steps; "
        "a link that sleeps (EEE) takes microseconds to wake",
        source="Onload user guide; value from general knowledge",
    ),
)
