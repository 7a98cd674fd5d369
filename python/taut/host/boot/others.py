"""Lists of cores that others than taut gave the next boot's command line: they hold beside ours.

What taut placed does not count, for this boot or an earlier one: else no list would ever shrink.
Nor does what was booted, where files tell all of the next boot's: it may be taken back since.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from taut.core.errors import InputError
from taut.host.boot.bls import PATH as KERNEL_INSTALL
from taut.host.boot.command_line import LISTS, set_apart
from taut.host.boot.entries import ENTRIES, is_boot_entry
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
from taut.host.view import NOHZ_FULL

# GRUB's own files still say what a drop-in of taut's takes out.
_GRUB_FILES = ("/etc/default/grub", "/etc/default/grub.d/*.cfg")
_ENTRY_FILES = (KERNEL_INSTALL, *ENTRIES)
# What tuned adds to them, and to entries, as $tuned_params.
_BY_TUNED = "/etc/tuned/bootcmdline"
_OPTIONS = re.compile(r"^\s*options\s", re.MULTILINE)
# A line that has more than is read here: $kernelopts of entries, what a script finds out or takes
# in from another file.
_HAS_MORE = re.compile(
    r"^\s*(?:options\s|(?:export\s+)?GRUB_CMDLINE_LINUX)"
    r".*(?:`|\$(?!\{?(?:GRUB_CMDLINE_LINUX|tuned_params)))"
    r"|^(?:[^#\n]*(?:[;&]|then))?\s*(?:\.|source|eval)\s",
    re.MULTILINE,
)
_POSSIBLE = "/sys/devices/system/cpu/possible"


def lists_of_others(host: Host) -> tuple[KernelParameter, ...]:
    """Give each list once; what the kernel cannot read is left out.

    Of files that taut replaced, the journal has the texts of before.
    """
    ours, replaced = _placed(host)
    grub = [path for path in _paths(host, *_GRUB_FILES) if path != GRUB]
    entries = _paths(host, *_ENTRY_FILES)
    booted = () if _tell_all(host, [*grub, *entries]) else ("/proc/cmdline",)
    found = _lists(host, *entries, _BY_TUNED, *booted) - ours | replaced
    return _read(host, found | _lists(host, *grub))


def at_next_boot(host: Host, situation: Situation) -> Situation:
    """Give the situation with the cores that others set apart at boot, in place of this boot's."""
    booted = {*host.isolated_cores(), *host.cores(NOHZ_FULL)}
    apart = set(situation.apart) - booted | set_apart(lists_of_others(host))
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


def _paths(host: Host, *patterns: str) -> list[str]:
    return [path for pattern in patterns for path in host.paths(pattern)]


def _tell_all(host: Host, paths: Sequence[str]) -> bool:
    """Whether these are all there are, each tells all, and one at least has a command line."""
    if any(host.is_denied(each.partition("/*")[0]) for each in (*_GRUB_FILES, *_ENTRY_FILES)):
        return False
    is_made_here = any(_has_line(host, path) for path in paths)
    return is_made_here and all(_tells_all(host, path) for path in paths)


def _has_line(host: Host, path: str) -> bool:
    """Whether it is made from a file: not from GRUB's drop-ins alone, nor an entry of a shell."""
    if path in (*_GRUB_FILES, KERNEL_INSTALL):
        return True
    return _OPTIONS.search(host.read(path) or "") is not None


def _tells_all(host: Host, path: str) -> bool:
    """Whether a file can be read, and what its command line is made of stands in it."""
    text = host.read(path)
    try:
        command_line_of_file(text or "")
    except InputError:
        return False
    return text is not None and not _HAS_MORE.search(text)


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
