"""R12: whether the kernel merges equal pages (KSM)."""

from collections.abc import Sequence

from taut.host.boot.item import UnitState
from taut.host.check import Check, Finding, Remedy, Severity, failed, passed, unknown, unreadable
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.settings.systemd_unit import SystemdUnit
from taut.host.shapes import on_the_host
from taut.host.situation import Role, Situation

_FOLDER = "/sys/kernel/mm/ksm"
_PATH = f"{_FOLDER}/run"
_UNITS = ("ksmtuned.service", "ksm.service")


class Ksm(Check):
    """0 stops it and leaves merged pages; 2 also takes them apart."""

    id = "R12"
    title = "page merging (KSM)"
    fault = "Page merging (KSM) is on"
    severity = Severity.MAJOR
    why = (
        "merging write-protects pages: TLB shootdowns on every core of the process, and a fault "
        "with a copy at the next write"
    )
    source = "tuned"

    def inspect(self, host: Host, situation: Situation) -> Finding:  # noqa: ARG002
        """Running is wrong in every role: the whole machine feels it."""
        text = host.read(_PATH)
        wanted = "0 or 2"
        if text is None:
            return unreadable(host, _PATH, wanted)
        if text not in ("0", "1", "2"):
            needs = "a kernel whose format taut knows"
            return unknown(f"{_PATH}: {text[:60]!r}", needs, wanted)
        merged = host.number(f"{_FOLDER}/pages_sharing") or 0
        observed = f"{_PATH} = {text}" + (f", {merged} pages merged" if merged else "")
        return failed(observed, wanted) if text == "1" else passed(observed, wanted)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Stop who would start it again first."""
        if situation.role is Role.CONTAINER:
            return (on_the_host(self.id, f"write 0 to {_PATH}"),)
        running = [unit for unit in _UNITS if _systemctl(host, "is-active", unit) == "active"]
        enabled = [unit for unit in _UNITS if _systemctl(host, "is-enabled", unit) == "enabled"]
        now = Remedy(
            "R12-now",
            "stop page merging",
            changes=(
                *(Change(SystemdUnit(unit), "inactive") for unit in running),
                Change(FileSetting(_PATH, "number"), "0"),
            ),
            cost="guests with equal pages need more memory",
        )
        if not enabled:
            return (now,)
        items = tuple(UnitState(unit, False) for unit in enabled)
        return (now, Remedy("R12-boot", "at boot: no page merging", boot=items))


def _systemctl(host: Host, verb: str, unit: str) -> str | None:
    return host.command("systemctl", verb, unit)


CHECK = Ksm()
