"""K25: kernel messages on a serial line."""

from collections.abc import Sequence

from taut.host.boot.item import KernelParameter
from taut.host.check import (
    Finding,
    Remedy,
    Severity,
    failed,
    passed,
    unreadable,
)
from taut.host.checks.kernel import _command_line
from taut.host.checks.kernel._shape import RoleCheck, at_boot, unread
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.situation import Role, Situation

_LEVELS = "/proc/sys/kernel/printk"
_ACTIVE = "/sys/class/tty/console/active"
_SERIAL = ("ttyS", "ttyAMA", "ttyUSB", "hvc", "ttymxc")
_QUIET = 3
_WANTED = f"console loglevel {_QUIET} or less, or no serial console"


class SerialConsole(RoleCheck):
    """A slow line holds up whoever prints."""

    id = "K25"
    title = "nothing is printed to a serial line"
    fault = "Messages are printed to a serial line"
    severity = Severity.MAJOR
    why = (
        "a message to a serial console goes out byte by byte with interrupts off: 9 ms for a line "
        "of 100 characters at 115200 baud, on whichever core printed it"
    )
    source = "tuned (optimize-serial-console); arithmetic: 10 bits a character"
    roles = frozenset({Role.POLL_CORE, Role.HOUSEKEEPING, Role.KVM_HOST})

    def judge(self, host: Host, situation: Situation) -> Finding:  # noqa: ARG002
        """Serial consoles in use, and how much reaches them."""
        text = host.read(_LEVELS)
        if text is None:
            return unreadable(host, _LEVELS, _WANTED)
        words = text.split()
        if not words or not all(word.isdigit() for word in words):
            return unread(host, _LEVELS, _WANTED)
        consoles = _consoles(host)
        lines = [name for name in consoles if name.startswith(_SERIAL)]
        observed = f"console {' '.join(consoles) or 'none'}, loglevel {words[0]}"
        is_good = not lines or int(words[0]) <= _QUIET
        return passed(observed, _WANTED) if is_good else failed(observed, _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Print less to it: the log keeps everything."""
        words = (host.read(_LEVELS) or "").split()
        cost = "warnings no longer show on the console; dmesg has them"
        change = Change(FileSetting(_LEVELS), "\t".join([str(_QUIET), *words[1:]]))
        return (
            Remedy("K25-now", f"set the console's loglevel to {_QUIET}", (change,), cost=cost),
            at_boot(
                self.id,
                f"boot with loglevel {_QUIET}",
                KernelParameter("quiet"),
                KernelParameter("loglevel", str(_QUIET)),
                cost=cost,
            ),
        )


def _consoles(host: Host) -> list[str]:
    active = host.read(_ACTIVE)
    if active is not None:
        return active.split()
    asked = _command_line.find(host, "console")
    return [(parameter.value or "").partition(",")[0] for parameter in asked]


CHECK = SerialConsole()
