"""How many packets taut-forward's transmit policy holds back, and how long, from `--transmit`.

The program reads the same texts (dataplane/forwarder/transmit_table.c); tests/data/grammar.txt
holds both to the same meaning. A run of today has what the program understood in `holds` of its
counters: this is for what is not yet run, and for runs of older versions.
"""

import re

from taut.core.errors import InputError
from taut.core.units import parse_duration_ns
from taut.records.documents.trial import Holds

_KEYS = ("packets", "drain")
_MOST_PACKETS = 256

# Fixed in the source of DPDK's l2fwd (examples/l2fwd/main.c: MAX_PKT_BURST, BURST_TX_DRAIN_US), and
# the defaults of taut-forward's `buffered`.
AS_L2FWD = Holds(packets=32, drain_ns=100_000)


def parse_transmit(text: str) -> Holds | None:
    """Read `buffered`, `buffered:32,100us` or `buffered:drain=none`; None: it holds nothing back.

    InputError where the values of `buffered` make no sense. Which policies there are, and whether
    the others take values, only the program knows.
    """
    name, _, values = text.partition(":")
    if name != "buffered":
        return None
    given = _named(text, values)
    return Holds(
        packets=_packets(text, given["packets"]) if "packets" in given else AS_L2FWD.packets,
        drain_ns=_drain_ns(text, given["drain"]) if "drain" in given else AS_L2FWD.drain_ns,
    )


def spell_transmit(text: str) -> str:
    """Write a policy as taut-forward is handed it, with its defaults: numbers and nanoseconds.

    InputError as of `parse_transmit`; policies that hold nothing back stay as they are.
    """
    held = parse_transmit(text)
    if held is None:
        return text
    drain = "none" if held.drain_ns is None else f"{held.drain_ns}ns"
    return f"buffered:packets={held.packets},drain={drain}"


def _named(text: str, values: str) -> dict[str, str]:
    """Give each value its key: those without one take the keys in turn."""
    given: dict[str, str] = {}
    for i, part in enumerate(values.removesuffix(",").split(",") if values else ()):
        key, equals, value = part.partition("=")
        if not equals:
            key, value = _KEYS[i] if i < len(_KEYS) else "", part
        if key not in _KEYS or key in given:
            raise _refusal(text, f"{part!r} is no value, or one too many")
        given[key] = value
    return given


def _packets(text: str, value: str) -> int:
    if not re.fullmatch("[0-9]+", value) or not 1 <= int(value) <= _MOST_PACKETS:
        raise _refusal(text, f"packets {value!r} is no number from 1 to {_MOST_PACKETS}")
    return int(value)


def _drain_ns(text: str, value: str) -> int | None:
    if value == "none":
        return None
    try:
        return parse_duration_ns(value) or None
    except InputError:
        raise _refusal(text, f"drain {value!r} is no duration with its unit") from None


def _refusal(text: str, why: str) -> InputError:
    return InputError(f"transmit {text!r}: {why}; write buffered:32,100us or buffered:32,none")
