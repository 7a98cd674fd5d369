"""HW10: the frequency of the last level cache and of the way to memory."""

from collections.abc import Sequence

from taut.host.boot.item import SysfsValue
from taut.host.check import (
    Check,
    Finding,
    Remedy,
    Severity,
    failed,
    not_applicable,
    passed,
    unknown,
)
from taut.host.checks.hardware._shape import count, not_ours
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.file import FileSetting
from taut.host.situation import Situation

_FOLDER = "/sys/devices/system/cpu/intel_uncore_frequency"
_WANTED = "lowest and highest frequency equal"


class _UncoreFrequency(Check):
    id = "HW10"
    title = "uncore frequency"
    fault = "The uncore frequency may change"
    severity = Severity.MINOR
    why = (
        "the uncore slows down when the machine is quiet and speeds up again under load: every "
        "cache miss in between takes longer, by nanoseconds to microseconds"
    )
    source = "intel_uncore_frequency_scaling.rst; AMD EPYC tuning guides; size not verified"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Compare the limits of every part."""
        if (finding := not_ours(situation)) is not None:
            return finding
        if situation.machine.vendor == "amd":
            return unknown(
                "the fabric's frequency: AMD has no file for it",
                "look in the BIOS: APBDIS=1, DF C-states off",
                _WANTED,
            )
        if situation.machine.vendor != "intel":
            return not_applicable("no uncore frequency on this processor")
        limits = _limits(host)
        if not limits:
            return unknown(
                f"no {_FOLDER}",
                "load the module intel_uncore_frequency (or intel_uncore_frequency"
                "_tpmi), or look in the BIOS",
                _WANTED,
            )
        shown = ", ".join(f"{name} {low} to {high} kHz" for name, (low, high) in limits.items())
        if any(None in pair for pair in limits.values()):
            return unknown(shown, "a kernel whose format taut knows", _WANTED)
        if all(low == high for low, high in limits.values()):
            return passed(shown, _WANTED)
        return failed(shown, _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Raise the lowest to the highest."""
        wanted = [
            (f"{_FOLDER}/{name}/min_freq_khz", str(high))
            for name, (low, high) in _limits(host).items()
            if high is not None and low != high
        ]
        if not wanted:
            return ()
        summary = "keep the uncore at its highest frequency"
        cost = "power, and less of it for turbo"
        return (
            Remedy(
                "HW10-now",
                summary,
                changes=[Change(FileSetting(path, "number"), value) for path, value in wanted],
                cost=cost,
            ),
            Remedy(
                "HW10-boot",
                summary,
                boot=[SysfsValue(path, value) for path, value in wanted],
                cost=cost,
            ),
        )


def _limits(host: Host) -> dict[str, tuple[int | None, int | None]]:
    """By package and die, or cluster: the lowest and the highest, in kHz."""
    return {
        name: (
            count(host.read(f"{_FOLDER}/{name}/min_freq_khz")),
            count(host.read(f"{_FOLDER}/{name}/max_freq_khz")),
        )
        for name in host.names(_FOLDER)
    }


CHECK = _UncoreFrequency()
