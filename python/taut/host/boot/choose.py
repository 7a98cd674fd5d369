"""What a host should do at every boot: from the checks that failed, and from what already helps."""

from collections.abc import Collection, Iterator, Sequence

from taut.core.errors import InputError
from taut.host.boot.command_line import for_kernel
from taut.host.boot.item import BootItem, KernelParameter, ModuleOption, Sysctl, SysfsValue
from taut.host.boot.others import placed_line
from taut.host.boot.systemd import hold_back_path
from taut.host.boot.wish import BootWish
from taut.host.check import Profile, Remedy, State
from taut.host.host import Host
from taut.host.journal import Journal, boot_id
from taut.host.settings.file import FileSetting
from taut.host.settings.held_latency import HeldLatency
from taut.host.situation import Situation
from taut.host.table import Check

_SWITCHES = {"Y": "1", "N": "0"}
"""How the kernel shows an option that is on or off, whatever it was loaded with."""


def choose_wishes(
    checks: Sequence[Check],
    host: Host,
    situation: Situation,
    profile: Profile,
    only: Collection[str] | None = None,
) -> list[BootWish]:
    """Give every boot item of the profile; `only`: of these checks or remedies, whatever profile.

    Items of a check that passes stay if they are in force, or if an apply of this boot made it
    pass: before and after a reboot with taut's parameters the same ones are chosen again. Items
    whose advice is contradicted elsewhere are left out unless they are named, as in a plan.
    """
    wishes = []
    applied = _applied(host)
    for check, state, remedy in _remedies(checks, host, situation, profile, only):
        is_due = state is State.FAIL or not applied.isdisjoint((check.id, remedy.now_by))
        # Of parameters that belong together, as size and number of huge pages, all or none.
        parameters = [item for item in remedy.boot if isinstance(item, KernelParameter)]
        are_parameters = all(is_in_force(host, item) for item in parameters)
        for item in remedy.boot:
            stays = are_parameters if item in parameters else is_in_force(host, item)
            if is_due or stays:
                wishes.append(BootWish(item, check.why, remedy.id))
    return wishes


def choose_hold_us(
    checks: Sequence[Check],
    host: Host,
    situation: Situation,
    profile: Profile,
    only: Collection[str] | None = None,
) -> int | None:
    """Give the wake-up latency in us that a service should hold; None: no remedy asks for one."""
    for _, _, remedy in _remedies(checks, host, situation, profile, only):
        for change in remedy.changes:
            if isinstance(change.setting, HeldLatency) and change.wanted.isdecimal():
                return int(change.wanted)
    return None


def _remedies(
    checks: Sequence[Check],
    host: Host,
    situation: Situation,
    profile: Profile,
    only: Collection[str] | None,
) -> Iterator[tuple[Check, State, Remedy]]:
    for check in checks:
        state = check.inspect(host, situation).state
        if state is State.NOT_APPLICABLE:
            continue
        for remedy in check.propose(host, situation):
            is_of_profile = remedy.profile <= profile and not remedy.measure
            is_named = not {check.id, remedy.id}.isdisjoint(only or ())
            if is_of_profile if only is None else is_named:
                yield check, state, remedy


def _applied(host: Host) -> set[str]:
    """Ids of the checks whose remedies were applied in this boot, and not taken back."""
    try:
        entries = Journal(host).load().entries
    except (InputError, OSError):
        return set()  # Another machine's journal, or not ours to read.
    boot = boot_id(host)
    return {
        entry.remedy.partition("-")[0]
        for entry in entries
        if entry.boot == boot and entry.is_written and not entry.refusal
    }


def is_in_force(host: Host, item: BootItem) -> bool:
    """Whether a host has an item already.

    For a parameter: whether it was booted with that name, or taut placed it for the next boot. A
    value that is somebody else's is theirs to keep: then it has to be the same one.
    """
    match item:
        case KernelParameter():
            placed = _words(placed_line(host))
            booted = _words(host.read("/proc/cmdline") or "")
            (word,) = _words(str(item))
            if item.value is None or _name(word) in map(_name, placed):
                return _name(word) in map(_name, [*placed, *booted])
            return word in booted
        case Sysctl():
            path = f"/proc/sys/{item.key.replace('.', '/')}"
            return FileSetting(path, item.form).agrees(host.read(path), item.value)
        case SysfsValue():
            return FileSetting(item.path, item.form).agrees(host.read(item.path), item.value)
        case ModuleOption():
            folder = f"/sys/module/{item.module.replace('-', '_')}/parameters"
            shown = host.read(f"{folder}/{item.option}") or ""
            return item.value in (shown, _SWITCHES.get(shown))
        case _:
            state = host.command("systemctl", "is-enabled", item.unit)
            if item.is_enabled:
                return state == "enabled"
            return state in ("disabled", "masked") or host.is_there(hold_back_path(item.unit))


def _words(line: str) -> list[str]:
    """Part what the kernel reads; it takes - and _ for the same."""
    return for_kernel(line)[0].replace("-", "_").split()


def _name(word: str) -> str:
    return word.partition("=")[0]
