"""HW08: how often memory is scrubbed, and who logs the errors that are corrected."""

from collections.abc import Sequence

from taut.host.check import Check, Finding, Profile, Remedy, Severity, failed, passed, unknown
from taut.host.checks.hardware._shape import count, not_ours
from taut.host.host import Host
from taut.host.situation import Situation

_RATES = "/sys/devices/system/edac/mc/mc*/sdram_scrub_rate"
_WANTED = "the lowest scrub rate; corrected errors logged by the kernel, not by SMI"
# What the kernel says when firmware keeps corrected errors to itself (APEI, HEST table).
_FIRMWARE_FIRST = "Enabling Firmware First mode for corrected errors"


class _PatrolScrub(Check):
    """Nothing is written: which rate is lowest no driver tells, and some take it for "off".

    amd64_edac offers 761 B/s to everybody, and switches scrubbing off on Zen when that is asked
    for: its registers hold only the faster half of the table (__f17h_set_scrubval; in kernels
    until early 2023, 6.1 among them). Errors would then be found too late to correct.
    """

    id = "HW08"
    title = "patrol scrub and error logging"
    fault = "Corrected memory errors go to firmware first"
    severity = Severity.MINOR
    why = (
        "scrubbing takes memory bandwidth periodically; with firmware-first logging every "
        "corrected memory error costs an SMI"
    )
    source = "Intel NFV-I host configuration (2018)"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Read the rates, and what firmware keeps to itself."""
        if (finding := not_ours(situation)) is not None:
            return finding
        if _FIRMWARE_FIRST in (host.command("dmesg") or ""):
            return failed(f"kernel: {_FIRMWARE_FIRST}", _WANTED)
        rates = {path: count(host.read(path)) for path in host.paths(_RATES)}
        shown = ", ".join(f"{path.split('/')[-2]} {rate} B/s" for path, rate in rates.items())
        if not rates or None in rates.values():
            return unknown(
                "no scrub rate: the memory controller's driver gives none",
                "look in the BIOS: patrol scrub; or load the EDAC driver of this processor",
                _WANTED,
            )
        if all(rate == 0 for rate in rates.values()):
            return passed(f"{shown}: scrubbing is off", _WANTED)
        return unknown(shown, "the data sheet: the lowest rate this controller takes", _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Scrub slowly, never not at all: errors would be found too late to correct."""
        return (
            Remedy(
                "HW08-by-hand",
                "leave error logging to the kernel",
                by_hand="in the BIOS: firmware-first (WHEA, EMCA) logging of corrected errors "
                "off, patrol scrub at its lowest rate; uncorrected errors must stay visible",
                profile=Profile.EXTREME,
                risk="errors are found later, when they may no longer be correctable",
            ),
        )


CHECK = _PatrolScrub()
