"""The command line this kernel was booted with, as checks ask for it."""

from dataclasses import dataclass

from taut.core.cpus import CpuSet, cores_in
from taut.host.checks.kernel._shape import CPU
from taut.host.host import Host
from taut.host.kernel_parameters.command_line import Parameter, parse_command_line
from taut.host.kernel_parameters.cpu_list import parse_kernel_cpu_list
from taut.host.kernel_parameters.values import split_flags

PATH = "/proc/cmdline"


@dataclass(frozen=True)
class Isolation:
    """One isolcpus=: without flags it means domain."""

    flags: tuple[str, ...]
    cores: CpuSet | None
    """None: the kernel cannot read the list."""


def find(host: Host, name: str) -> list[Parameter]:
    """Give every parameter of a name, written with `_`; none when there is no command line."""
    given = parse_command_line(host.read(PATH) or "")
    return [parameter for parameter in given if parameter.name == name]


def value(host: Host, name: str) -> str | None:
    """Give the last value of a name, "" where it has none; None: not given."""
    found = find(host, name)
    return (found[-1].value or "") if found else None


def isolations(host: Host) -> list[Isolation]:
    """Give every isolcpus=."""
    found = []
    for parameter in find(host, "isolcpus"):
        split = split_flags(parameter)
        found.append(Isolation(tuple(split.flags) or ("domain",), given_cores(host, split.cores)))
    return found


def given_cores(host: Host, text: str) -> CpuSet | None:
    """Read a list of cores as the kernel reads it; None: it cannot."""
    possible = cores_in(host.read(f"{CPU}/possible")) or cores_in(host.read(f"{CPU}/online"))
    try:
        return parse_kernel_cpu_list(text, (possible or (0,))[-1] + 1)
    except ValueError:
        return None
