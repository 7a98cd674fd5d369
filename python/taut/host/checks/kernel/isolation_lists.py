"""K07: nohz_full= and isolcpus= agree, and some core is left."""

from collections.abc import Sequence

from taut.core.cpus import CpuSet, cores_in
from taut.host.check import Finding, Remedy, Severity, failed, not_applicable, passed, unknown
from taut.host.checks.kernel import _command_line
from taut.host.checks.kernel._boot_log import boot_lines, boot_log
from taut.host.checks.kernel._shape import CPU, RoleCheck, by_hand, named
from taut.host.host import Host
from taut.host.situation import Situation

_WANTED = "lists the kernel takes, equal where both mean nohz, and a core outside them"
# How the kernel begins to say that it dropped a list.
_COMPLAINT = "Housekeeping:"


class IsolationLists(RoleCheck):
    """Of lists that contradict each other the kernel drops one, with a line in its log."""

    id = "K07"
    title = "nohz_full and isolcpus agree"
    fault = "nohz_full and isolcpus do not agree"
    severity = Severity.MAJOR
    why = (
        "the kernel drops a list that does not match the other one or leaves no core for itself: "
        "the cores then tick and are shared although the command line says otherwise"
    )
    source = "kernel/sched/isolation.c"

    def judge(self, host: Host, situation: Situation) -> Finding:
        """Compare what was asked for, what the kernel said and what is in force."""
        if host.read(_command_line.PATH) is None:
            return unknown("no command line", f"a readable {_command_line.PATH}", _WANTED)
        asked = [*_command_line.find(host, "nohz_full"), *_command_line.find(host, "isolcpus")]
        if not asked:
            return not_applicable("neither nohz_full= nor isolcpus= on the command line")
        words = " ".join(parameter.text for parameter in asked)
        wrong = _wrong(host, situation)
        if wrong:
            return failed(f"{words}: {'; '.join(wrong)}", _WANTED)
        note = "" if boot_log(host) else " (boot log not readable: judged from the lists)"
        return passed(f"{words}{note}", _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Write both lists anew."""
        what = "give nohz_full= and isolcpus= the same cores and leave at least core 0 out of both"
        return (by_hand(self.id, "correct the command line", what),)


def _wrong(host: Host, situation: Situation) -> list[str]:
    wrong = boot_lines(host, _COMPLAINT)
    nohz = [
        _command_line.given_cores(host, parameter.value or "")
        for parameter in _command_line.find(host, "nohz_full")
    ]
    isolations = _command_line.isolations(host)
    domains = [isolation.cores for isolation in isolations]
    if None in nohz or None in domains:
        return [*wrong, "not a list of cores"]
    ticks = [isolation.cores for isolation in isolations if "nohz" in isolation.flags]
    if len({*nohz, *ticks}) > 1:
        wrong.append("the lists that mean nohz differ")
    taken = {core for cores in (*nohz, *domains) for core in cores or ()}
    if situation.online and taken.issuperset(situation.online):
        wrong.append("no core is left for housekeeping")
    in_force = cores_in(host.read(f"{CPU}/nohz_full"))
    dropped = [core for cores in nohz for core in cores or () if core not in (in_force or ())]
    return [*wrong, *_dropped(tuple(dropped), situation)]


def _dropped(dropped: CpuSet, situation: Situation) -> list[str]:
    present = tuple(core for core in dropped if core in situation.online)
    return [f"nohz_full is not in force on {named(present)}"] if present else []


CHECK = IsolationLists()
