"""G06: devices by which the guest's memory goes back to the host."""

from collections.abc import Sequence

from taut.host.check import Check, Finding, Remedy, Rollback, Severity, failed, passed, unknown
from taut.host.checks.kvm_guest._shape import INTERRUPTS, interrupts, not_a_guest
from taut.host.host import Host
from taut.host.situation import Situation

_DEVICES = "/sys/bus/virtio/devices"
_WANTED = "no balloon, no free page reporting, no virtio-mem"
# Numbers of device types and the feature bit (virtio 1.2, 5.5 and 5.15).
_BALLOON = 5
_MEM = 24
_REPORTING_BIT = 5


class _MemoryReturned(Check):
    id = "G06"
    title = "memory given back to the host"
    fault = "Memory may go back to the host"
    severity = Severity.MAJOR
    why = (
        "a page that was given back faults in the host at its next touch: microseconds to tens of "
        "them, and nothing in the guest shows it"
    )
    source = "virtio 1.2; measured on the development machine"
    watches = (INTERRUPTS,)

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Look for devices with a driver, and what was negotiated."""
        if (finding := not_a_guest(situation)) is not None:
            return finding
        if not host.is_there("/sys/bus"):
            return unknown("no /sys/bus", "a mounted /sys", _WANTED)
        found, unread = [], []
        for name in host.names(_DEVICES):
            kind = host.number(f"{_DEVICES}/{name}/device")
            if kind is None:
                unread.append(name)
            elif kind in (_BALLOON, _MEM) and host.is_there(f"{_DEVICES}/{name}/driver"):
                found.append(_described(host, situation, name, kind))
        if found:
            return failed("; ".join(found), _WANTED)
        if unread:
            return unknown(f"type of {' '.join(unread)}", f"a readable {_DEVICES}", _WANTED)
        return passed(f"none among {len(host.names(_DEVICES))} virtio devices", _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """Only the host can take the device away."""
        return (
            Remedy(
                "G06-by-hand",
                "give the guest its memory for good",
                by_hand="on the host: QEMU without -device virtio-balloon and virtio-mem, or "
                "free-page-reporting=off; libvirt <memballoon model='none'/>; all memory "
                "preallocated and locked",
                cost="memory the guest does not use is lost to other guests",
                rollback=Rollback.REBOOT,
            ),
        )


def _described(host: Host, situation: Situation, name: str, kind: int) -> str:
    if kind == _MEM:
        return f"{name}: virtio-mem"
    # One character per bit, the lowest first.
    features = host.read(f"{_DEVICES}/{name}/features") or ""
    if features[_REPORTING_BIT : _REPORTING_BIT + 1] != "1":
        reporting = "without" if features else "perhaps with"
        return f"{name}: balloon, {reporting} free page reporting"
    row = f"{name}-reporting_vq"
    times = interrupts(host.read(INTERRUPTS), row)
    before = interrupts(situation.watched.before.get(INTERRUPTS), row)
    after = interrupts(situation.watched.after.get(INTERRUPTS), row)
    text = f"{name}: balloon with free page reporting"
    if times is not None:
        text += f", {times} interrupts since boot"
    if before is not None and after is not None:
        text += f", {after - before} while watched"
    return text


CHECK = _MemoryReturned()
