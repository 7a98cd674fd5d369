"""An option of a network interface that only ethtool sets."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from taut.host.host import Host
from taut.host.writer import Writer

# Per group: the option of ethtool(8) that shows, and the one that sets.
_OPTIONS = {
    "coalesce": ("-c", "-C"),
    "channels": ("-l", "-L"),
    "eee": ("--show-eee", "--set-eee"),
    "pause": ("-a", "-A"),
}


@dataclass(frozen=True)
class EthtoolSetting:
    """`group` is coalesce, channels, eee or pause; `option` is the word that sets it: rx-usecs."""

    kind: ClassVar[str] = "ethtool"

    interface: str
    group: str
    option: str

    @property
    def name(self) -> str:
        """Interface, group and option, as on ethtool's command line."""
        return f"{self.interface}: {self.group} {self.option}"

    def read(self, host: Host) -> str | None:
        """Ask ethtool; None where there is none, or the driver does not know the option."""
        return ethtool_options(host, self.interface, self.group).get(self.option)

    def write(self, writer: Writer, value: str | None) -> None:
        if value is None:
            raise OSError(0, f"{self.name}: had no value; it cannot be taken away")
        writer.command(["ethtool", _OPTIONS[self.group][1], self.interface, self.option, value])

    def agrees(self, in_force: str | None, value: str | None) -> bool:
        """Compare as ethtool writes them."""
        return in_force == value

    def unmovable(self, error: OSError) -> str | None:
        """Say so where the driver does not support the option."""
        return "its driver cannot" if "not supported" in str(error).lower() else None


def ethtool_options(host: Host, interface: str, group: str) -> Mapping[str, str]:
    """Every option of a group that has a value, named by the word that sets it."""
    text = host.command("ethtool", _OPTIONS[group][0], interface)
    found = _PARSERS[group](text or "")
    return {name: value for name, value in found.items() if value not in ("", "n/a")}


def _coalesce(text: str) -> dict[str, str]:
    found = _lines(text)
    for name, option in (("Adaptive", "adaptive"), ("CQE mode", "cqe-mode")):
        for way, value in re.findall(r"(RX|TX): *(\S+)", _rest_of(text, name)):
            found[f"{option}-{way.lower()}"] = value
    return {name: value for name, value in found.items() if " " not in name}


def _channels(text: str) -> dict[str, str]:
    """Only what is in force: the maxima come before it."""
    return _lines(text.partition("Current hardware settings:")[2])


def _eee(text: str) -> dict[str, str]:
    found = _lines(text)
    status = found.get("eee status", "")
    states = {"enabled": "on", "disabled": "off"}
    return {"eee": states.get(status.partition(" ")[0], "")}


def _pause(text: str) -> dict[str, str]:
    found = _lines(text)
    names = {"autonegotiate": "autoneg", "rx": "rx", "tx": "tx"}
    return {names[name]: value for name, value in found.items() if name in names}


def _lines(text: str) -> dict[str, str]:
    found = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            found[name.strip().lower()] = value.strip()
    return found


def _rest_of(text: str, start: str) -> str:
    return next((line for line in text.splitlines() if line.startswith(start)), "")


_PARSERS: Mapping[str, Callable[[str], dict[str, str]]] = {
    "coalesce": _coalesce,
    "channels": _channels,
    "eee": _eee,
    "pause": _pause,
}
