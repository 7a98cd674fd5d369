"""K02: what the kernel was built with."""

from collections.abc import Sequence

from taut.host.check import Finding, Remedy, Severity, failed, passed, unknown
from taut.host.checks.kernel._boot_log import boot_lines
from taut.host.checks.kernel._shape import CPU, RoleCheck, by_hand
from taut.host.host import Host
from taut.host.kernel_parameters.facts import read_kernel_facts
from taut.host.situation import Situation

_NEEDED = ("NO_HZ_FULL", "RCU_NOCB_CPU", "CPUSETS", "CPU_ISOLATION")
_USEFUL = ("EVENT_TRACING", "X86_CPU_RESCTRL")


class BuildOptions(RoleCheck):
    """Parameters of what is not built in only leave a line in the boot log."""

    id = "K02"
    title = "kernel is built for isolation"
    fault = "The kernel is not built for isolation"
    severity = Severity.MAJOR
    why = (
        "without NO_HZ_FULL the parameter nohz_full= does nothing but log a line, and every poll "
        "core takes 100 to 1000 ticks a second; Debian 12 has all of it"
    )
    source = "kernel/sched/isolation.c; Debian linux-config-6.1; measured (22 µs a tick in a guest)"

    def judge(self, host: Host, situation: Situation) -> Finding:  # noqa: ARG002
        """Look at the configuration, or at what only such a kernel has."""
        wanted = " ".join(f"{name}=y" for name in _NEEDED)
        options = read_kernel_facts(host).config
        if options is None:
            return _without_configuration(host, wanted)
        missing = [name for name in _NEEDED if options.get(name, "n") != "y"]
        lacks = [name for name in _USEFUL if options.get(name, "n") != "y"]
        note = f" (also without {' '.join(lacks)})" if lacks else ""
        if missing:
            return failed(f"built without {' '.join(missing)}{note}", wanted)
        return passed(f"{wanted}{note}", wanted)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Another kernel."""
        what = "install a kernel with NO_HZ_FULL and RCU_NOCB_CPU (Debian: linux-image-amd64)"
        return (by_hand(self.id, "boot another kernel", what),)


def _without_configuration(host: Host, wanted: str) -> Finding:
    said = boot_lines(host, "Housekeeping: nohz unsupported")
    if said:
        return failed(f"boot log: {said[0]}", wanted)
    if host.is_there(f"{CPU}/online") and not host.is_there(f"{CPU}/nohz_full"):
        return failed(f"no {CPU}/nohz_full: built without NO_HZ_FULL", wanted)
    return unknown(
        "no build configuration", "/boot/config-RELEASE, or a kernel with /proc/config.gz", wanted
    )


CHECK = BuildOptions()
