"""A profile of tuned: what it sets at boot, and what it keeps while it runs."""

from collections.abc import Sequence

from taut.host.boot.command_line import command_line, merge_parameters
from taut.host.boot.context import BootContext
from taut.host.boot.item import ModuleOption, Sysctl, SysfsValue, UnitState
from taut.host.boot.wish import BootWish, one_line, wishes_of

PROFILE = "taut"
PATHS = tuple(f"{folder}/{PROFILE}/tuned.conf" for folder in ("/etc/tuned", "/etc/tuned/profiles"))
"""Where an apply puts it, by the version of tuned."""

# tuned adds up every option that begins with cmdline.
_CMDLINE = "cmdline_taut=+"
# What is below ours; of the same key ours wins. Not the profiles realtime-*: they need variables
# and packages of their own.
_PARENT = "network-latency"
_MAIN = """\
# Written by taut; taken up with `tuned-adm profile {name}`.
[main]
summary=What taut wants of a {role}
include={parent}
"""


def tuned_files(wishes: Sequence[BootWish], context: BootContext) -> dict[str, str]:
    """Give the profile's folder."""
    parameters = merge_parameters(wishes, context.online, context.others)
    text = _MAIN.format(name=PROFILE, role=context.role, parent=_PARENT)
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
