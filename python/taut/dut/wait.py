"""How taut-forward waits for packets, from `--wait`.

The program reads the same texts (dataplane/forwarder/wait.c); tests/data/grammar.txt holds both to
the same meaning.
"""

from taut.core.errors import InputError
from taut.core.units import parse_duration_ns

POLL = "poll"

_WITHOUT_TIME = (POLL, "interrupt", "adaptive")
_WITH_WAITPKG = ("pause", "monitor")
"""Ways of DPDK's rte_power that nobody has run yet (docs/measuring.md)."""

_LONGEST_SPIN_NS = 1_000_000_000


def spell_wait(text: str) -> str:
    """Write it as taut-forward is handed it, its time in nanoseconds. InputError: no such way."""
    if text in _WITHOUT_TIME:
        return text
    name, colon, time = text.partition(":")
    if name != "adaptive" or not colon:
        why = "unknown"
        if text in _WITH_WAITPKG:
            why = "not built: no processor with waitpkg (TPAUSE, UMWAIT) was there to try it on"
        raise InputError(f"wait {text!r}: {why}; known are poll, interrupt, adaptive[:50us]")
    spin_ns = parse_duration_ns(time)
    if not 1 <= spin_ns <= _LONGEST_SPIN_NS:
        raise InputError(f"wait {text!r}: the time is from 1 ns to 1 s")
    return f"adaptive:{spin_ns}ns"
