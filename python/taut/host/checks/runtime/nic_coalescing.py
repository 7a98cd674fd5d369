"""R05: how long a network interface gathers packets before it interrupts, and whether it sleeps."""

from collections.abc import Mapping, Sequence

from taut.host.check import (
    Check,
    Finding,
    Profile,
    Remedy,
    Severity,
    failed,
    not_applicable,
    passed,
    unknown,
)
from taut.host.checks.runtime._nic import carrying
from taut.host.host import Host
from taut.host.setting import Change
from taut.host.settings.ethtool import EthtoolSetting, ethtool_options
from taut.host.shapes import POLLING
from taut.host.situation import Situation

_MOST_USECS = 10
_WANTED = "adaptive-rx off, rx-usecs at most 10, eee off"


class NicCoalescing(Check):
    """Of interfaces that carry the traffic through the kernel or in interrupt mode."""

    id = "R05"
    title = "coalescing and energy saving of network interfaces"
    fault = "Network interfaces hold packets back, or sleep"
    severity = Severity.MAJOR
    why = (
        "interrupts held back add their timeout to every packet, adaptive coalescing in steps; a "
        "link that sleeps (EEE) takes microseconds to wake"
    )
    source = "Onload user guide; value from general knowledge"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Ask ethtool; flow control is shown and not judged: it trades loss for delay."""
        if situation.role not in POLLING:
            return not_applicable(f"not asked of a {situation.role}")
        interfaces = carrying(host, situation)
        if not interfaces:
            return not_applicable("no network interface that a kernel driver runs")
        if host.command("ethtool", "--version") is None:
            return unknown(", ".join(interfaces), "install ethtool", _WANTED)
        options = {name: _options(host, name) for name in interfaces}
        if not any(options.values()):
            return not_applicable(f"{', '.join(interfaces)}: neither coalescing nor EEE")
        wrong = {name: found for name in interfaces if (found := _wrong(options[name]))}
        shown = [f"{name} {_said(host, name, options[name])}" for name in wrong or interfaces]
        observed = "; ".join(shown)
        return failed(observed, _WANTED) if wrong else passed(observed, _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:
        """Switch off what holds packets back."""
        wrong = {name: _wrong(_options(host, name)) for name in carrying(host, situation)}
        changes = [
            Change(EthtoolSetting(name, "eee" if option == "eee" else "coalesce", option), value)
            for name, options in wrong.items()
            for option, value in options.items()
        ]
        if not changes:
            return ()
        return (
            Remedy(
                "R05-now",
                "switch off adaptive coalescing, its timeout and EEE",
                changes=changes,
                risk="a change of EEE takes the link down for seconds on some interfaces",
                cost="an interrupt for each burst: more load on the cores that take them",
                profile=Profile.EXTREME,
            ),
        )


def _options(host: Host, interface: str) -> dict[str, str]:
    """What this check knows of."""
    coalesce = ethtool_options(host, interface, "coalesce")
    known = {name: coalesce[name] for name in ("adaptive-rx", "rx-usecs") if name in coalesce}
    return {**known, **ethtool_options(host, interface, "eee")}


def _wrong(options: Mapping[str, str]) -> dict[str, str]:
    """Give the values that are wanted instead."""
    wanted = {name: "off" for name in ("adaptive-rx", "eee") if options.get(name) == "on"}
    usecs = options.get("rx-usecs", "")
    if usecs.isdecimal() and int(usecs) > _MOST_USECS:
        wanted["rx-usecs"] = "0"
    return wanted


def _said(host: Host, interface: str, options: Mapping[str, str]) -> str:
    pause = ethtool_options(host, interface, "pause")
    flow = [f"pause-{way} {pause[way]}" for way in ("rx", "tx") if way in pause]
    return ", ".join([*(f"{name} {value}" for name, value in options.items()), *flow])


CHECK = NicCoalescing()
