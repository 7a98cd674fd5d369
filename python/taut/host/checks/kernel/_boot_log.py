"""What the kernel said while it booted."""

import re

from taut.host.host import Host

_FIRST = "Linux version "


def boot_log(host: Host) -> str | None:
    """Give the kernel's log; None where it is unreadable or no longer holds the boot."""
    text = host.command("dmesg")
    return text if text is not None and _FIRST in text else None


def boot_lines(host: Host, words: str) -> list[str]:
    """Give the log's lines that hold the words, without their stamp."""
    lines = (boot_log(host) or "").splitlines()
    return [re.sub(r"^\[[^]]*\]\s*", "", line) for line in lines if words in line]
