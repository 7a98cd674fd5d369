"""Names a kernel does not take: misspelt, unknown, too new, gone, or left out of its build."""

from collections.abc import Iterator

from taut.host.kernel_parameters.advice import is_explained
from taut.host.kernel_parameters.command_line import Parameter
from taut.host.kernel_parameters.facts import KernelFacts
from taut.host.kernel_parameters.names import (
    SINCE,
    Version,
    begins_with_a_known_name,
    dictionary,
    is_for_others,
    is_known,
    is_sysctl,
    suggestion,
)
from taut.host.kernel_parameters.problem import Gravity, Kind, Problem
from taut.host.kernel_parameters.values import CHOICES, CPU_LISTS, FLAGS

# Options of the kernel's build without which a parameter does nothing.
_NEEDS = {
    "nohz_full": "NO_HZ_FULL",
    "rcu_nocbs": "RCU_NOCB_CPU",
    "rcu_nocb_poll": "RCU_NOCB_CPU",
    "rcutree.nohz_full_patience_delay": "NO_HZ_FULL",
    "isolcpus": "CPU_ISOLATION",
    "preempt": "PREEMPT_DYNAMIC",
    "transparent_hugepage": "TRANSPARENT_HUGEPAGE",
    "hugepages": "HUGETLBFS",
    "hugepagesz": "HUGETLBFS",
    "default_hugepagesz": "HUGETLBFS",
    "numa_balancing": "NUMA_BALANCING",
    "audit": "AUDIT",
    "psi": "PSI",
    "rdt": "X86_CPU_RESCTRL",
    "intel_iommu": "INTEL_IOMMU",
    "amd_iommu": "AMD_IOMMU",
    "intel_pstate": "X86_INTEL_PSTATE",
    "amd_pstate": "X86_AMD_PSTATE",
    "intel_idle.max_cstate": "INTEL_IDLE",
    "pcie_aspm": "PCIEASPM",
    "nosoftlockup": "SOFTLOCKUP_DETECTOR",
    "threadirqs": "IRQ_FORCED_THREADING",
    "mce": "X86_MCE",
}
_PREFERRED = frozenset(CHOICES) | CPU_LISTS | FLAGS


def support_problems(
    parameter: Parameter, facts: KernelFacts, is_running: bool
) -> Iterator[Problem]:
    """Judge a name. `is_running`: it is on the command line this kernel was started with."""
    name = parameter.name
    if is_explained(name):
        return
    if is_known(name):
        yield from _version_problems(parameter, facts, is_running)
        yield from _build_problems(parameter, facts, is_running)
    elif not is_for_others(name) and not _kernel_takes(name, facts, is_running):
        yield _unknown(parameter, facts)


def _kernel_takes(name: str, facts: KernelFacts, is_running: bool) -> bool:
    """Whether the running kernel itself shows that it knows a name the dictionary lacks."""
    module, dot, option = name.partition(".")
    if not dot:
        is_silent = facts.ignored is not None and name not in facts.ignored
        return is_running and is_silent and not begins_with_a_known_name(name)
    options = (facts.modules or {}).get(module)
    # A module without a folder of options may have some that /sys does not show.
    return options is not None and (option in options or not options)


def _unknown(parameter: Parameter, facts: KernelFacts) -> Problem:
    name = parameter.name
    if is_sysctl(name):
        return _problem(
            parameter,
            Kind.MISSPELT,
            Gravity.ERROR,
            "a sysctl is not set by its bare name: nobody reads this, and nothing says so",
            f"sysctl.{parameter.text} (since 5.8), or a file in /etc/sysctl.d",
        )
    meant = suggestion(name, _PREFERRED)
    if meant is not None:
        return _problem(
            parameter,
            Kind.MISSPELT,
            Gravity.ERROR,
            f"the kernel has no {name}: it is {_fate(name)}",
            f"did you mean {_with_value(meant, parameter.value)}",
        )
    module, dot, option = name.partition(".")
    if dot and module not in dictionary().modules:
        return _problem(
            parameter,
            Kind.UNKNOWN,
            Gravity.NOTE,
            f"no module {module!r} in the kernels taut knows ({_known_kernels()}): not judged",
        )
    if facts.ignored is not None and name in facts.ignored:
        return _problem(
            parameter,
            Kind.UNKNOWN,
            Gravity.ERROR,
            "the kernel says it does not know it",
            "remove it",
        )
    return _problem(
        parameter,
        Kind.UNKNOWN,
        Gravity.WARNING,
        f"module {module} of {_known_kernels()} has no option {option}: it is ignored"
        if dot
        else f"no kernel taut knows ({_known_kernels()}) takes it: it goes to init",
        "remove it, or look for it in the kernel's kernel-parameters.txt",
    )


def _fate(name: str) -> str:
    if "." in name:
        return "ignored, and nothing says so of names with a dot"
    if begins_with_a_known_name(name):
        return "ignored, or taken for a shorter name without a word"
    return "ignored"


def _with_value(name: str, value: str | None) -> str:
    if name in FLAGS and value is not None:
        return f"{name}? It takes no value: written at all, it is on"
    return f"{name}?" if value is None else f"{name}={value}?"


def _version_problems(
    parameter: Parameter, facts: KernelFacts, is_running: bool
) -> Iterator[Problem]:
    name, kernel = parameter.name, facts.kernel
    if kernel is None or _kernel_takes(name, facts, is_running):
        return
    known = dictionary()
    since, came, went = SINCE.get(name), known.came.get(name), known.went.get(name)
    if since is not None and kernel < since:
        yield _problem(
            parameter,
            Kind.INERT,
            Gravity.ERROR,
            f"came with {_text(since)}: {_text(kernel)} ignores it",
            f"a kernel from {_text(since)} on",
        )
    elif since is None and came is not None and kernel <= _before(came):
        yield _problem(
            parameter,
            Kind.INERT,
            Gravity.WARNING,
            f"{_text(kernel)} ignores it: {_text(_before(came))} lacks it, {_text(came)} has it",
            "remove it",
        )
    elif went is not None and kernel >= went:
        yield _problem(
            parameter,
            Kind.DEPRECATED,
            Gravity.WARNING,
            f"gone in {_text(went)}: {_text(kernel)} ignores it",
            "remove it",
        )


def _build_problems(
    parameter: Parameter, facts: KernelFacts, is_running: bool
) -> Iterator[Problem]:
    name = parameter.name
    option = _NEEDS.get(name)
    is_missing = (
        option is not None
        and facts.config is not None
        and facts.config.get(option, "n") not in ("y", "m")
    )
    is_ignored = is_running and facts.ignored is not None and name in facts.ignored
    if not is_missing and not is_ignored:
        return
    yield _problem(
        parameter,
        Kind.INERT,
        Gravity.ERROR,
        f"this kernel is built without CONFIG_{option}: it does nothing"
        if is_missing
        else "this kernel says it does not know it: it is built without what would",
        f"a kernel built with CONFIG_{option}" if option else "remove it",
    )


def _problem(
    parameter: Parameter, kind: Kind, severity: Gravity, message: str, remedy: str = ""
) -> Problem:
    return Problem(kind, parameter.text, severity, message, remedy)


def _before(version: Version) -> Version:
    """Give the kernel of the list before this one."""
    kernels = dictionary().kernels
    return kernels[max(0, kernels.index(version) - 1)] if version in kernels else (0, 0)


def _known_kernels() -> str:
    return " and ".join(map(_text, dictionary().kernels))


def _text(version: Version) -> str:
    return f"{version[0]}.{version[1]}"
