"""What this kernel was told on its command line, and what it said of it while it booted."""

import re
from dataclasses import dataclass

from taut.core.cpus import CpuSet
from taut.host.boot.item import KernelParameter
from taut.host.kernel_parameters.command_line import Parameter, parse_command_line
from taut.host.kernel_parameters.cpu_list import parse_kernel_cpu_list
from taut.host.kernel_parameters.values import split_flags
from taut.host.view import CPU, View

CMDLINE = "/proc/cmdline"
_FIRST = "Linux version "


@dataclass(frozen=True)
class Isolation:
    """One isolcpus=: without flags it means domain."""

    flags: tuple[str, ...]
    cores: CpuSet | None
    """None: the kernel cannot read the list."""


def need_command_line(see: View) -> str:
    """Give the command line; CannotJudge: there is none."""
    text = see.read(CMDLINE)
    if text is None:
        see.cannot_tell("no command line", f"a readable {CMDLINE}")
    return text


def parameters(see: View, name: str) -> list[Parameter]:
    """Give every parameter of a name, written with `_`; none when there is no command line."""
    given = parse_command_line(see.read(CMDLINE) or "")
    return [parameter for parameter in given if parameter.name == name]


def value(see: View, name: str) -> str | None:
    """Give the last value of a name, "" where it has none; None: not given."""
    found = parameters(see, name)
    return (found[-1].value or "") if found else None


def booted_with(see: View, wanted: KernelParameter) -> bool:
    """Whether the command line has it already, with this value; a list, whichever cores are in it.

    Such a one is proposed again, for the boot configuration that is written next replaces this one.
    """
    (ours,) = parse_command_line(str(wanted))
    given = parameters(see, ours.name)
    return any(one.value == ours.value for one in given) or bool(wanted.cores and given)


def isolations(see: View) -> list[Isolation]:
    """Give every isolcpus= of the command line; none when there is no command line."""
    found = []
    for parameter in parameters(see, "isolcpus"):
        split = split_flags(parameter)
        found.append(Isolation(tuple(split.flags) or ("domain",), given_cores(see, split.cores)))
    return found


def given_cores(see: View, text: str) -> CpuSet | None:
    """Read a list of cores as the kernel reads it; None: it cannot."""
    possible = see.list_of_cores(f"{CPU}/possible") or see.list_of_cores(f"{CPU}/online")
    try:
        return parse_kernel_cpu_list(text, (possible or (0,))[-1] + 1)
    except ValueError:
        return None


def boot_log(see: View) -> str | None:
    """Give the kernel's log; None where it is unreadable or no longer holds the boot."""
    text = see.command("dmesg")
    return text if text is not None and _FIRST in text else None


def boot_lines(see: View, words: str) -> list[str]:
    """Give the log's lines that hold the words, without their stamp."""
    lines = (boot_log(see) or "").splitlines()
    return [re.sub(r"^\[[^]]*\]\s*", "", line) for line in lines if words in line]


def log_lines(see: View) -> list[str]:
    """Give all lines of the kernel's log without their stamp; none: not readable."""
    lines = (see.command("dmesg") or "").splitlines()
    return [line.partition("] ")[2] or line for line in lines]
