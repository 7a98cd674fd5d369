"""Command lines that were published, each with where its text is from, and what lint finds."""

from taut.host.lint import KernelFacts, Problem, lint_command_line

# Documentation/admin-guide/cpu-isolation.rst of Linux, "Full isolation example": eight cores.
KERNEL_EXAMPLE = "nohz_full=7 irqaffinity=0-6 isolcpus=managed_irq,7 nosmt"

# Ducked Tails (Gallenmueller et al., 2021), Table I: its parameters in its spelling, as
# the catalogue of checks quotes them (K06, K08, K09, K12, K14-K16, K18-K21, K23 and its section
# on typos); the cores are chosen here.
DUCKED_TAILS = (
    "isolcpus=1-7 nohz=on nohz_full=1-7 rcu_nocbs=1-7 rcu_nocbs_poll irqaffinity=0 idle=poll"
    " intel_idle.max_cstate=0 intel_pstate=disable mce=ignore_ce audit=0 nosoftlookup skew_tick=1"
    " transparent_hugepage=never nosmt"
)

# "Kernel Parameter" of OPNFV KVM4NFV's low latency user guide, by the authors of Intel's NFV-I
# Host Configuration For Low Latency (2018): host, then guest.
NFV_HOST = (
    "isolcpus=11-15,31-35 nohz_full=11-15,31-35 rcu_nocbs=11-15,31-35 iommu=pt intel_iommu=on"
    " default_hugepagesz=1G hugepagesz=1G mce=off idle=poll intel_pstate=disable"
    " processor.max_cstate=1 pcie_asmp=off tsc=reliable"
)
NFV_GUEST = (
    "isolcpus=1 nohz_full=1 rcu_nocbs=1 mce=off idle=poll default_hugepagesz=1G hugepagesz=1G"
)

# From a mail to a list of the kernel about 6.16 with PREEMPT_RT, and from public build scripts.
RT_MAIL = (
    "BOOT_IMAGE=/vmlinuz-6.16.3-custom-rt root=/dev/mapper/rl-root ro"
    " crashkernel=2G-64G:256M,64G-:512M rd.lvm.lv=rl/root rhgb quiet isolcpus=2,3 nohz_full=2,3"
    " rcu_nocbs=2,3 cpufreq.default_governor=performance irqaffinity=0-1 mitigations=off"
    " processor.max_cstate=1 intel_idle.max_cstate=0 rcu_nocb_poll nosoftlookup mce=ignore_ce"
    " audit=0 idle=poll skew_tick=1 tsc=reliable rcupdate.rcu_normal_after_boot=1"
)
EMBEDDED_BUILD = (
    "console=tty1 isolcpus=1-N mce=ignore_ce idle=poll intel_idle.max_cstate=0"
    " processor.max_cstate=0 intel.max_cstate=0 processor_idle.max_cstate=0 pcie_asmp=off"
    " irqaffinity=0 intel_pstate=disable nohalt nosmap tsc=reliable acpi_irq_nobalance"
)

ANY = KernelFacts()
DEBIAN_12 = KernelFacts(
    kernel=(6, 1),
    config=dict.fromkeys(
        [
            "NO_HZ_FULL",
            "RCU_NOCB_CPU",
            "CPU_ISOLATION",
            "INTEL_IDLE",
            "X86_INTEL_PSTATE",
            "X86_MCE",
            "AUDIT",
            "TRANSPARENT_HUGEPAGE",
        ],
        "y",
    ),
    cores=tuple(range(8)),
)


def found(text: str, facts: KernelFacts = ANY) -> dict[str, list[Problem]]:
    """Lint a text; give its problems by the parameter they are about, in the order of lint."""
    by_parameter: dict[str, list[Problem]] = {}
    for problem in lint_command_line(text, facts):
        by_parameter.setdefault(problem.parameter, []).append(problem)
    return by_parameter


def only(text: str, facts: KernelFacts = ANY) -> Problem:
    """The one problem of a command line."""
    (problem,) = lint_command_line(text, facts)
    return problem


def worst(text: str, facts: KernelFacts = ANY) -> Problem:
    """The first problem of a command line."""
    return lint_command_line(text, facts)[0]
