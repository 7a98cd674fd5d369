"""HW06: whether firmware or the kernel controls frequencies and sleep states."""

from collections.abc import Sequence

from taut.host.check import Check, Finding, Remedy, Severity, failed, unknown
from taut.host.checks.hardware._shape import not_ours
from taut.host.host import Host
from taut.host.situation import Situation

_WANTED = "maximum performance, with C- and P-states left to the OS"
_DRIVER = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"
_MAKER = "/sys/class/dmi/id/sys_vendor"
# What intel_pstate says when firmware keeps the P-states to itself.
_KEPT = "P-states controlled by the platform"
# How a maker's own program shows the profile; the beginning of its name in the DMI table.
_PROGRAMS = {
    "Dell": "racadm get BIOS.SysProfileSettings.SysProfile",
    "HPE": "ilorest get WorkloadProfile --select Bios",
    "HP": "ilorest get WorkloadProfile --select Bios",
    "Lenovo": "onecli config show OperatingModes",
    "Supermicro": "sum -c GetCurrentBiosCfg",
}


class _PowerProfile(Check):
    id = "HW06"
    title = "power profile of the BIOS"
    fault = "Firmware controls power states"
    severity = Severity.MAJOR
    why = "firmware that controls C- or P-states itself does so in periodic SMIs, on all cores"
    source = "Intel NFV-I host configuration (2018); rigtorp.se low latency guide"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Look for signs that firmware is in control; that it is not leaves none."""
        if (finding := not_ours(situation)) is not None:
            return finding
        driver = host.read(_DRIVER)
        if driver in ("pcc-cpufreq", "pcc_cpufreq"):
            return failed(f"frequency driver {driver}: firmware sets the frequency", _WANTED)
        if _KEPT in (host.command("dmesg") or ""):
            return failed(f"kernel: {_KEPT}", _WANTED)
        maker = host.read(_MAKER) or ""
        program = next((text for name, text in _PROGRAMS.items() if maker.startswith(name)), "")
        return unknown(
            f"frequency driver {driver or 'none'}; the BIOS of {maker or 'this machine'} does not "
            "tell its profile",
            program or "look in the BIOS, or ask the maker's configuration program",
            _WANTED,
        )

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """In the BIOS."""
        return (
            Remedy(
                "HW06-by-hand",
                "leave power management to the OS",
                by_hand="in the BIOS: power profile at maximum performance, P- and C-states under "
                "OS control, collaborative power control (PCC) off",
                cost="power and heat",
            ),
        )


CHECK = _PowerProfile()
