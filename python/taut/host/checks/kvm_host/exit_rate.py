"""V12: how often guests leave the processor to their host."""

from collections import Counter
from collections.abc import Mapping

from taut.host.check import Check, Finding, Severity, failed, passed, unknown
from taut.host.checks.kvm_host._shape import not_a_host
from taut.host.host import Host
from taut.host.situation import Situation, TraceEvent
from taut.host.threads import some

_EXITS = "/sys/kernel/debug/kvm/*/exits"
_EVENT = "kvm/kvm_exit"
# About none: a guest without ticks is left alone for seconds; one with a tick exits 250 times.
_MOST_PER_S = 10.0
_WANTED = f"{_MOST_PER_S:.0f} or fewer exits per second and core"


class ExitRate(Check):
    """By the kernel's events on the cores where there are some, else by KVM's counters."""

    id = "V12"
    title = "exits of guests"
    fault = "Virtual CPUs often leave their guest"
    severity = Severity.MAJOR
    why = "every exit takes the guest's core away for one to tens of microseconds"
    source = "kvm tracepoints; kvm_stat"
    watches = (_EXITS,)
    traces = (_EVENT,)

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Count."""
        if finding := not_a_host(situation):
            return finding
        watched = situation.watched
        if situation.events is not None and situation.cores and watched.seconds > 0:
            exits = [event for event in situation.events if event.name == "kvm_exit"]
            return _judge_events(exits, situation)
        rates = _rates(watched.before, watched.after, watched.seconds)
        if not rates:
            if host.is_denied("/sys/kernel/debug"):
                return unknown("/sys/kernel/debug: permission denied", "run as root", _WANTED)
            needs = "a running guest, and watching a while: --watch 5s (on its cores: --trace)"
            return unknown("no exits were counted", needs, _WANTED)
        observed = some([f"guest {name}: {rate:.0f} exits/s" for name, rate in rates.items()])
        if max(rates.values()) <= _MOST_PER_S:
            return passed(observed, _WANTED)
        if not situation.cores:
            return failed(observed, _WANTED)
        # The counter is of all virtual CPUs of a guest; some of them may be meant to idle.
        return unknown(observed, "which core exits: --trace", _WANTED)


def _judge_events(exits: list[TraceEvent], situation: Situation) -> Finding:
    per_core = Counter(event.core for event in exits if event.core in situation.cores)
    rates = {core: count / situation.watched.seconds for core, count in per_core.items()}
    bad = tuple(sorted(core for core, rate in rates.items() if rate > _MOST_PER_S))
    reasons = Counter(_reason(event) for event in exits if event.core in situation.cores)
    shown = some([f"core {core}: {rates.get(core, 0.0):.0f} exits/s" for core in situation.cores])
    if not bad:
        return passed(shown, _WANTED, situation.cores)
    most = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common(3))
    return failed(f"{shown} ({most})", _WANTED, bad)


def _reason(event: TraceEvent) -> str:
    words = event.fields.split()
    if "reason" in words[:-1]:
        return words[words.index("reason") + 1]
    return "unnamed"


def _rates(before: Mapping[str, str], after: Mapping[str, str], seconds: float) -> dict[str, float]:
    """Exits per second of each guest, by its folder: process number and file descriptor."""
    found = {}
    for path, text in after.items():
        parts = path.split("/")
        if path.startswith("/sys/kernel/debug/kvm/") and parts[-1] == "exits" and path in before:
            counts = (before[path].strip(), text.strip())
            if seconds > 0 and all(count.isdecimal() for count in counts):
                found[parts[-2]] = (int(counts[1]) - int(counts[0])) / seconds
    return found


CHECK = ExitRate()
