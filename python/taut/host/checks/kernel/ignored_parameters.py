"""K01: parameters the kernel ignores."""

from collections.abc import Sequence

from taut.host.check import Finding, Remedy, Severity, failed, passed, unknown
from taut.host.checks.kernel._shape import RoleCheck, by_hand
from taut.host.host import Host
from taut.host.kernel_parameters.problem import Kind, Problem
from taut.host.lint import lint_command_line, read_kernel_facts
from taut.host.shapes import EVERYWHERE, on_the_host
from taut.host.situation import Role, Situation

_CMDLINE = "/proc/cmdline"
_WANTED = "the kernel knows every parameter that is meant for it"
_IGNORED = (Kind.UNKNOWN, Kind.MISSPELT, Kind.INERT)
_MOST = 5


class IgnoredParameters(RoleCheck):
    """Since 5.14 the kernel names them in its log, those with a dot excepted: lint knows them."""

    id = "K01"
    title = "the kernel ignores no parameter"
    fault = "The kernel ignores parameters it was given"
    severity = Severity.MAJOR
    why = (
        "a misspelt parameter (nosoftlookup, rcu_nocbs_poll, pcie_asmp: all from published guides) "
        "does nothing and nobody says so, so the core is as noisy as before"
    )
    source = "Linux 5.14 (86d1919a4fb0); kernel-parameters.txt"
    roles = EVERYWHERE

    def judge(self, host: Host, situation: Situation) -> Finding:  # noqa: ARG002
        """What the kernel said, and what lint knows beyond it."""
        text = host.read(_CMDLINE)
        if text is None:
            return unknown("no command line", f"a readable {_CMDLINE}", _WANTED)
        problems = _problems(host, text)
        wrong = [problem for problem in problems if problem.is_wrong]
        if wrong:
            names = "; ".join(
                f"{problem.parameter}: {problem.message}" for problem in wrong[:_MOST]
            )
            more = f" and {len(wrong) - _MOST} more" if len(wrong) > _MOST else ""
            return failed(f"{names}{more}", _WANTED)
        if read_kernel_facts(host).ignored is not None:
            return passed("none is ignored, says the boot log", _WANTED)
        if problems:
            names = " ".join(problem.parameter for problem in problems[:_MOST])
            needs = "the log of the boot: dmesg as root, before it is overwritten"
            return unknown(f"unknown to taut: {names}", needs, _WANTED)
        return passed(
            "none is ignored by taut's list of names (the boot log is not readable)", _WANTED
        )

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Correct each."""
        text = host.read(_CMDLINE) or ""
        wrong = [problem for problem in _problems(host, text) if problem.is_wrong]
        what = "; ".join(f"{problem.parameter}: {problem.remedy}" for problem in wrong)
        what = what or "remove what the kernel does not know"
        if situation.role is Role.CONTAINER:
            return (on_the_host(self.id, what),)
        return (by_hand(self.id, "correct the command line", what),)


def _problems(host: Host, text: str) -> list[Problem]:
    found = lint_command_line(text, read_kernel_facts(host))
    return [problem for problem in found if problem.kind in _IGNORED]


CHECK = IgnoredParameters()
