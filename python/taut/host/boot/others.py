"""Lists of cores that the command line has from others than taut: they hold beside its own.

What taut placed does not count, for this boot or an earlier one: else no list would ever shrink.
"""

from collections.abc import Iterable
from dataclasses import replace

from taut.core.errors import InputError
from taut.host.boot.bls import PATH as KERNEL_INSTALL
from taut.host.boot.command_line import LISTS, set_apart
from taut.host.boot.entries import is_boot_entry
from taut.host.boot.grub import PATH as GRUB
from taut.host.boot.grub import placed_line as grub_line
from taut.host.boot.item import KernelParameter
from taut.host.boot.tuned import PATHS as TUNED
from taut.host.boot.tuned import placed_line as tuned_line
from taut.host.host import Host
from taut.host.journal import Journal
from taut.host.journal_lines import Entry
from taut.host.kernel_parameters.command_line import (
    Parameter,
    command_line_of_file,
    parse_command_line,
)
from taut.host.kernel_parameters.cpu_list import parse_kernel_cpu_list
from taut.host.kernel_parameters.values import split_flags
from taut.host.settings.placed_file import PlacedFile
from taut.host.situation import Situation

# GRUB's own files still say what a drop-in of taut's takes out.
_GRUB_FILES = ("/etc/default/grub", "/etc/default/grub.d/*.cfg")
_POSSIBLE = "/sys/devices/system/cpu/possible"


def lists_of_others(host: Host) -> tuple[KernelParameter, ...]:
    """Give each list once; what the kernel cannot read is left out.

    Of files that taut replaced, the journal has the texts of before.
    """
    ours, replaced = _placed(host)
    found = _lists(host, "/proc/cmdline", KERNEL_INSTALL) - ours | replaced
    grub = [path for pattern in _GRUB_FILES for path in host.paths(pattern) if path != GRUB]
    return _read(host, found | _lists(host, *grub))


def at_next_boot(host: Host, situation: Situation) -> Situation:
    """Give the situation with the cores that others set apart at boot, and no more taut's own."""
    ours, others = set_apart(_read(host, _placed(host)[0])), set_apart(lists_of_others(host))
    apart = set(situation.apart) - ours | others
    return replace(situation, apart=tuple(sorted(apart)))


def placed_line(host: Host) -> str:
    """Give the parameters that taut placed for the next boot, where a file has them alone."""
    return " ".join(_line(path, host.read(path) or "") for path in (GRUB, *TUNED))


def _placed(host: Host) -> tuple[set[Parameter], set[Parameter]]:
    """Give the lists that taut placed, and those that it replaced in other people's files."""
    ours, replaced = set(_lists_in(placed_line(host))), set[Parameter]()
    entries = _entries(host)
    for generation in sorted({entry.generation for entry in entries}):
        these = [entry for entry in entries if entry.generation == generation]
        replaced |= {each for entry in these for each in _of(entry, entry.old)} - ours
        ours |= {each for entry in these for each in _of(entry, entry.wanted)} - replaced
    return ours - replaced, replaced


def _entries(host: Host) -> list[Entry]:
    """Give what applies put where a command line is made from; none: not ours to read."""
    try:
        entries = Journal(host).load().entries
    except (InputError, OSError):
        return []
    return [
        entry
        for entry in entries
        if isinstance(entry.setting, PlacedFile)
        and (entry.setting.path in (GRUB, *TUNED, KERNEL_INSTALL) or is_boot_entry(entry.setting))
    ]


def _of(entry: Entry, text: str | None) -> set[Parameter]:
    return _lists_in(_line(entry.setting.name, text or ""))


def _lists(host: Host, *paths: str) -> set[Parameter]:
    return {each for path in paths for each in _lists_in(_line(path, host.read(path) or ""))}


def _lists_in(line: str) -> set[Parameter]:
    return {each for each in parse_command_line(line) if each.name in LISTS and each.value}


def _line(path: str, text: str) -> str:
    """Give the command line in a file; of a file of GRUB that is more of a script, none."""
    if path == GRUB:
        return grub_line(text)
    if path in TUNED:
        return tuned_line(text)
    try:
        return command_line_of_file(text)
    except InputError:
        return ""


def _read(host: Host, lists: Iterable[Parameter]) -> tuple[KernelParameter, ...]:
    n_cores = (host.cores(_POSSIBLE) or host.online_cores() or (0,))[-1] + 1
    found = []
    for each in sorted(lists, key=lambda each: each.text):
        value = split_flags(each)
        try:
            cores = parse_kernel_cpu_list(value.cores, n_cores)
        except ValueError:
            continue
        found.append(KernelParameter(each.name, flags=value.flags, cores=cores))
    return tuple(dict.fromkeys(found))
