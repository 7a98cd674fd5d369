"""C02: whether the machine's interrupts stay off the container's cores."""

from collections.abc import Sequence

from taut.core.cpus import format_cpu_list
from taut.host.check import Finding, Remedy, Severity, failed, passed, unknown
from taut.host.checks.container._shape import ContainerCheck, cores_in, own_cores
from taut.host.host import Host
from taut.host.shapes import on_the_host
from taut.host.situation import Situation
from taut.host.threads import some

_WANTED = "no device interrupt on the container's cores"


class HostInterrupts(ContainerCheck):
    """/proc/irq is the machine's, in a container too."""

    id = "C02"
    title = "interrupts off the container's cores"
    fault = "Interrupts reach the container's cores"
    severity = Severity.MAJOR
    why = (
        "a device's interrupt costs microseconds to tens of microseconds each; by default the "
        "machine balances interrupts over the cores of containers too"
    )
    source = "NTO (irq-load-balancing.crio.io); cri-o #6145; NTO #396"

    def judge(self, host: Host, situation: Situation) -> Finding:
        """Where interrupts are delivered."""
        numbers = [name for name in host.names("/proc/irq") if name.isdecimal()]
        cores = own_cores(host, situation)
        if not numbers or not cores:
            needs = "/proc/irq of the machine; run taut host audit on the host"
            return unknown("interrupts or cores are not told here", needs, _WANTED)
        delivered = {
            number: cores_in(host.read(f"/proc/irq/{number}/effective_affinity_list"))
            for number in numbers
            if _has_action(host, number)
        }
        if delivered and not any(delivered.values()):
            needs = "effective_affinity_list; run taut host audit on the host"
            return unknown("the kernel does not say where interrupts go", needs, _WANTED)
        hit = {number: set(at) & set(cores) for number, at in delivered.items()}
        named = [f"IRQ {number} on core {format_cpu_list(at)}" for number, at in hit.items() if at]
        if named:
            return failed(some(named), _WANTED, tuple(sorted(set().union(*hit.values()))))
        return passed(f"{len(delivered)} interrupts, none on {format_cpu_list(cores)}", _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Interrupts are moved from outside."""
        what = (
            "annotate the pod irq-load-balancing.crio.io: disable (CRI-O), or take the remedies of"
            " R01 and R02 there"
        )
        return (on_the_host(self.id, what),)


def _has_action(host: Host, number: str) -> bool:
    actions = host.read(f"/sys/kernel/irq/{number}/actions")
    if actions is not None:
        return bool(actions)
    # Where /sys does not tell: each action is a folder.
    folder = f"/proc/irq/{number}"
    return any(host.read(f"{folder}/{name}") is None for name in host.names(folder))


CHECK = HostInterrupts()
