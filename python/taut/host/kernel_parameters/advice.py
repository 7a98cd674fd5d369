"""What single parameters do besides or instead of what guides say: one row each.

Tags of sources as in docs/host.md: KP the kernel's parameter list, S2 Intel's NFV-I guide, S4
Ducked Tails, TU tuned.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from taut.host.kernel_parameters.command_line import Parameter
from taut.host.kernel_parameters.names import Version
from taut.host.kernel_parameters.problem import Gravity, Kind, Problem


@dataclass(frozen=True)
class Advice:
    """What to say of parameters whose name, and value where given, match these patterns."""

    name: str
    value: str | None
    """A pattern; None: any value, or none."""
    kind: Kind
    severity: Gravity
    message: str
    remedy: str = ""
    since: Version = (0, 0)
    """For kernels from this version on, and where the kernel is not known."""
    until: Version | None = None
    """Only for kernels known to be older than this version."""

    def matches(self, parameter: Parameter, kernel: Version | None) -> bool:
        """Whether the advice is for this parameter of this kernel (None: not known)."""
        if kernel is not None and kernel < self.since:
            return False
        if self.until is not None and (kernel is None or kernel >= self.until):
            return False
        if re.fullmatch(self.name, parameter.name) is None:
            return False
        return self.value is None or re.fullmatch(self.value, parameter.value or "") is not None


_UNSAFE = "turns off protection of processes and guests from each other"
_UNSAFE_REMEDY = "remove it: a loop that polls makes no system calls and gains nothing"

ADVICE = (
    Advice(
        "mce",
        "off",
        Kind.DANGEROUS,
        Gravity.DANGER,
        "disables all machine-check handling: an uncorrected memory error becomes silently wrong"
        " data or a reset (S2 asks for it)",
        "mce=ignore_ce, or write ignore_ce in /sys/devices/system/machinecheck",
    ),
    Advice("nomce", None, Kind.DANGEROUS, Gravity.DANGER, "the same as mce=off", "mce=ignore_ce"),
    Advice(
        "mce",
        "ignore_ce",
        Kind.DANGEROUS,
        Gravity.NOTE,
        "corrected memory errors are no longer seen: a failing module gives no warning",
        "can be set at run time: ignore_ce in /sys/devices/system/machinecheck",
    ),
    Advice("mitigations", "off([,;].*)?", Kind.DANGEROUS, Gravity.DANGER, _UNSAFE, _UNSAFE_REMEDY),
    Advice(
        "nopti|nospectre_v1|nospectre_v2|nospectre_bhb|nospec_store_bypass_disable|nosmap|nosmep"
        "|nobp",
        None,
        Kind.DANGEROUS,
        Gravity.DANGER,
        _UNSAFE,
        _UNSAFE_REMEDY,
    ),
    Advice(
        "pti|spectre_v1|spectre_v2|spectre_v2_user|spectre_bhi|l1tf|mds|tsx_async_abort|retbleed"
        "|mmio_stale_data|srbds|spec_store_bypass_disable|spec_rstack_overflow|tsa|vmscape"
        "|gather_data_sampling|reg_file_data_sampling|indirect_target_selection|l1d_flush",
        "off(,.*)?",
        Kind.DANGEROUS,
        Gravity.DANGER,
        _UNSAFE,
        _UNSAFE_REMEDY,
    ),
    Advice(
        "kvm_intel.vmentry_l1d_flush",
        "never",
        Kind.DANGEROUS,
        Gravity.DANGER,
        "lets guests read what is in the first-level cache",
        "remove it",
    ),
    Advice(
        r"kvm\.nx_huge_pages",
        "off|0|N|n|no",
        Kind.DANGEROUS,
        Gravity.WARNING,
        "on processors with ITLB_MULTIHIT a guest can then stop the machine",
        "only where /sys/devices/system/cpu/vulnerabilities/itlb_multihit says Not affected",
    ),
    Advice(
        "tsx",
        "on|auto",
        Kind.DANGEROUS,
        Gravity.WARNING,
        "opens TSX side channels on processors that have it",
        "tsx=off",
    ),
    Advice(
        "noexec|noexec32|ibt|nokaslr|norandmaps",
        "off||0",
        Kind.DANGEROUS,
        Gravity.WARNING,
        "weakens the kernel's own protection and does nothing for latency",
        "remove it",
    ),
    Advice(
        "selinux|apparmor",
        "0|off",
        Kind.DANGEROUS,
        Gravity.WARNING,
        "turns off mandatory access control; it costs system calls only, not a loop that polls",
        "remove it",
    ),
    Advice(
        "audit",
        "0|off",
        Kind.DANGEROUS,
        Gravity.NOTE,
        "no audit trail until the next boot, which compliance rules may ask for; it saves system"
        " calls only",
        "auditctl -e 0 can be taken back",
    ),
    Advice(
        "tsc",
        "reliable",
        Kind.DANGEROUS,
        Gravity.WARNING,
        "drops the checks of the time stamp counter at boot and at run time: if it is not"
        " synchronised, time is wrong and nobody says so",
        "tsc=nowatchdog keeps the checks at boot",
    ),
    Advice(
        "nosmt",
        "force",
        Kind.DANGEROUS,
        Gravity.WARNING,
        "cannot be taken back without a reboot",
        "nosmt: /sys/devices/system/cpu/smt/control then still works",
    ),
    Advice(
        "idle",
        "poll",
        Kind.DANGEROUS,
        Gravity.WARNING,
        "every core runs hot, idle ones too: turbo goes, SMT siblings suffer, and a guest burns"
        " its host's cores; the kernel's documentation does not recommend it (S2, S4 ask for it)",
        "cpu_dma_latency held at 0 or the exit latency of C1 (taut host hold), or"
        " pm_qos_resume_latency_us per core",
    ),
    Advice(
        "idle",
        "mwait",
        Kind.DEPRECATED,
        Gravity.NOTE,
        "idle=mwait is gone since 3.9: mwait is the default where the processor has it",
        "remove it",
    ),
    Advice(
        r"acpi|noapic|nolapic|nosmp|noapictimer",
        "off|",
        Kind.DANGEROUS,
        Gravity.WARNING,
        "takes interrupt routing, cores or power management away from the kernel",
        "remove it unless this machine does not boot otherwise",
    ),
    Advice(
        "intel_iommu|iommu",
        "(.*,)?off(,.*)?",
        Kind.DANGEROUS,
        Gravity.WARNING,
        "any device may write anywhere in memory, and VFIO refuses without its unsafe mode",
        "iommu=pt",
    ),
    Advice(
        "pcie_aspm",
        "force",
        Kind.DANGEROUS,
        Gravity.DANGER,
        "saves link power on devices that say they cannot: lockups, and slower links",
        "remove it; pcie_aspm.policy=performance for latency",
    ),
    Advice(
        "pcie_aspm",
        "off",
        Kind.MISUNDERSTOOD,
        Gravity.NOTE,
        "leaves what the firmware has set: links it gave ASPM keep it",
        "pcie_aspm.policy=performance turns it off",
    ),
    Advice(
        "nosoftlockup",
        "",
        Kind.MISUNDERSTOOD,
        Gravity.NOTE,
        "turns off the soft-lockup detector, not only its logging (S4 says logging)",
        "kernel.watchdog_cpumask keeps the detector on the other cores",
    ),
    Advice(
        "intel_pstate",
        "disable",
        Kind.MISUNDERSTOOD,
        Gravity.WARNING,
        "advice for processors up to Skylake (S2, S4 give it for all): newer ones lose"
        " hardware-controlled frequency (HWP)",
        "intel_pstate=active with governor performance from Ice Lake on",
    ),
    Advice(
        "intel_iommu",
        "pt",
        Kind.MISUNDERSTOOD,
        Gravity.NOTE,
        "pass-through is a value of iommu=",
        "intel_iommu=on iommu=pt",
    ),
    Advice(
        "amd_iommu",
        "on",
        Kind.MISUNDERSTOOD,
        Gravity.WARNING,
        "amd_iommu has no value on: the kernel skips it, and AMD's IOMMU is on by default",
        "remove it",
    ),
    Advice(
        r"processor\.max_cstate",
        "0",
        Kind.MISUNDERSTOOD,
        Gravity.NOTE,
        "0 is taken for 1: C1 stays",
        "processor.max_cstate=1",
    ),
    Advice(
        "nohalt",
        None,
        Kind.INERT,
        Gravity.WARNING,
        "was for Itanium; on x86 and ARM it does nothing",
        "remove it; ARM has nohlt",
    ),
    Advice(
        "nohlt",
        None,
        Kind.INERT,
        Gravity.NOTE,
        "works on ARM and others; x86 has idle=poll instead",
    ),
    Advice(
        "kthread_cpus",
        None,
        Kind.INERT,
        Gravity.WARNING,
        "only kernels with StarlingX's patch take it; mainline does not",
        "cpuset partitions or isolcpus keep unbound kernel threads off the cores",
    ),
    Advice(
        "rcu_nocbs_poll",
        None,
        Kind.MISUNDERSTOOD,
        Gravity.ERROR,
        "not harmless: names are compared by their beginning, so it counts as rcu_nocbs without a"
        " list, does not show among unknown parameters, and an rcu_nocbs=LIST before it is"
        " forgotten where the kernel has CONFIG_CPUMASK_OFFSTACK, as Debian's",
        "rcu_nocb_poll, or nothing",
        since=(6, 1),
    ),
    Advice(
        "mitigations",
        ".*[,;]no_.*",
        Kind.INERT,
        Gravity.ERROR,
        "choosing mitigations by attack came with 6.17: this kernel takes none of the value",
        "mitigations=auto",
        until=(6, 17),
    ),
    Advice(
        "preempt",
        "lazy",
        Kind.INERT,
        Gravity.ERROR,
        "came with 6.13: this kernel keeps its own choice",
        "preempt=full or preempt=none",
        until=(6, 13),
    ),
    Advice(
        "amd_pstate",
        "guided",
        Kind.INERT,
        Gravity.ERROR,
        "came with 6.4: this kernel does not load amd_pstate for it",
        "amd_pstate=passive",
        until=(6, 4),
    ),
    Advice(
        "amd_pstate",
        "active",
        Kind.INERT,
        Gravity.ERROR,
        "came with 6.3: this kernel does not load amd_pstate for it",
        "amd_pstate=passive",
        until=(6, 3),
    ),
    Advice(
        "noibrs|noibpb",
        None,
        Kind.INERT,
        Gravity.WARNING,
        "only Red Hat's kernels of 2018 took it",
        "remove it",
    ),
    Advice(
        "elevator",
        None,
        Kind.INERT,
        Gravity.WARNING,
        "has had no effect since 5.3",
        "write the scheduler to /sys/block/*/queue/scheduler",
        since=(5, 3),
    ),
    Advice(
        "highres",
        "off|0|n|no",
        Kind.DANGEROUS,
        Gravity.WARNING,
        "timers fall back to whole ticks: milliseconds instead of microseconds",
        "remove it",
    ),
)


def advice_problems(parameter: Parameter, kernel: Version | None) -> Iterator[Problem]:
    """Say what there is to say of one parameter by itself."""
    for advice in ADVICE:
        if advice.matches(parameter, kernel):
            yield Problem(
                advice.kind, parameter.text, advice.severity, advice.message, advice.remedy
            )


def is_explained(name: str) -> bool:
    """Whether a row says why a name does nothing, so that nothing need be guessed of it."""
    return any(advice.kind is Kind.INERT and re.fullmatch(advice.name, name) for advice in ADVICE)
