"""Shapes many checks share, so that such a check is a dozen lines of data."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from taut.host.boot.item import BootItem
from taut.host.check import (
    Finding,
    Profile,
    Remedy,
    Severity,
    failed,
    not_applicable,
    passed,
    unknown,
    unreadable,
)
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.situation import Role, Situation

POLLING = frozenset({Role.POLL_CORE, Role.KVM_HOST, Role.KVM_GUEST})
"""B, V and G of the catalogue: where cores poll and the kernel is ours."""
EVERYWHERE = frozenset(Role)


@dataclass(frozen=True)
class FileCheck:
    """One file holds one value that should be as wanted, and can be written.

    In a container the value is judged but not changed: that is for the host.
    """

    id: str
    title: str
    fault: str
    severity: Severity
    why: str
    source: str
    path: str
    is_good: Callable[[str], bool]
    """Given the stripped text; ValueError: it is malformed."""
    wanted: str
    """In words."""
    value: str | None
    """What the remedy writes; None: it cannot be changed now."""
    form: str = "number"  # as in settings/file.py
    roles: frozenset[Role] = POLLING
    boot: Sequence[BootItem] = ()
    profile: Profile = Profile.RECOMMENDED
    risk: str = ""
    cost: str = ""
    measure: str = ""
    watches: Sequence[str] = ()
    traces: Sequence[str] = ()

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Compare."""
        if situation.role not in self.roles:
            return not_applicable(f"not asked of a {situation.role}")
        text = host.read(self.path)
        if text is None:
            return unreadable(host, self.path, self.wanted)
        try:
            is_good = self.is_good(text)
        except ValueError:
            return unknown(
                f"{self.path}: {text[:60]!r}", "a kernel whose format taut knows", self.wanted
            )
        observed = f"{self.path} = {text}"
        return passed(observed, self.wanted) if is_good else failed(observed, self.wanted)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Write the value, now and at boot."""
        if situation.role is Role.CONTAINER:
            return (on_the_host(self.id, f"{self.path}: {self.wanted}"),)
        found = []
        if self.value is not None:
            change = Change(FileSetting(self.path, self.form), self.value)
            found.append(
                Remedy(
                    f"{self.id}-now",
                    f"write {self.value} to {self.path}",
                    changes=(change,),
                    profile=self.profile,
                    risk=self.risk,
                    cost=self.cost,
                    measure=self.measure,
                )
            )
        if self.boot:
            found.append(
                Remedy(
                    f"{self.id}-boot",
                    f"at boot: {self.wanted}",
                    boot=self.boot,
                    profile=self.profile,
                    risk=self.risk,
                    cost=self.cost,
                    measure=self.measure,
                )
            )
        return tuple(found)


def on_the_host(check_id: str, what: str) -> Remedy:
    """What a guest or a container cannot change itself."""
    return Remedy(f"{check_id}-by-hand", "change it on the host", by_hand=f"on the host: {what}")
