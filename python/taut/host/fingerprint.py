"""The host's part of the manifest: everything of the machine that could change a number."""

from collections.abc import Sequence

from taut.host.dpdk import dpdk_version
from taut.host.host import Host
from taut.records.documents.json_form import Json

_CPU = "/sys/devices/system/cpu"
_HUGEPAGES = "/sys/kernel/mm/hugepages"
# CPU flags that decide what a time stamp means, and whether this is a guest.
_FLAGS = ("constant_tsc", "nonstop_tsc", "tsc_known_freq", "tsc_reliable", "rdtscp", "hypervisor")
# What the firmware of virtual machines calls them.
_VIRTUAL = ("qemu", "kvm", "virtual machine", "amazon ec2", "google compute engine", "openstack")
_MEMORY = ("MemTotal", "MemAvailable", "SwapTotal")


def fingerprint(host: Host, pci_addresses: Sequence[str] = ()) -> dict[str, Json]:
    """Read the conditions of the machine; a value it does not tell is None."""
    return {
        "cpu": _cpu(host),
        "cores": _cores(host),
        "kernel": host.read("/proc/sys/kernel/osrelease"),
        "kernel_version": host.read("/proc/sys/kernel/version"),
        "cmdline": host.read("/proc/cmdline"),
        "os": _os_name(host),
        "clocksource": host.read(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource"
        ),
        "hypervisor": hypervisor(host),
        "memory": _memory(host),
        "hugepages": hugepages(host),
        "transparent_hugepages": _chosen(host.read("/sys/kernel/mm/transparent_hugepage/enabled")),
        "rt_throttle_us": host.read("/proc/sys/kernel/sched_rt_runtime_us"),
        "vulnerabilities": {
            name: host.read(f"{_CPU}/vulnerabilities/{name}")
            for name in host.names(f"{_CPU}/vulnerabilities")
        },
        "load_average": host.read("/proc/loadavg"),
        "uptime_s": (host.read("/proc/uptime") or "").split(" ")[0] or None,
        "dpdk": dpdk_version(),
        "nics": [_nic(host, address) for address in pci_addresses],
    }


def hypervisor(host: Host) -> str | None:
    """Name of the hypervisor this machine is a guest of; None on bare metal."""
    flags = host.fields("/proc/cpuinfo").get("flags")
    vendor = host.read("/sys/class/dmi/id/sys_vendor")
    product = host.read("/sys/class/dmi/id/product_name")
    named = " ".join(filter(None, (vendor, product)))
    if flags is None:
        return _without_flags(host, named)
    if "hypervisor" not in flags.split():
        return None
    return named or host.read("/sys/hypervisor/type") or "unknown"


def _without_flags(host: Host, named: str) -> str | None:
    """Processors other than x86 do not tell: the firmware's name does, or what systemd finds."""
    # Amazon EC2 without a hypervisor: c7g.metal, c8g.metal-48xl.
    if named.endswith(".metal") or ".metal-" in named:
        return None
    if any(word in named.lower() for word in _VIRTUAL):
        return named
    found = host.command("systemd-detect-virt", "--vm")
    return None if found in (None, "none") else named or found


def hugepages(host: Host) -> dict[str, dict[str, str | None]]:
    """Count hugepages of each size."""
    return {
        size.removeprefix("hugepages-"): {
            "total": host.read(f"{_HUGEPAGES}/{size}/nr_hugepages"),
            "free": host.read(f"{_HUGEPAGES}/{size}/free_hugepages"),
        }
        for size in host.names(_HUGEPAGES)
    }


def _cpu(host: Host) -> dict[str, Json]:
    fields = host.fields("/proc/cpuinfo")
    flags = fields.get("flags", "").split()
    return {
        "model": fields.get("model name"),
        "vendor": fields.get("vendor_id"),
        "family_model_stepping": [fields.get(name) for name in ("cpu family", "model", "stepping")],
        "microcode": fields.get("microcode"),
        "mhz_now": fields.get("cpu MHz"),
        "cache": fields.get("cache size"),
        "flags": {name: name in flags for name in _FLAGS},
    }


def _cores(host: Host) -> dict[str, Json]:
    online = host.online_cores()
    return {
        "online": list(online),
        "isolated": list(host.isolated_cores()),
        "nohz_full": list(host.cores(f"{_CPU}/nohz_full")),
        "smt": host.read(f"{_CPU}/smt/control"),
        "siblings": {
            str(core): host.read(f"{_CPU}/cpu{core}/topology/thread_siblings_list")
            for core in online
        },
        "governor": {
            str(core): host.read(f"{_CPU}/cpu{core}/cpufreq/scaling_governor") for core in online
        },
        "frequency_driver": host.read(f"{_CPU}/cpu0/cpufreq/scaling_driver"),
        "no_turbo": host.read(f"{_CPU}/intel_pstate/no_turbo"),
        "idle_driver": host.read(f"{_CPU}/cpuidle/current_driver"),
        "numa_nodes": len([n for n in host.names("/sys/devices/system/node") if n[4:].isdigit()]),
    }


def _memory(host: Host) -> dict[str, str | None]:
    fields = host.fields("/proc/meminfo")
    return {name: fields.get(name) for name in _MEMORY}


def _os_name(host: Host) -> str | None:
    for line in (host.read("/etc/os-release") or "").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip('"')
    return None


def _chosen(text: str | None) -> str | None:
    """Give the value in brackets: `always [madvise] never`."""
    if text is None or "[" not in text:
        return text
    return text.partition("[")[2].partition("]")[0]


def _nic(host: Host, address: str) -> dict[str, Json]:
    folder = f"/sys/bus/pci/devices/{address}"
    return {
        "address": address,
        "driver": host.link_target(f"{folder}/driver"),
        "interfaces": host.names(f"{folder}/net"),
        **{
            name: host.read(f"{folder}/{name}")
            for name in (
                "vendor",
                "device",
                "subsystem_device",
                "revision",
                "numa_node",
                "current_link_speed",
                "current_link_width",
            )
        },
    }
