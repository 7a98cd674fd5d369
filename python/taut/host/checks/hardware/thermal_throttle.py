"""HW13: cores that were slowed down because of heat or power."""

import re
from collections.abc import Mapping, Sequence

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
from taut.host.situation import Situation

_COUNTS = (
    "/sys/devices/system/cpu/cpu*/thermal_throttle/core_throttle_count",
    "/sys/devices/system/cpu/cpu*/thermal_throttle/package_throttle_count",
)
_CORE = re.compile(r"/cpu([0-9]+)/thermal_throttle/(core|package)_throttle_count")
_WANTED = "no throttling"


class _ThermalThrottle(Check):
    id = "HW13"
    title = "thermal throttling"
    fault = "Cores were throttled for heat"
    severity = Severity.MAJOR
    why = "a core that is too hot runs slower, and takes an interrupt each time that changes"
    source = "kernel documentation of thermal_throttle; general knowledge, not verified"
    watches = _COUNTS

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Compare the counts; none since boot is none in any interval."""
        if (finding := not_ours(situation)) is not None:
            return finding
        now = _counts(_read(host), situation)
        if not now:
            return not_applicable("no thermal_throttle: only Intel processors count it")
        if None in now.values():
            return unknown("counts of throttling", "a kernel whose format taut knows", _WANTED)
        before = _counts(situation.watched.before, situation)
        after = _counts(situation.watched.after, situation)
        total = sum(value or 0 for value in now.values())
        rises = {
            path: (after.get(path) or 0) - (value or 0)
            for path, value in before.items()
            if path in after
        }
        if any(rise > 0 for rise in rises.values()):
            hit = sorted(
                {core for path, rise in rises.items() if rise > 0 for core in _cores(path)}
            )
            seconds = situation.watched.seconds
            observed = f"throttled {sum(rises.values())} times in {seconds:.0f} s"
            return failed(observed, _WANTED, tuple(hit))
        if rises:
            return passed(f"not throttled while watched; {total} times since boot", _WANTED)
        if total == 0:
            return passed("not throttled since boot", _WANTED)
        return unknown(f"throttled {total} times since boot", "watch a while: --watch 5s", _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Less heat."""
        return (
            Remedy(
                "HW13-by-hand",
                "cool the machine, or ask less of it",
                by_hand="check fans, filters and air flow; or lower scaling_max_freq to what the "
                "machine holds under full load",
            ),
        )


def _read(host: Host) -> dict[str, str]:
    paths = [path for pattern in _COUNTS for path in host.paths(pattern)]
    return {path: host.read(path) or "" for path in paths}


def _counts(texts: Mapping[str, str], situation: Situation) -> dict[str, int | None]:
    """By path, of the cores that poll; of all where nobody named any."""
    judged = situation.cores or situation.online
    return {
        path: count(text)
        for path, text in texts.items()
        if any(core in judged for core in _cores(path))
    }


def _cores(path: str) -> list[int]:
    found = _CORE.search(path)
    return [int(found[1])] if found else []


CHECK = _ThermalThrottle()
