"""K28: where unbound kernel work runs."""

from collections.abc import Sequence

from taut.host.boot.item import KernelParameter
from taut.host.check import Finding, Remedy, Severity
from taut.host.checks.kernel._shape import (
    RoleCheck,
    at_boot,
    by_hand,
    can_split,
    core_mask,
    judge_outside,
    named,
    unread,
)
from taut.host.host import Host
from taut.host.situation import Situation

_FOLDER = "/sys/devices/virtual/workqueue"
_MASK = f"{_FOLDER}/cpumask"
_WANTED = "a mask without poll cores from the first second on"
# The parameter came with this kernel.
_SINCE = (6, 6)


class UnboundWork(RoleCheck):
    """R07 changes the mask of a running machine; at boot it takes a parameter."""

    id = "K28"
    title = "unbound kernel work runs elsewhere"
    fault = "Unbound kernel work may run on poll cores"
    severity = Severity.MAJOR
    why = (
        "work that belongs to no core (writeback, network, device drivers) runs on any core of "
        "this mask; each item on a poll core costs a context switch and its work"
    )
    source = "core-api/workqueue.rst; tuned (sets it from the initrd); measured (files in 6.18)"

    def judge(self, host: Host, situation: Situation) -> Finding:
        """Compare the mask in force as a bitmap."""
        text = host.read(_MASK)
        cores = core_mask(text)
        if cores is None:
            return unread(host, _MASK, _WANTED)
        masks = {"cpumask": text}
        for name in ("cpumask_requested", "cpumask_isolated"):
            masks[name] = host.read(f"{_FOLDER}/{name}")
        observed = ", ".join(f"{name}={mask}" for name, mask in masks.items() if mask)
        return judge_outside(situation, cores, observed, _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """At boot; the change for now is R07's."""
        if not can_split(situation):
            return ()
        cores = situation.housekeeping
        summary = f"keep unbound work on {named(cores)}"
        if situation.machine.kernel < _SINCE:
            what = "this kernel lacks workqueue.unbound_cpus: write the mask at every boot (R07)"
            return (by_hand(self.id, summary, what),)
        parameter = KernelParameter("workqueue.unbound_cpus", cores=cores)
        cost = "unbound kernel work shares fewer cores"
        return (at_boot(self.id, summary, parameter, cost=cost),)


CHECK = UnboundWork()
