"""A profile of tuned: what it sets at boot, and what it keeps while it runs."""

from collections.abc import Sequence

from taut.host.boot.command_line import command_line, merge_parameters
from taut.host.boot.context import BootContext
from taut.host.boot.item import ModuleOption, Sysctl, SysfsValue, UnitState
from taut.host.boot.wish import BootWish, one_line, wishes_of
from taut.host.host import Host

PROFILE = "taut"
PATHS = tuple(f"{folder}/{PROFILE}/tuned.conf" for folder in ("/etc/tuned", "/etc/tuned/profiles"))
"""Where an apply puts it, by the version of tuned."""

# tuned adds up every option that begins with cmdline.
_CMDLINE = "cmdline_taut=+"
_INCLUDE = "include="
_ACTIVE = "/etc/tuned/active_profile"
_MAIN = """\
# Written by taut; taken up with `tuned-adm profile {name}`: options of modules and the command line
# count from the next boot on, all else at once. To take it back: `{back}`.
# A tuned that knows no list in `include` says so: name one profile there then.
[main]
summary=What taut wants of a {role}
"""


def tuned_files(wishes: Sequence[BootWish], context: BootContext) -> dict[str, str]:
    """Give the profile's folder."""
    parameters = merge_parameters(wishes, context.online, context.others)
    below = context.tuned_profiles
    text = _MAIN.format(name=PROFILE, role=context.role, back=command_back(below))
    # What is in force stays so: tuned has one profile at a time. Of the same key ours wins.
    text += f"{_INCLUDE}{','.join(below)}\n" if below else ""
    text += _section(
        "bootloader",
        [(f"{_CMDLINE}{command_line(parameters)}", "")] if parameters else [],
    )
    text += _section(
        "sysctl", [(f"{s.key}={s.value}", reason) for s, reason in wishes_of(wishes, Sysctl)]
    )
    text += _section(
        "sysfs", [(f"{s.path}={s.value}", reason) for s, reason in wishes_of(wishes, SysfsValue)]
    )
    text += _section("modules", _modules(wishes))
    text += _section(
        "service",
        [
            (
                f"service.{_service(s.unit)}={'start,enable' if s.is_enabled else 'stop,disable'}",
                why,
            )
            for s, why in wishes_of(wishes, UnitState)
        ],
    )
    return {f"{context.tuned_folder}/{PROFILE}/tuned.conf": text}


def profiles_besides(host: Host) -> tuple[str, ...]:
    """Name the profiles that tuned has in force, or had before it took up taut's."""
    active = (host.read(_ACTIVE) or "").split()
    others = tuple(name for name in active if name != PROFILE)
    if PROFILE not in active:
        return others
    lines = [line for path in PATHS for line in (host.read(path) or "").splitlines()]
    found = next((line for line in lines if line.startswith(_INCLUDE)), _INCLUDE)
    return (*filter(None, found.removeprefix(_INCLUDE).split(",")), *others)


def command_back(profiles: Sequence[str]) -> str:
    """Give the command that ends taut's profile."""
    return f"tuned-adm profile {' '.join(profiles)}" if profiles else "tuned-adm off"


def placed_line(text: str) -> str:
    """Give the parameters in a profile as it was written; empty: none."""
    found = (line for line in text.splitlines() if line.startswith(_CMDLINE))
    return next(found, "").removeprefix(_CMDLINE)


def _modules(wishes: Sequence[BootWish]) -> list[tuple[str, str]]:
    """One line per module: its options stand behind each other."""
    options: dict[str, list[str]] = {}
    reasons: dict[str, list[str]] = {}
    for item, reason in wishes_of(wishes, ModuleOption):
        options.setdefault(item.module, []).append(f"{item.option}={item.value}")
        reasons.setdefault(item.module, []).append(reason)
    return [
        (f"{module}={' '.join(words)}", "; ".join(reasons[module]))
        for module, words in options.items()
    ]


def _service(unit: str) -> str:
    return unit.removesuffix(".service")


def _section(name: str, lines: Sequence[tuple[str, str]]) -> str:
    if not lines:
        return ""
    body = "".join(
        (f"# {one_line(reason)}\n" if reason else "") + f"{line}\n" for line, reason in lines
    )
    return f"\n[{name}]\n{body}"
