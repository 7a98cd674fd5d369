"""Units of systemd: whether one runs, and whether it would at the next boot."""

from taut.host.view import View


def is_active(see: View, unit: str) -> bool:
    """Whether it runs now."""
    return see.command("systemctl", "is-active", unit) == "active"


def starts_at_boot(see: View, unit: str) -> bool:
    """Whether it is enabled, as one stays that a drop-in of taut's holds back."""
    return see.command("systemctl", "is-enabled", unit) == "enabled"
