"""Checks of containers: what a program inside one can rely on."""

import re
from collections.abc import Iterable

from taut.core.cpus import format_cpu_list
from taut.host.check import Finding, Remedy
from taut.host.checks._interrupts import action_of
from taut.host.checks._tracing import tracefs
from taut.host.own_group import CGROUPS, STATUS, own_cores, own_group_file
from taut.host.situation import device_option
from taut.host.table import CONTAINERS, CRITICAL, MAJOR, NOTE, Check, by_hand, on_the_host
from taut.host.threads import some
from taut.host.view import CPU, View

_MOUNTS = "/proc/self/mounts"
# A mount of a longer path hides the shorter one: runtimes bind /proc/sys read-only over /proc.
_PLACES = ("/sys", "/proc", "/proc/sys", "/proc/irq")
_PARTITION = "cpuset.cpus.partition"
_PARANOID = "/proc/sys/kernel/perf_event_paranoid"
# Above it users without rights count nothing but their own user space (perf_event_open(2)).
_MOST_PARANOID = 1
# Bits of capabilities(7): CAP_IPC_LOCK, whose owner may lock without limit; CAP_SYS_ADMIN and
# CAP_PERFMON, which lift the limit on perf events.
_MAY_LOCK = 1 << 14
_MAY_COUNT = 1 << 21 | 1 << 38


def exclusive_cores(see: View) -> Finding:
    """From inside a container, only sharing all cores can be told for certain."""
    ours = own_cores(see.host)
    online = see.list_of_cores(f"{CPU}/online") or ()
    if not ours or not online:
        needs = "a readable cpuset.cpus.effective (or /proc/self/status) and /sys"
        see.cannot_tell("the container's cores are not told", needs)
    listed = format_cpu_list(ours)
    if len(online) > 1 and set(ours) >= set(online):
        return see.failed(f"cores {listed}: every core of the machine", see.cores)
    if halves := tuple(core for core in ours if not _siblings(see, core) <= set(ours)):
        shared = f"core {format_cpu_list(halves)} shares with another container"
        return see.failed(f"cores {listed}: {shared}", halves)
    if set(ours) <= set(see.list_of_cores(f"{CPU}/isolated") or ()):
        return see.passed(f"cores {listed}: isolated by the machine", ours)
    needs = "on the host: /var/lib/kubelet/cpu_manager_state, or the other containers' cpusets"
    return see.unknown(f"cores {listed}, some of {format_cpu_list(online)}", needs)


def _siblings(see: View, core: int) -> set[int]:
    return set(see.list_of_cores(f"{CPU}/cpu{core}/topology/thread_siblings_list") or ())


def interrupts(see: View) -> Finding:
    """/proc/irq is the machine's, in a container too."""
    numbers = [int(name) for name in see.names("/proc/irq") if name.isdecimal()]
    cores = see.cores or own_cores(see.host)
    if not numbers or not cores:
        needs = "/proc/irq of the machine; run taut host audit on the host"
        see.cannot_tell("interrupts or cores are not told here", needs)
    delivered = {
        number: see.list_of_cores(f"/proc/irq/{number}/effective_affinity_list") or ()
        for number in numbers
        if action_of(see, number)
    }
    if delivered and not any(delivered.values()):
        needs = "effective_affinity_list; run taut host audit on the host"
        see.cannot_tell("the kernel does not say where interrupts go", needs)
    hit = {number: set(at) & set(cores) for number, at in delivered.items()}
    if said := [f"IRQ {number} on core {format_cpu_list(at)}" for number, at in hit.items() if at]:
        return see.failed(some(said), tuple(sorted(set().union(*hit.values()))))
    return see.passed(f"{len(delivered)} interrupts, none on {format_cpu_list(cores)}")


