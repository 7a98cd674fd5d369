"""Values: what parameters take that have a fixed choice, a list of cores or no value at all.

Choices are those of the kernel's documentation and source up to 6.18; a word added later would
be reported, so what newer kernels take belongs here.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from taut.host.kernel_parameters.command_line import Parameter
from taut.host.kernel_parameters.cpu_list import ASSUMED_CORES, parse_kernel_cpu_list
from taut.host.kernel_parameters.problem import Gravity, Kind, Problem
from taut.host.kernel_parameters.words import word_set


@dataclass(frozen=True)
class Choice:
    """Words a value may be; with a separator, several of them."""

    words: str
    separators: str = ""
    pattern: str = r"(?!)"
    """A pattern of other values that are taken, too."""

    def refuses(self, value: str) -> list[str]:
        """Give the words of a value that are none of the choice."""
        parts = re.split(f"[{self.separators}]", value) if self.separators else [value]
        known = self.words.split()
        return [part for part in parts if part not in known and not self._is_other(part)]

    def _is_other(self, part: str) -> bool:
        return re.fullmatch(self.pattern, part) is not None


_NUMBER = r"-?(0[xX][0-9a-fA-F]+|\d+)"
_BOOL = Choice("0 1 y n Y N yes no on off true false")
_SIZE = r"\d+[KMGkmg]?[Bb]?"

_RDT = word_set("cmt mbmtotal mbmlocal l3cat l3cdp l2cat l2cdp mba smba bmec abmc sdciae")

CHOICES: Mapping[str, Choice] = {
    "amd_iommu": Choice(
        "fullflush off force_isolation force_enable pgtbl_v1 pgtbl_v2 irtcachedis nohugepages"
        " v2_pgsizes_only",
        ",",
    ),
    "amd_pstate": Choice("disable passive active guided"),
    "audit": Choice("0 1 off on"),
    "cpufreq.default_governor": Choice(
        "performance powersave userspace ondemand conservative schedutil"
    ),
    "cpuidle.governor": Choice("menu teo ladder haltpoll"),
    "cpuidle.off": _BOOL,
    "cpuidle_haltpoll.force": _BOOL,
    "default_hugepagesz": Choice("", pattern=_SIZE),
    "highres": _BOOL,
    "hugepages": Choice("", ",", pattern=r"\d+(:\d+)?"),
    "hugepagesz": Choice("", pattern=_SIZE),
    "idle": Choice("poll halt nomwait"),
    "intel_idle.max_cstate": Choice("", pattern=r"\d"),
    "intel_iommu": Choice(
        "on off igfx_off intgpu_off forcedac strict sp_off sm_on sm_off tboot_noforce", ",+"
    ),
    "intel_pstate": Choice(
        "active passive disable force no_hwp hwp_only support_acpi_ppc per_cpu_perf_limits no_cas"
    ),
    "iommu": Choice(
        "off force noforce biomerge panic nopanic merge nomerge soft pt nopt usedac forcesac"
        " allowdac nodac fullflush noagp noaperture strict memaper",
        ",",
        pattern=rf"memaper={_NUMBER}|{_NUMBER}",
    ),
    "iommu.passthrough": _BOOL,
    "iommu.strict": _BOOL,
    "mce": Choice(
        "off no_cmci no_lmce dont_log_ce print_all ignore_ce bootlog nobootlog"
        " bios_cmci_threshold recovery",
        pattern=rf"{_NUMBER}(,{_NUMBER})?",
    ),
    "mitigations": Choice(
        "off auto auto,nosmt",
        pattern=r"(off|auto)([,;](nosmt|no_(user_kernel|user_user|guest_host|guest_guest)))*",
    ),
    "nohz": _BOOL,
    "nmi_watchdog": Choice("0 1 panic nopanic", ",", pattern=r"r[0-9a-fA-F]+"),
    "numa_balancing": Choice("enable disable"),
    "pcie_aspm": Choice("off force"),
    "preempt": Choice("none voluntary full lazy"),
    "processor.max_cstate": Choice("", pattern=r"\d"),
    "psi": _BOOL,
    "rcupdate.rcu_expedited": Choice("", pattern=_NUMBER),
    "rcupdate.rcu_normal": Choice("", pattern=_NUMBER),
    "rcupdate.rcu_normal_after_boot": Choice("", pattern=_NUMBER),
    "rcutree.kthread_prio": Choice("", pattern=r"\d{1,2}"),
    "rcutree.nohz_full_patience_delay": Choice("", pattern=r"\d+"),
    "rdt": Choice(
        " ".join(
            f"{word} !{word}"
            for word in sorted(_RDT)
        ),
        ",",
    ),
    "skew_tick": Choice("0 1"),
    "transparent_hugepage": Choice("always madvise never"),
    "tsc": Choice("reliable noirqtime unstable nowatchdog recalibrate watchdog"),
}  # fmt: skip

# On by their name alone: a value, even `0`, changes nothing.
FLAGS = word_set(
    "rcu_nocb_poll nosoftlockup nowatchdog threadirqs nopti nospectre_v1 nospectre_v2 nosmap nosmep"
    " nosmp noapic nolapic nokaslr nohibernate nomodule nohugeiomap norandmaps nox2apic"
    " nospec_store_bypass_disable acpi_irq_nobalance"
)
_NO = frozenset(["0", "off", "n", "no", "false"])

CPU_LISTS = word_set("isolcpus nohz_full rcu_nocbs irqaffinity kthread_cpus workqueue.unbound_cpus")
_MAY_BE_BARE = frozenset(["rcu_nocbs"])
ISOLATION_FLAGS = ("nohz", "domain", "managed_irq")


@dataclass(frozen=True)
class CpuListValue:
    """A value `[flag,]...list`; only isolcpus has flags."""

    flags: tuple[str, ...]
    cores: str


def split_flags(parameter: Parameter) -> CpuListValue:
    """Cut flags from the list, as the kernel does: flags start with a letter."""
    flags, rest = [], parameter.value or ""
    while parameter.name == "isolcpus" and rest[:1].isalpha():
        flag, _, rest = rest.partition(",")
        flags.append(flag)
    return CpuListValue(tuple(flags), rest)


def value_problems(parameter: Parameter, n_cores: int | None) -> Iterator[Problem]:
    """Judge the value of one parameter by itself."""
    if parameter.name in CPU_LISTS:
        yield from _cpu_list_problems(parameter, n_cores)
    elif parameter.name in FLAGS or parameter.name == "nosmt":
        yield from _flag_problems(parameter)
    elif parameter.name in CHOICES:
        yield from _choice_problems(parameter, CHOICES[parameter.name])


def _choice_problems(parameter: Parameter, choice: Choice) -> Iterator[Problem]:
    # A parameter that takes yes or no takes its bare name as yes.
    if parameter.value is None and (choice is _BOOL or parameter.name in ("mce", "nmi_watchdog")):
        return
    if parameter.text == "amd_iommu=on":
        return  # has its own words in advice.py
    refused = choice.refuses(parameter.value or "")
    if not refused:
        return
    wrong = " and ".join(repr(word[:40]) for word in refused[:3])
    yield Problem(
        Kind.MALFORMED,
        parameter.text,
        Gravity.ERROR,
        f"{parameter.name} takes no {wrong}",
        f"give {_in_words(choice)}",
    )


def _in_words(choice: Choice) -> str:
    if choice is _BOOL:
        return "on or off"
    if choice.words:
        return ", ".join(word for word in choice.words.split() if not word.startswith("!"))
    return "a size like 2M or 1G" if choice.pattern == _SIZE else "a number"


def _flag_problems(parameter: Parameter) -> Iterator[Problem]:
    if parameter.value is None or (parameter.name, parameter.value) == ("nosmt", "force"):
        return
    is_no = parameter.value.lower() in _NO
    yield Problem(
        Kind.MISUNDERSTOOD,
        parameter.text,
        Gravity.ERROR if is_no else Gravity.WARNING,
        f"{parameter.name} has no such value: whatever is written, it is on",
        f"remove it to turn it off, or write plain {parameter.name}",
    )


def _cpu_list_problems(parameter: Parameter, n_cores: int | None) -> Iterator[Problem]:
    if parameter.value is None and parameter.name in _MAY_BE_BARE:
        return
    split = split_flags(parameter)
    yield from _isolation_flag_problems(parameter, split.flags)
    if parameter.name == "isolcpus" and split.flags and not split.cores:
        return  # said already, with the flags
    try:
        cores = parse_kernel_cpu_list(split.cores, n_cores or ASSUMED_CORES)
    except ValueError as error:
        # rcu_nocb_setup() of kernel/rcu/tree_nocb.h: "bad CPU range, all CPUs set".
        effect = "then takes all cores" if parameter.name == "rcu_nocbs" else "refuses it all"
        message = f"the kernel makes nothing of this list and {effect}: {error}"
        yield Problem(
            Kind.MALFORMED,
            parameter.text,
            Gravity.ERROR,
            message,
            f"write {parameter.name}=2-7",
        )
        return
    missing = [core for core in cores if n_cores is not None and core >= n_cores]
    if missing:
        yield Problem(
            Kind.MALFORMED,
            parameter.text,
            Gravity.ERROR,
            f"there is no core {missing[0]}: the last one is {(n_cores or 1) - 1}",
            "name cores the machine has",
        )


def _isolation_flag_problems(parameter: Parameter, flags: tuple[str, ...]) -> Iterator[Problem]:
    unknown = [flag for flag in flags if flag not in ISOLATION_FLAGS]
    has_list = bool(split_flags(parameter).cores)
    if not has_list and flags:
        is_list = re.fullmatch(r"all|N(-.*)?", flags[-1]) is not None
        yield Problem(
            Kind.MALFORMED,
            parameter.text,
            Gravity.ERROR,
            f"isolcpus takes {flags[-1][:40]!r} for a flag and then finds no list of cores"
            if is_list
            else "isolcpus has flags and no list of cores",
            "end it with a list like 2-7",
        )
        unknown = [] if is_list else unknown
    for flag in unknown:
        is_skipped = re.fullmatch(r"[A-Za-z_]+", flag) is not None
        yield Problem(
            Kind.MALFORMED,
            parameter.text,
            Gravity.ERROR,
            f"isolcpus has no flag {flag[:40]!r}: "
            + ("skipped by the kernel" if is_skipped else "the kernel refuses the whole parameter"),
            f"flags are {', '.join(ISOLATION_FLAGS)}",
        )
