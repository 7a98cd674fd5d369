"""R04: which cores the kernel hands received packets to (RPS)."""

from collections.abc import Sequence

from taut.core.cpus import CpuSet, cpu_mask, format_cpu_list
from taut.host.boot.item import Sysctl
from taut.host.check import Check, Finding, Remedy, Severity, not_applicable, unknown
from taut.host.checks.runtime._cores import cores_of_mask, verdict
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.shapes import POLLING, on_the_host
from taut.host.situation import Role, Situation

_DEFAULT = "/proc/sys/net/core/rps_default_mask"
_QUEUES = "/sys/class/net/*/queues/rx-*/rps_cpus"
_FLOWS = "/proc/sys/net/core/rps_sock_flow_entries"
_SHOWN = 3


class PacketSteering(Check):
    """Transmit masks (XPS) are not judged: they matter only to what a core sends itself."""

    id = "R04"
    title = "packet steering"
    fault = "Packet steering uses poll cores"
    severity = Severity.MAJOR
    why = (
        "a core in an RPS mask gets an interprocessor interrupt and the receive softirq of other "
        "cores' packets: tens of microseconds each"
    )
    source = "OpenShift node tuning operator (set-rps-mask)"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Judge every receive queue, of virtual interfaces too, and the mask of those to come."""
        if situation.role not in POLLING | {Role.CONTAINER}:
            return not_applicable(f"not asked of a {situation.role}")
        if not situation.polls:
            return not_applicable("RPS may be what brings packets to a device that sleeps")
        masks = {path: cores_of_mask(text) for path, text in _texts(host).items()}
        if not masks:
            return not_applicable("no receive queue with an RPS mask")
        wanted = "no polling core in any RPS mask"
        malformed = [path for path, cores in masks.items() if cores is None]
        if malformed:
            return unknown(f"{malformed[0]}: no mask", "a kernel whose format taut knows", wanted)
        judged = set(situation.cores or situation.online)
        hit = {path: cores for path, cores in masks.items() if cores and judged & set(cores)}
        bad = {core for cores in hit.values() for core in cores}
        return verdict(bad, situation, _said(hit, len(masks), host), wanted)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Take the polling cores out; the others stay."""
        if situation.role is Role.CONTAINER:
            return (on_the_host(self.id, "take the container's polling cores out of rps_cpus"),)
        new = {}
        for path, text in _texts(host).items():
            cores = cores_of_mask(text) or ()
            if set(cores) & set(situation.cores):
                new[path] = cpu_mask(core for core in cores if core not in situation.cores)
        if not new:
            return ()
        cost = "the other cores process these packets"
        now = Remedy(
            "R04-now",
            f"take the polling cores out of {len(new)} RPS masks",
            changes=tuple(Change(FileSetting(path, "mask"), mask) for path, mask in new.items()),
            cost=cost,
        )
        if _DEFAULT not in new:
            return (now,)
        item = Sysctl("net.core.rps_default_mask", new[_DEFAULT])
        return (
            now,
            Remedy("R04-boot", "at boot: RPS without the polling cores", boot=(item,), cost=cost),
        )


def _texts(host: Host) -> dict[str, str]:
    """Every mask; queues may go while we read."""
    read = {path: host.read(path) for path in (_DEFAULT, *host.paths(_QUEUES))}
    return {path: text for path, text in read.items() if text is not None}


def _said(hit: dict[str, CpuSet], n_masks: int, host: Host) -> str:
    said = [f"{path} = cores {format_cpu_list(cores)}" for path, cores in hit.items()]
    more = f" and {len(said) - _SHOWN} more" if len(said) > _SHOWN else ""
    text = ", ".join(said[:_SHOWN]) + more if said else f"{n_masks} RPS masks, none with them"
    flows = host.number(_FLOWS) or 0
    return f"{text}; RFS follows sockets to their cores" if flows else text


CHECK = PacketSteering()
