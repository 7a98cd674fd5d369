"""K11: RCU does not hurry."""

from collections.abc import Sequence

from taut.host.boot.item import KernelParameter
from taut.host.check import Finding, Remedy, Severity, failed, passed
from taut.host.checks.kernel._shape import RoleCheck, at_boot, unread
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.shapes import POLLING
from taut.host.situation import Role, Situation

_NORMAL = "/sys/kernel/rcu_normal"
_EXPEDITED = "/sys/kernel/rcu_expedited"
_WANTED = "rcu_normal=1 and rcu_expedited=0"
_MEASURE = "tuned sets rcu_normal_after_boot=1, Red Hat's sample for radio networks sets 0"


class RcuExpedited(RoleCheck):
    """An expedited grace period interrupts every core."""

    id = "K11"
    title = "no expedited RCU"
    fault = "RCU grace periods may be expedited"
    severity = Severity.MINOR
    why = (
        "an expedited grace period sends an interrupt to every core that may hold a reader, poll "
        "cores too: about a microsecond each, more in a guest"
    )
    source = "tuned; kernel-parameters.txt (rcupdate.rcu_normal_after_boot)"
    roles = POLLING | {Role.HOUSEKEEPING}

    def judge(self, host: Host, situation: Situation) -> Finding:  # noqa: ARG002
        """Both files."""
        values = {}
        for path in (_NORMAL, _EXPEDITED):
            number = host.number(path)
            if number is None:
                return unread(host, path, _WANTED)
            values[path] = number
        observed = f"rcu_normal={values[_NORMAL]}, rcu_expedited={values[_EXPEDITED]}"
        is_good = values[_NORMAL] == 1 and values[_EXPEDITED] == 0
        return passed(observed, _WANTED) if is_good else failed(observed, _WANTED)

    def remedies(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Both files now, one parameter at boot."""
        wanted = {_NORMAL: 1, _EXPEDITED: 0}
        changes = [
            Change(FileSetting(path, "number"), str(value))
            for path, value in wanted.items()
            if host.number(path) != value
        ]
        cost = "network namespaces and interfaces go away more slowly"
        summary = "let RCU take its time"
        parameter = KernelParameter("rcupdate.rcu_normal_after_boot", "1")
        boot = at_boot(self.id, summary, parameter, cost=cost, measure=_MEASURE)
        if not changes:
            return (boot,)
        return (Remedy("K11-now", summary, changes=changes, cost=cost, measure=_MEASURE), boot)


CHECK = RcuExpedited()
