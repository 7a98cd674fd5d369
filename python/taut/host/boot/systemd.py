"""What systemd does at boot: units of taut's, and fragments for sysctl, tmpfiles and modprobe.

Everything is a file, so taking it back is removing files. Units are neither enabled nor disabled,
which would leave links: drop-ins of multi-user.target start them, or a condition holds them back.
"""

import re
from collections.abc import Sequence

from taut.core.cpus import format_cpu_list
from taut.core.errors import InputError
from taut.host.boot.context import BootContext
from taut.host.boot.item import ModuleOption, Sysctl, SysfsValue, UnitState
from taut.host.boot.wish import BootWish, one_line, wishes_of
from taut.host.situation import device_option

NAME = "90-taut"
_UNITS = "/etc/systemd/system"
_TARGET = f"{_UNITS}/multi-user.target.d/{NAME}.conf"
SYSCTL = f"/etc/sysctl.d/{NAME}.conf"
TMPFILES = f"/etc/tmpfiles.d/{NAME}.conf"
MODPROBE = f"/etc/modprobe.d/{NAME}.conf"
HOLD_UNIT = "taut-host-hold.service"
APPLY_UNIT = "taut-host-apply.service"

_HOLD = """\
[Unit]
Description=Keep the exit latency of idle states low (taut)

[Service]
# /dev/cpu_dma_latency counts only while it is open: this process keeps it so.
ExecStart={program} host hold --latency {hold_us}
Restart=on-failure
RestartSec=1
CPUAffinity={housekeeping}
"""
_APPLY = """\
[Unit]
Description=Tune this machine for latency (taut)
After=systemd-sysctl.service systemd-tmpfiles-setup.service network.target {hold}

[Service]
# What no parameter and no fragment can: interrupts, threads and devices that appear late. Nothing
# is taken back when it stops: every shutdown stops it, and values end with the boot anyway.
Type=oneshot
RemainAfterExit=yes
ExecStart={program} host apply --role {role}{cores}{device} --profile {profile}{only} --yes
CPUAffinity={housekeeping}
"""
_HELD_BACK = """\
# {reason}
[Unit]
# Never true: the unit is skipped at boot. To start it again, remove this file.
ConditionPathExists=!/
"""


def systemd_files(wishes: Sequence[BootWish], context: BootContext) -> dict[str, str]:
    """Give everything but the kernel parameters; InputError: systemd cannot start this taut."""
    files = {f"{_UNITS}/{APPLY_UNIT}": _unit(_APPLY, context)}
    started = [APPLY_UNIT]
    if context.hold_us is not None:
        files[f"{_UNITS}/{HOLD_UNIT}"] = _unit(_HOLD, context)
        started.append(HOLD_UNIT)
    for state, reason in wishes_of(wishes, UnitState):
        if state.is_enabled:
            started.append(state.unit)
        else:
            files[hold_back_path(state.unit)] = _HELD_BACK.format(reason=one_line(reason))
    files[_TARGET] = f"[Unit]\nWants={' '.join(started)}\n"
    return {**files, **fragments(wishes)}


def fragments(wishes: Sequence[BootWish]) -> dict[str, str]:
    """Give sysctl.d, tmpfiles.d and modprobe.d; only those with something in them."""
    texts = {
        SYSCTL: _lines([(f"{s.key} = {s.value}", why) for s, why in wishes_of(wishes, Sysctl)]),
        TMPFILES: _lines(
            [
                # w: write if it is there; % begins a specifier, so it stands twice.
                (f"w {s.path} - - - - {s.value}".replace("%", "%%"), why)
                for s, why in wishes_of(wishes, SysfsValue)
            ]
        ),
        MODPROBE: _lines(
            [
                (f"options {m.module} {m.option}={m.value}", why)
                for m, why in wishes_of(wishes, ModuleOption)
            ]
        ),
    }
    return {path: text for path, text in texts.items() if text}


def hold_back_path(unit: str) -> str:
    """Where the drop-in stands that keeps a unit from starting at boot."""
    return f"{_UNITS}/{unit}.d/{NAME}.conf"


def _unit(text: str, context: BootContext) -> str:
    cores = f" --cores {format_cpu_list(context.cores)}" if context.cores else ""
    only = f" --only {','.join(context.only)}" if context.only else ""
    # A unit must run somewhere even where nothing is said of the cores.
    housekeeping = format_cpu_list(context.housekeeping or context.online)
    filled = text.format(
        program=_executable(context.program),
        hold=HOLD_UNIT,
        hold_us=context.hold_us,
        role=context.role,
        cores=cores,
        device=device_option(context.waiting),
        profile=context.profile,
        only=only,
        housekeeping=housekeeping,
    )
    return f"{filled}\n[Install]\nWantedBy=multi-user.target\n"


def _executable(path: str) -> str:
    """Give it as ExecStart wants its first word, in which a dollar stands for itself."""
    if re.search(r"""["'\\\x00-\x1f\x7f]""", path):
        raise InputError(
            f"{path!r}: systemd starts no program with a quote, a backslash or a control character "
            "in its path; move taut, or choose --form without systemd"
        )
    word = path.replace("%", "%%")
    return f'"{word}"' if " " in word else word


def _lines(pairs: Sequence[tuple[str, str]]) -> str:
    return "".join(f"# {one_line(reason)}\n{line}\n" for line, reason in pairs)
