"""K06: cores without a tick."""

from collections.abc import Sequence

from taut.core.cpus import CpuSet, cores_in
from taut.host.boot.item import KernelParameter
from taut.host.check import (
    Finding,
    Profile,
    Remedy,
    Severity,
    State,
    failed,
    not_applicable,
    passed,
)
from taut.host.checks.kernel._shape import (
    CPU,
    RoleCheck,
    at_boot,
    by_hand,
    can_split,
    judge_inside,
    named,
    shown,
    unread,
)
from taut.host.host import Host
from taut.host.shapes import POLLING
from taut.host.situation import Role, Situation, Watched

PATH = f"{CPU}/nohz_full"
_INTERRUPTS = "/proc/interrupts"
_WANTED = "every poll core in nohz_full, one local timer interrupt a second at most"


class NohzFull(RoleCheck):
    """What counts is the kernel's set, and that the tick is gone while the core polls."""

    id = "K06"
    title = "no tick on poll cores"
    fault = "Poll cores have a timer tick"
    severity = Severity.MAJOR
    why = (
        "the tick interrupts 100 to 1000 times a second, 22 µs each in a nested guest; without it "
        "tails shrank to a third on hardware and to less than a quarter in a guest"
    )
    source = "Ducked Tails (2021); cpu-isolation.rst; kernel-parameters.txt (nohz_full); measured"
    roles = POLLING | {Role.HOUSEKEEPING}
    watches = (_INTERRUPTS,)

    def judge(self, host: Host, situation: Situation) -> Finding:
        """Look at the set, then at the ticks."""
        if not situation.polls and situation.role is not Role.HOUSEKEEPING:
            return not_applicable(
                "the tick of a core that sleeps stops by itself; nohz_full would make each "
                "interrupt and system call there dearer"
            )
        text = host.read(PATH)
        inside = cores_in(text)
        if text is None and cores_in(host.read(f"{CPU}/online")) is None:
            return unread(host, PATH, _WANTED)
        if text is not None and inside is None:
            return unread(host, PATH, _WANTED)
        if situation.role is Role.HOUSEKEEPING:
            return _judge_housekeeping(inside or ())
        if inside is None:
            return failed("this kernel has no nohz_full (K02)", _WANTED, situation.cores)
        observed = f"nohz_full: {shown(inside)}"
        finding = judge_inside(situation, inside, observed, _WANTED)
        if finding.state is not State.PASS:
            return finding
        # One more than the seconds: where the watch begins and ends is chance.
        allowed = situation.watched.seconds + 1
        ticks = _ticks(situation.watched)
        ticking = tuple(core for core in situation.cores if ticks.get(core, 0) > allowed)
        if ticking:
            rate = max(ticks[core] for core in ticking) / max(situation.watched.seconds, 1)
            observed = f"{observed}; up to {rate:.0f} ticks a second on {named(ticking)}"
            return failed(f"{observed} (R29 tells why)", _WANTED, ticking)
        return finding

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """At boot: no kernel changes it later."""
        if situation.role is Role.HOUSEKEEPING or not can_split(situation):
            return ()
        if not host.is_there(PATH):
            what = "boot a kernel with NO_HZ_FULL (K02), then nohz_full="
            return (by_hand(self.id, "boot another kernel", what),)
        boot = at_boot(
            self.id,
            f"stop the tick on {named(situation.cores)}",
            KernelParameter("nohz_full", cores=situation.cores),
            profile=Profile.MINIMAL,
            risk="works for one runnable thread per core, without POSIX CPU timers",
            cost="system calls and interrupts on these cores enter the kernel more slowly",
        )
        if not set(situation.cores) <= set(cores_in(host.read(PATH)) or ()):
            return (boot,)
        what = "leave one runnable thread on each core; R29 names what else keeps the tick"
        return (boot, by_hand(self.id, "find what keeps the tick", what))


def _judge_housekeeping(inside: CpuSet) -> Finding:
    wanted = "no core in nohz_full where nothing polls"
    observed = f"nohz_full: {shown(inside)}"
    if inside:
        return failed(observed, wanted, inside, "Housekeeping cores have no timer tick")
    return passed(observed, wanted)


def _ticks(watched: Watched) -> dict[int, int]:
    """Local timer interrupts by core, between the two readings."""
    before = _local_timer(watched.before.get(_INTERRUPTS, ""))
    after = _local_timer(watched.after.get(_INTERRUPTS, ""))
    return {core: after[core] - before[core] for core in after if core in before}


def _local_timer(text: str) -> dict[int, int]:
    lines = text.splitlines()
    names = lines[0].split() if lines else []
    for line in lines:
        row, _, counts = line.partition(":")
        if row.strip() == "LOC":
            pairs = zip(names, counts.split(), strict=False)
            return {
                int(name[3:]): int(count)
                for name, count in pairs
                if name[3:].isdigit() and count.isdigit()
            }
    return {}


CHECK = NohzFull()
