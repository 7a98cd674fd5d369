"""kernel-install and boot loader entries (BLS), as Fedora, RHEL and systemd-boot configure it.

/etc/kernel/cmdline is what the next kernel is installed with; entries are those installed now. The
rescue entry boots as before, as GRUB's recovery entry does (grub.py).
"""

from collections.abc import Sequence

from taut.host.boot.command_line import Reasoned, merge_parameters, replaced, without
from taut.host.boot.context import BootContext
from taut.host.boot.wish import BootWish

PATH = "/etc/kernel/cmdline"
_RESCUE = "-0-rescue.conf"
"""Ends the name of the entry that dracut makes to boot from where no other does."""
# What the boot loader adds by itself; kernel-install takes them out as well.
_LOADERS = ("BOOT_IMAGE=", "initrd=")


def bls_files(wishes: Sequence[BootWish], context: BootContext) -> dict[str, str]:
    """Give the command line of future kernels, and every entry with its options replaced."""
    parameters = merge_parameters(wishes, context.online, context.others)
    if not parameters:
        return {}
    own = " ".join(word for word in context.cmdline.split() if not word.startswith(_LOADERS))
    entries = {
        path: _entry(text, parameters)
        for path, text in context.entries.items()
        if not path.endswith(_RESCUE)
    }
    return {PATH: f"{replaced(own, parameters)}\n", **entries}


def options_line(options: str, parameters: Sequence[Reasoned]) -> str:
    """Give the options line of an entry; $kernelopts and the like stay."""
    return f"options {replaced(options, parameters)}"


def _entry(text: str, parameters: Sequence[Reasoned]) -> str:
    """Replace parameters: several options lines are one command line; ours go into the last one."""
    lines = text.splitlines()
    places = [i for i, line in enumerate(lines) if line.split()[:1] == ["options"]]
    for i in places[:-1]:
        lines[i] = f"options {without(_options(lines[i]), parameters)}".rstrip()
    if places:
        lines[places[-1]] = options_line(_options(lines[places[-1]]), parameters)
    else:
        lines.append(options_line("", parameters))
    return "\n".join(lines) + "\n"


def _options(line: str) -> str:
    return line.strip().removeprefix("options").strip()
