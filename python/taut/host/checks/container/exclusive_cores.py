"""C01: whether the container's cores are its own, and whole."""

from collections.abc import Sequence

from taut.core.cpus import CpuSet, format_cpu_list
from taut.host.check import Finding, Remedy, Severity, failed, passed, unknown
from taut.host.checks.container._shape import ContainerCheck, cgroup_file, cores_in
from taut.host.host import Host
from taut.host.shapes import on_the_host
from taut.host.situation import Situation

_CPU = "/sys/devices/system/cpu"
_WANTED = "cores of this container alone, with both hardware threads of each"


class ExclusiveCores(ContainerCheck):
    """From inside, sharing shows for certain only where all cores are shared."""

    id = "C01"
    title = "exclusive cores"
    fault = "The container's cores are shared"
    severity = Severity.CRITICAL
    why = (
        "in a shared pool any other container takes the core for whole time slices, milliseconds; "
        "one on the other hardware thread of the core takes its caches and ports"
    )
    source = "Kubernetes CPU manager (static policy, full-pcpus-only); NTO #864"

    def judge(self, host: Host, situation: Situation) -> Finding:
        """Compare the cpuset with the machine's cores."""
        ours = _cpuset(host)
        online = cores_in(host.read(f"{_CPU}/online"))
        if not ours or not online:
            needs = "a readable cpuset.cpus.effective (or /proc/self/status) and /sys"
            return unknown("the container's cores are not told", needs, _WANTED)
        listed = format_cpu_list(ours)
        if len(online) > 1 and set(ours) >= set(online):
            return failed(f"cores {listed}: every core of the machine", _WANTED, situation.cores)
        halves = _split(host, ours)
        if halves:
            text = f"cores {listed}: core {format_cpu_list(halves)} shares with another container"
            return failed(text, _WANTED, halves)
        if set(ours) <= set(cores_in(host.read(f"{_CPU}/isolated"))):
            return passed(f"cores {listed}: isolated by the machine", _WANTED, ours)
        needs = "on the host: /var/lib/kubelet/cpu_manager_state, or the other containers' cpusets"
        return unknown(f"cores {listed}, some of {format_cpu_list(online)}", needs, _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Cores are given from outside."""
        what = (
            "Kubernetes: cpuManagerPolicy static with full-pcpus-only, and a pod of class"
            " Guaranteed with whole CPUs; Docker, Podman: --cpuset-cpus LIST"
        )
        return (on_the_host(self.id, what),)


def _cpuset(host: Host) -> CpuSet:
    path = cgroup_file(host, "cpuset.cpus.effective")
    # Of cgroup v1 the mask of this process tells the same.
    allowed = host.fields("/proc/self/status").get("Cpus_allowed_list")
    return cores_in(host.read(path) if path else allowed)


def _split(host: Host, ours: CpuSet) -> CpuSet:
    """Cores of ours whose other hardware thread is not ours."""
    siblings = {
        core: cores_in(host.read(f"{_CPU}/cpu{core}/topology/thread_siblings_list"))
        for core in ours
    }
    return tuple(core for core, them in siblings.items() if not set(them) <= set(ours))


CHECK = ExclusiveCores()