def writable_settings(see: View) -> Finding:
    """Settings are rightly read-only here; what is wrong must be mended on the host."""
    flags = {
        fields[1]: fields[3].split(",")
        for fields in (line.split() for line in (see.read(_MOUNTS) or "").splitlines())
        if len(fields) >= 4 and fields[1] in _PLACES
    }
    if "/sys" not in flags or "/proc" not in flags:
        see.cannot_tell(f"{_MOUNTS} names no /sys or /proc", f"a readable {_MOUNTS}")
    if closed := [place for place in _PLACES if "ro" in flags.get(place, ())]:
        return see.failed(f"read-only: {', '.join(closed)}")
    return see.passed("/sys and /proc can be written")


def plan_outside(see: View) -> Iterable[Remedy]:
    """Advise to apply the same plan on the host."""
    cores = format_cpu_list(see.cores or own_cores(see.host))
    named = f" --cores {cores}" if cores else ""
    named += device_option(see.situation.waiting)
    return (on_the_host(f"taut host plan --role poll-core{named}, then apply"),)


def memory_limits(see: View) -> Finding:
    """Of the programs that poll, where none does of this one; the smallest limit decides."""
    processes = [str(process) for process in see.situation.processes] or ["self"]
    limits = {process: _lockable(see, process) for process in processes}
    if None in limits.values():
        needs = "a readable /proc/PID/limits; run as the programs' user or root"
        see.cannot_tell("limits are not told", needs)
    pages = _huge_pages(see)
    wrong = [
        f"process {process} may lock {limit} bytes"
        for process, limit in limits.items()
        if limit != "unlimited"
    ]
    if pages and all(limit == "0" for limit in pages.values()):
        wrong.append("no hugepage is allowed")
    shown = ", ".join(f"{size} {limit}" for size, limit in pages.items()) or "not limited"
    if wrong:
        return see.failed(f"{'; '.join(wrong)} (hugepages: {shown})")
    return see.passed(f"locked memory unlimited, hugepages: {shown}")


def _lockable(see: View, process: str) -> str | None:
    """Give the soft limit in bytes, or unlimited: also for who may lock without limit."""
    rights = see.host.fields(f"/proc/{process}/status").get("CapEff", "")
    if re.fullmatch("[0-9a-f]{1,16}", rights) and int(rights, 16) & _MAY_LOCK:
        return "unlimited"
    for line in (see.read(f"/proc/{process}/limits") or "").splitlines():
        words = line.removeprefix("Max locked memory").split()
        if line.startswith("Max locked memory") and words:
            return words[0] if words[0] == "unlimited" or words[0].isdecimal() else None
    return None


def _huge_pages(see: View) -> dict[str, str]:
    """Give the limit of each size, as far as there is one."""
    found = {}
    for size in ("2MB", "1GB"):
        path = own_group_file(see.host, f"hugetlb.{size}.max")
        path = path or f"{CGROUPS}/hugetlb/hugetlb.{size}.limit_in_bytes"
        if text := see.read(path):
            found[size] = text[:20]
    return found


def tracing(see: View) -> Finding:
    """Nothing here makes a gap; without it gaps stay unexplained. Tries what a trace would."""
    status = see.host.fields(STATUS)
    seccomp, capabilities = status.get("Seccomp"), status.get("CapEff")
    paranoid = see.number(_PARANOID)
    if seccomp is None or capabilities is None or paranoid is None:
        see.cannot_tell("rights are not told", f"readable {STATUS} and {_PARANOID}")
    try:
        may_count = bool(int(capabilities, 16) & _MAY_COUNT) or paranoid <= _MOST_PARANOID
    except ValueError:
        see.cannot_tell(f"CapEff {capabilities[:30]!r}", "a known kernel")
    has_events = tracefs(see.host) is not None
    observed = (
        f"tracefs {'readable' if has_events else 'not here'}, perf_event_paranoid {paranoid}, "
        f"seccomp {'filters' if seccomp == '2' else 'off'}"
    )
    return see.good_if(has_events and may_count, observed)


