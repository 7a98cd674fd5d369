"""What a host should do at every boot: from the checks that failed, and from what already helps."""

from collections.abc import Iterator, Sequence

from taut.host.boot.command_line import for_kernel
from taut.host.boot.item import BootItem, KernelParameter, ModuleOption, Sysctl, SysfsValue
from taut.host.boot.systemd import hold_back_path
from taut.host.boot.wish import BootWish
from taut.host.check import Profile, Remedy, State
from taut.host.host import Host
from taut.host.settings.held_latency import HeldLatency
from taut.host.situation import Situation
from taut.host.table import Check


def choose_wishes(
    checks: Sequence[Check], host: Host, situation: Situation, profile: Profile
) -> list[BootWish]:
    """Give every boot item of the profile.

    Items of a check that passes stay if they are in force: after a reboot with taut's parameters
    the same ones are chosen again. Items whose advice is contradicted elsewhere are left out, as in
    a plan.
    """
    wishes = []
    for check, state, remedy in _remedies(checks, host, situation, profile):
        wishes += [
            BootWish(item, check.why, remedy.id)
            for item in remedy.boot
            if state is State.FAIL or is_in_force(host, item)
        ]
    return wishes


def choose_hold_us(
    checks: Sequence[Check], host: Host, situation: Situation, profile: Profile
) -> int | None:
    """Give the wake-up latency in us that a service should hold; None: no remedy asks for one."""
    for _, _, remedy in _remedies(checks, host, situation, profile):
        for change in remedy.changes:
            if isinstance(change.setting, HeldLatency) and change.wanted.isdecimal():
                return int(change.wanted)
    return None


def _remedies(
    checks: Sequence[Check], host: Host, situation: Situation, profile: Profile
) -> Iterator[tuple[Check, State, Remedy]]:
    for check in checks:
        state = check.inspect(host, situation).state
        if state is State.NOT_APPLICABLE:
            continue
        for remedy in check.propose(host, situation):
            if remedy.profile <= profile and not remedy.measure:
                yield check, state, remedy


def is_in_force(host: Host, item: BootItem) -> bool:
    """Whether a host has an item already; for a parameter, whether it was booted with that name."""
    match item:
        case KernelParameter():
            words = for_kernel(host.read("/proc/cmdline") or "")[0].replace("-", "_").split()
            return item.name.replace("-", "_") in {word.partition("=")[0] for word in words}
        case Sysctl():
            return host.read(f"/proc/sys/{item.key.replace('.', '/')}") == item.value
        case SysfsValue():
            return host.read(item.path) == item.value
        case ModuleOption():
            folder = f"/sys/module/{item.module.replace('-', '_')}/parameters"
            return host.read(f"{folder}/{item.option}") == item.value
        case _:
            state = host.command("systemctl", "is-enabled", item.unit)
            if item.is_enabled:
                return state == "enabled"
            return state in ("disabled", "masked") or host.is_there(hold_back_path(item.unit))
