"""K12: where interrupts go that do not exist yet."""

from collections.abc import Sequence

from taut.core.cpus import cpu_mask
from taut.host.boot.item import KernelParameter
from taut.host.check import Finding, Profile, Remedy, Severity
from taut.host.checks.kernel._shape import (
    RoleCheck,
    at_boot,
    can_split,
    core_mask,
    judge_outside,
    named,
    unread,
)
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.situation import Situation

PATH = "/proc/irq/default_smp_affinity"
_WANTED = "a mask without poll cores"


class IrqAffinity(RoleCheck):
    """The default mask of every interrupt that is set up from now on."""

    id = "K12"
    title = "new interrupts go elsewhere"
    fault = "New interrupts may go to poll cores"
    severity = Severity.MAJOR
    why = (
        "a driver that loads or an interface that comes up takes its interrupts' cores from this "
        "mask; each interrupt on a poll core costs microseconds, tens in a guest"
    )
    source = "kernel-parameters.txt (irqaffinity); Ducked Tails (2021); tuned #370"

    def judge(self, host: Host, situation: Situation) -> Finding:
        """Compare as bitmaps."""
        text = host.read(PATH)
        cores = core_mask(text)
        if cores is None:
            return unread(host, PATH, _WANTED)
        return judge_outside(situation, cores, f"{PATH} = {text}", _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Leave the housekeeping cores in it."""
        if not can_split(situation):
            return ()
        cores = situation.housekeeping
        summary = f"give new interrupts to {named(cores)}"
        change = Change(FileSetting(PATH, "mask"), cpu_mask(cores))
        cost = "the other cores take the interrupts of new devices"
        parameter = KernelParameter("irqaffinity", cores=cores)
        return (
            Remedy("K12-now", summary, changes=(change,), profile=Profile.MINIMAL, cost=cost),
            at_boot(self.id, summary, parameter, profile=Profile.MINIMAL, cost=cost),
        )


CHECK = IrqAffinity()
