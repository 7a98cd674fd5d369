"""A kernel command line, cut into parameters as the kernel cuts it (next_arg of lib/cmdline.c)."""

import re
import shlex
from dataclasses import dataclass

from taut.core.errors import InputError

_WORDS = re.compile(r'(?:"[^"]*(?:"|$)|[^\s"])+')
_ASSIGNED = re.compile(
    r"^\s*(?:export\s+)?(?:GRUB_CMDLINE_LINUX(?:_DEFAULT)?|TUNED_BOOT_CMDLINE)\+?=(.*)$"
)
_BOOT_ENTRY = re.compile(r"^options\s+(.*)$")
# Far more than any kernel keeps: such a file is no command line.
_MAX_CHARACTERS = 65536


@dataclass(frozen=True)
class Parameter:
    """One word of a kernel command line; `value` is None where no `=` follows the name."""

    text: str
    """The word as written."""
    name: str
    """With `_` for `-`: the kernel takes both alike."""
    value: str | None


def parse_command_line(text: str) -> list[Parameter]:
    """Cut a command line into parameters; what follows `--` is for init and left out."""
    parameters = []
    for word in _WORDS.findall(text.replace("\0", " ")):
        if word == "--":
            break
        parameters.append(_parameter(word))
    return parameters


def command_line_of_file(text: str) -> str:
    """Take it out of a file: /proc/cmdline, a boot entry, or what GRUB and tuned make it of."""
    if len(text) > _MAX_CHARACTERS or "\0" in text.strip("\0"):
        raise InputError("is no command line; give a file like /proc/cmdline or /etc/default/grub")
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    assigned = [found[1] for line in lines if (found := _ASSIGNED.match(line))]
    entries = [found[1] for line in lines if (found := _BOOT_ENTRY.match(line))]
    if assigned:
        return " ".join(map(_unquoted, assigned))
    return " ".join(entries or lines)


def _parameter(word: str) -> Parameter:
    # A quote may enclose the whole word or its value only.
    bare = word[1:].removesuffix('"') if word.startswith('"') else word
    name, equals, value = bare.partition("=")
    if value.startswith('"'):
        value = value[1:].removesuffix('"')
    return Parameter(word, name.replace("-", "_"), value if equals else None)


def _unquoted(shell: str) -> str:
    """What the shell makes of the right side of an assignment; variables are left out."""
    try:
        words = shlex.split(shell, comments=True)
    except ValueError as error:
        raise InputError(f"{shell.strip()[:60]!r}: {error}; close the quote") from None
    return re.sub(r"\$\w+|\$\{[^}]*\}", "", " ".join(words))
