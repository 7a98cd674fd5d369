"""HW14: what the kernel does against the processor's vulnerabilities."""

from taut.host.check import Check, Finding, Severity, passed, unreadable
from taut.host.host import Host
from taut.host.situation import Situation

_FOLDER = "/sys/devices/system/cpu/vulnerabilities"


class _Mitigations(Check):
    id = "HW14"
    title = "mitigations"
    severity = Severity.NOTE
    why = (
        "mitigations make system calls and VM exits dearer; a pure poll loop makes neither, so "
        "taut reports them and never proposes to give them up"
    )
    source = "kernel-parameters.txt"

    def inspect(self, host: Host, situation: Situation) -> Finding:  # noqa: ARG002
        """Report."""
        texts = {name: host.read(f"{_FOLDER}/{name}") or "" for name in host.names(_FOLDER)}
        if not texts:
            return unreadable(host, _FOLDER)
        mitigated = [name for name, text in texts.items() if text.startswith("Mitigation")]
        open_ones = [name for name, text in texts.items() if text.startswith("Vulnerable")]
        fine = sum(text.startswith("Not affected") for text in texts.values())
        other = len(texts) - len(mitigated) - len(open_ones) - fine
        parts = [
            f"mitigated: {' '.join(mitigated) or 'none'}",
            f"vulnerable: {' '.join(open_ones) or 'none'}",
            f"not affected: {fine}",
        ]
        if other:
            parts.append(f"not known: {other}")
        return passed("; ".join(parts), "nothing: reported only")


CHECK = _Mitigations()
