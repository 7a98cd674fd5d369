"""V07: whether a guest leaves the processor when it idles."""

from collections.abc import Sequence

from taut.host.check import Finding, Profile, Remedy, Severity, failed, passed, unknown
from taut.host.checks.kvm_host._shape import Guest, GuestCheck, options
from taut.host.host import Host
from taut.host.situation import Situation
from taut.host.threads import some

_WANTED = "-overcommit cpu-pm=on for guests with cores of their own"


class IdleExits(GuestCheck):
    """HLT, MWAIT and PAUSE stay in the guest: it idles, and spins, as on its own machine."""

    id = "V07"
    title = "idling without exits"
    fault = "Idle virtual CPUs leave their guest"
    severity = Severity.MINOR
    why = "each HLT, MWAIT or PAUSE that exits costs microseconds, and the way back the same again"
    source = "QEMU (-overcommit cpu-pm); general knowledge"

    def judge(self, host: Host, situation: Situation, found: Sequence[Guest]) -> Finding:  # noqa: ARG002
        """By the command line: KVM does not show it."""
        foreign = [guest for guest in found if not guest.is_qemu]
        if foreign:
            needs = "the definition of this guest: its monitor is not QEMU, or run as root"
            return unknown(f"{foreign[0]}: no command line of QEMU", needs, _WANTED)
        without = [
            f"{guest}: no cpu-pm=on"
            for guest in found
            if not any("cpu-pm=on" in text.split(",") for text in options(guest, "-overcommit"))
        ]
        if without:
            return failed(some(without), _WANTED)
        return passed(some([f"{guest}: cpu-pm=on" for guest in found]), _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """In the guest's definition."""
        return (
            Remedy(
                f"{self.id}-by-hand",
                "let the guest idle by itself",
                by_hand="on this host: start QEMU with -overcommit cpu-pm=on (libvirt: a"
                " <qemu:commandline>), only if nothing else shall run on the guest's cores (V01)",
                profile=Profile.EXTREME,
                cost="the host sees the cores fully busy, and saves no power on them",
            ),
        )


CHECK = IdleExits()
