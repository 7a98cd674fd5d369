"""R03: how many queues a network interface interrupts with."""

from collections.abc import Sequence

from taut.host.check import (
    Check,
    Finding,
    Profile,
    Remedy,
    Severity,
    failed,
    not_applicable,
    passed,
    unknown,
)
from taut.host.checks.runtime._cores import NAME_CORES
from taut.host.checks.runtime._nic import n_receive_queues, physical
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.ethtool import EthtoolSetting, ethtool_options
from taut.host.situation import Role, Situation


class NicQueues(Check):
    """A driver makes a queue, with an interrupt, for every core it may use."""

    id = "R03"
    title = "queues of network interfaces"
    fault = "Network interfaces have more queues than housekeeping cores"
    severity = Severity.MINOR
    why = (
        "drivers spread receive queues over all cores: each queue more than there are housekeeping "
        "cores brings its interrupt and softirq to a polling core"
    )
    source = "OpenShift node tuning operator (userLevelNetworking); tuned [net]"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Compare with the housekeeping cores; any number of queues fits where none polls."""
        if situation.role is Role.CONTAINER:
            return not_applicable(f"not asked of a {situation.role}")
        if not situation.polls:
            return not_applicable("a device that sleeps takes queues on its own cores")
        queues = {name: n_receive_queues(host, name) for name in physical(host)}
        queues = {name: n for name, n in queues.items() if n}
        if not queues:
            return not_applicable("no network interface that a kernel driver runs")
        observed = ", ".join(f"{name}: {n} receive queues" for name, n in queues.items())
        n_cores = len(situation.housekeeping)
        wanted = f"at most {n_cores}: as many as housekeeping cores"
        if max(queues.values()) > n_cores:
            return failed(observed, wanted)
        # Whichever core polls, one is left.
        if situation.cores or situation.role is Role.HOUSEKEEPING or max(queues.values()) == 1:
            return passed(observed, wanted)
        return unknown(observed, NAME_CORES, "as many as housekeeping cores")

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Fewer combined queues, or receive queues where the driver tells them apart."""
        wanted = len(situation.housekeeping)
        changes = []
        for name in physical(host):
            options = ethtool_options(host, name, "channels")
            option = "combined" if options.get("combined", "0") != "0" else "rx"
            if wanted and option in options and n_receive_queues(host, name) > wanted:
                changes.append(Change(EthtoolSetting(name, "channels", option), str(wanted)))
        if changes:
            return (
                Remedy(
                    "R03-now",
                    f"as many queues as housekeeping cores: {wanted}",
                    changes=changes,
                    profile=Profile.EXTREME,
                    risk="the link may go down for seconds: packets are lost",
                    cost="less throughput of the kernel's network stack",
                ),
            )
        return (
            Remedy(
                "R03-by-hand",
                "give network interfaces fewer queues",
                by_hand=f"ethtool -L INTERFACE combined {max(wanted, 1)}, where the driver can",
            ),
        )


CHECK = NicQueues()