def partition(see: View) -> Finding:
    """The kernel takes validity back by itself, and says why in the same file."""
    path = own_group_file(see.host, _PARTITION)
    if path is None:
        see.skip(f"no {_PARTITION} here: cgroup v1, or the root of all cgroups")
    text = see.text(path)
    watched = (see.watched.before, see.watched.after)
    seen = [text, *(texts[path] for texts in watched if path in texts)]
    if invalid := [each for each in seen if " invalid" in each]:
        return see.failed(f"{path} = {invalid[0][:120].strip()}")
    if text == "member":
        see.skip("no partition here: isolation is the machine's (K04)")
    return see.passed(f"{path} = {see.choice(path, 'isolated', 'root')}")


CHECKS = (
    Check(
        "C01",
        "exclusive cores",
        "The container's cores are shared",
        CRITICAL,
        exclusive_cores,
        "cores of this container alone, with both hardware threads of each",
        roles=CONTAINERS,
        remedies=on_the_host(
            "Kubernetes: cpuManagerPolicy static with full-pcpus-only, and a pod of class"
            " Guaranteed with whole CPUs; Docker, Podman: --cpuset-cpus LIST"
        ),
        why="in a shared pool any other container takes the core for whole time slices, "
        "milliseconds; one on the other hardware thread of the core takes its caches and ports",
        source="Kubernetes CPU manager (static policy, full-pcpus-only); NTO #864",
    ),
    Check(
        "C02",
        "interrupts off the container's cores",
        "Interrupts reach the container's cores",
        MAJOR,
        interrupts,
        "no device interrupt on the container's cores",
        roles=CONTAINERS,
        remedies=on_the_host(
            "annotate the pod irq-load-balancing.crio.io: disable (CRI-O), or take the "
            "remedies of R01 and R02 there"
        ),
        why="a device's interrupt costs microseconds to tens of microseconds each; by default the "
        "machine balances interrupts over the cores of containers too",
        source="NTO (irq-load-balancing.crio.io); cri-o #6145; NTO #396",
    ),
    Check(
        "C03",
        "settings that can be written",
        "Settings cannot be written",
        NOTE,
        writable_settings,
        "settings changed on the host",
        roles=CONTAINERS,
        remedies=plan_outside,
        why="where /sys and /proc/sys are read-only, taut can judge settings but change none",
        source="mount flags; the container runtime's defaults",
    ),
    Check(
        "C04",
        "limits of locked memory and hugepages",
        "Locked memory or hugepages are limited",
        MAJOR,
        memory_limits,
        "memory locked without limit, and a limit of hugepages above 0",
        roles=CONTAINERS,
        remedies=on_the_host(
            "Docker, Podman: --ulimit memlock=-1; Kubernetes: hugepages-1Gi or hugepages-2Mi "
            "in resources.limits, and the runtime's memlock default"
        ),
        why="memory that cannot be locked faults, and may be swapped: microseconds to "
        "milliseconds; a DPDK program without hugepages does not start",
        source="getrlimit(2); cgroup-v2.rst (hugetlb)",
    ),
    Check(
        "C05",
        "access to kernel events",
        "Kernel events cannot be recorded",
        NOTE,
        tracing,
        "tracefs and perf events, here or in a program on the host",
        roles=CONTAINERS,
        remedies=by_hand(
            "trace on the host",
            "on the host: run taut there while the container runs (or a sidecar with"
            " CAP_PERFMON and tracefs mounted)",
            risk="a container that may trace sees the whole machine",
        ),
        why="gaps are explained by the kernel's own events, which most runtimes hide",
        source="perf_event_open(2); the container runtime's seccomp profile",
    ),
    Check(
        "C06",
        "cpuset partition stays valid",
        "The cpuset partition is invalid",
        MAJOR,
        partition,
        "isolated (or root), valid whenever it is read",
        roles=CONTAINERS,
        watches=(f"{CGROUPS}/{_PARTITION}", f"{CGROUPS}/*/{_PARTITION}"),
        remedies=on_the_host(
            "free the partition's cores of every other cpuset, bring them online, then write"
            f" isolated to the container's {_PARTITION} again"
        ),
        why="a sibling's cpuset that overlaps, or a core that goes offline, ends the isolation "
        "silently: the scheduler balances over the cores again",
        source="cgroup-v2.rst (cpuset.cpus.partition)",
    ),
)
