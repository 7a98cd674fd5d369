"""R11: whether timers of idle cores move to busy ones."""

from collections.abc import Sequence

from taut.core.cpus import format_cpu_list
from taut.host.boot.item import Sysctl
from taut.host.check import (
    Check,
    Finding,
    Profile,
    Remedy,
    Severity,
    failed,
    not_applicable,
    passed,
    unknown,
    unreadable,
)
from taut.host.checks.runtime._cores import cores_of_list
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.shapes import POLLING
from taut.host.situation import Situation

_PATH = "/proc/sys/kernel/timer_migration"
_NOHZ_FULL = "/sys/devices/system/cpu/nohz_full"
_MEASURE = (
    "tuned writes 0, the OpenShift node tuning operator keeps 1: it takes timers away from a "
    "core that starts to poll"
)


class TimerMigration(Check):
    """To the kernel a polling core is busy; nohz_full cores never get others' timers."""

    id = "R11"
    title = "timer migration"
    fault = "Timers migrate to poll cores"
    severity = Severity.MINOR
    why = (
        "a timer armed on an idle core may expire on a busy one, and a polling core always is: an "
        "interrupt of microseconds each"
    )
    source = "tuned (0); OpenShift node tuning operator (1)"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """0, or 1 where every polling core is nohz_full."""
        if situation.role not in POLLING:
            return not_applicable(f"not asked of a {situation.role}")
        text = host.read(_PATH)
        wanted = "0, or nohz_full polling cores"
        if text is None:
            return unreadable(host, _PATH, wanted)
        if text not in ("0", "1"):
            needs = "a kernel whose format taut knows"
            return unknown(f"{_PATH}: {text[:60]!r}", needs, wanted)
        observed = f"{_PATH} = {text}"
        nohz_full = cores_of_list(host.read(_NOHZ_FULL)) or ()
        if text == "0":
            return passed(observed, wanted)
        if situation.cores and set(situation.cores) <= set(nohz_full):
            return passed(f"{observed}, nohz_full {format_cpu_list(nohz_full)}", wanted)
        return failed(observed, wanted, situation.cores)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Write 0; advice contradicts."""
        return (
            Remedy(
                "R11-now",
                f"write 0 to {_PATH}",
                changes=(Change(FileSetting(_PATH, "number"), "0"),),
                profile=Profile.EXTREME,
                measure=_MEASURE,
                risk="timers already on a polling core stay there",
                # Once it is 0, isolating a core no longer takes its timers away.
                after=("K04-now",),
            ),
            Remedy(
                "R11-boot",
                "at boot: no timer migration",
                boot=(Sysctl("kernel.timer_migration", "0"),),
                profile=Profile.EXTREME,
                measure=_MEASURE,
            ),
        )


CHECK = TimerMigration()
