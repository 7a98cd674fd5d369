"""R32: whether a daemon may step the clock while something is measured."""

from collections.abc import Sequence

from taut.host.check import (
    Check,
    Finding,
    Remedy,
    Severity,
    failed,
    passed,
    unknown,
)
from taut.host.host import Host
from taut.host.situation import Role, Situation

_WANTED = "the clock is slewed, never stepped, once the machine is up"
# Names as the kernel cuts them, at 15 characters.
_DAEMONS = ("chronyd", "ntpd", "systemd-timesyn", "phc2sys", "ptp4l")
_CHRONY = ("/etc/chrony/chrony.conf", "/etc/chrony.conf")
_CHRONY_MORE = ("/etc/chrony/conf.d/*.conf", "/etc/chrony.d/*.conf")
_NTP = ("/etc/ntpsec/ntp.conf", "/etc/ntp.conf")


class ClockDiscipline(Check):
    """taut itself measures with the TSC, which nobody steps or slews."""

    id = "R32"
    title = "clock discipline"
    fault = "The clock may be stepped"
    severity = Severity.NOTE
    why = (
        "a step of the clock shows as a latency that never was, in programs that measure with "
        "CLOCK_REALTIME; slewing changes the rate of CLOCK_MONOTONIC by up to 500 ppm and more"
    )
    source = "chrony.conf(5); systemd-timesyncd(8); phc2sys(8); measured by taut's authors"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Ask each daemon's configuration whether it steps."""
        running = _running(host)
        if not running and situation.role is Role.CONTAINER:
            return unknown("no daemon in this container", "run on the host", _WANTED)
        if not running:
            return passed("no daemon disciplines the clock", _WANTED)
        steps = {name: _steps(host, name, argv) for name, argv in running.items()}
        bad = [f"{name} steps: {why}" for name, why in steps.items() if why]
        hidden = [path for path in (*_CHRONY, *_NTP) if host.is_denied(path)]
        if bad:
            return failed("; ".join(bad), _WANTED)
        if hidden:
            return unknown(f"{hidden[0]}: permission denied", "run as root", _WANTED)
        return passed(f"{', '.join(running)} slew", _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """A matter of configuration."""
        return (
            Remedy(
                "R32-by-hand",
                "let the clock be slewed only",
                by_hand="chrony without `makestep ... -1`; ntpd with -x; phc2sys and ptp4l without "
                "a step threshold; instead of systemd-timesyncd, chrony. Or measure with "
                "CLOCK_MONOTONIC_RAW or the TSC, as taut does",
            ),
        )


def _running(host: Host) -> dict[str, list[str]]:
    """Give the command line of each daemon, by name."""
    found = {}
    for pid in host.names("/proc"):
        comm = (host.read(f"/proc/{pid}/comm") or "") if pid.isdecimal() else ""
        if comm in _DAEMONS:
            found[comm] = (host.read(f"/proc/{pid}/cmdline") or "").split("\0")
    return found


def _steps(host: Host, name: str, argv: list[str]) -> str:
    """Say why a daemon steps after its start; empty: it does not."""
    match name:
        case "chronyd":
            return _chrony(host, argv)
        case "ntpd":
            return _ntpd(host, argv)
        case "systemd-timesyn":
            return "systemd-timesyncd does for more than 0.4 s"
        case "phc2sys":
            threshold = _after(argv, "-S")
            return f"-S {threshold}" if _is_positive(threshold) else _ptp(host, argv)
        case "ptp4l":
            return _ptp(host, argv)
    return ""


def _chrony(host: Host, argv: list[str]) -> str:
    """`makestep THRESHOLD LIMIT`: in the first LIMIT updates; a negative one: always."""
    own = _after(argv, "-f")
    main = (own,) if own else _CHRONY
    paths = [*main, *(path for pattern in _CHRONY_MORE for path in host.paths(pattern))]
    for path in paths:
        for words in _directives(host.read(path) or ""):
            if words[0].lower() == "makestep" and len(words) > 2 and words[2].startswith("-"):
                return f"{' '.join(words)} in {path}"
    return ""


def _ntpd(host: Host, argv: list[str]) -> str:
    has_slew = any(
        word.startswith("-") and not word.startswith("--") and "x" in word for word in argv
    )
    if has_slew or "--slew" in argv:
        return ""
    for path in _NTP:
        for words in _directives(host.read(path) or ""):
            if words[0] == "tinker" and "step" in words[:-1]:
                threshold = words[words.index("step") + 1]
                return f"tinker step {threshold}" if _is_positive(threshold) else ""
    return "by default for more than 0.128 s"


def _ptp(host: Host, argv: list[str]) -> str:
    path = _after(argv, "-f")
    for words in _directives(host.read(path) or "" if path else ""):
        if words[0] == "step_threshold" and len(words) > 1 and _is_positive(words[1]):
            return f"step_threshold {words[1]} in {path}"
    return ""


def _directives(text: str) -> list[list[str]]:
    """Lines of a configuration that are no comments."""
    lines = (line.split() for line in text.splitlines())
    return [words for words in lines if words and words[0][0] not in "#;!%["]


def _after(argv: list[str], option: str) -> str:
    return argv[argv.index(option) + 1] if option in argv[:-1] else ""


def _is_positive(text: str) -> bool:
    try:
        return float(text) > 0
    except ValueError:
        return False


CHECK = ClockDiscipline()
