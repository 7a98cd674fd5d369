"""Whether a systemd unit runs."""

from dataclasses import dataclass
from typing import ClassVar

from taut.host.host import Host
from taut.host.writer import Writer


@dataclass(frozen=True)
class SystemdUnit:
    """The value is `active` or `inactive`."""

    kind: ClassVar[str] = "systemd-unit"

    unit: str

    @property
    def name(self) -> str:
        """The unit, as systemctl names it."""
        return f"unit {self.unit}"

    def read(self, host: Host) -> str | None:
        """Ask systemd; None where there is none, or no such unit."""
        state = host.command("systemctl", "is-active", self.unit)
        if state is None:
            return None
        return "active" if state in ("active", "activating", "reloading") else "inactive"

    def write(self, writer: Writer, value: str | None) -> None:
        """Start or stop it."""
        if value is not None:
            writer.command(["systemctl", "start" if value == "active" else "stop", self.unit])

    def agrees(self, in_force: str | None, value: str | None) -> bool:
        return in_force == value

    def unmovable(self, error: OSError) -> str | None:  # noqa: ARG002 - settings share signatures
        return None
