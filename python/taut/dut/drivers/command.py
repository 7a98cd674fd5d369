"""command: any program of the user's, started, watched and stopped as a device under test."""

import os
import re
import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self, cast

from pydantic import Field, StrictInt, field_validator

from taut.core.cpus import CpuSet, format_cpu_list
from taut.core.errors import InputError, TrialError
from taut.core.units import parse_duration_ns
from taut.dut.driver import DriverOptions
from taut.dut.process_dut import ProcessDut
from taut.host.situation import Waiting
from taut.testbed.carriers import kill_carriers
from taut.testbed.link import Link
from taut.testbed.links import LINKS
from taut.testbed.process import Child, child
from taut.testbed.scope import RunScope

_LINKS = ("memif", "veth", "xdp", "pci")
_N_LINKS = 2
_HUGEPAGE_BYTES = 2 << 20
_PLACEHOLDER = re.compile(r"\{([a-z_]+\d?)\}")
# What taut fills in of each of its links, and of which kinds of link it knows that.
_OF_A_LINK = {"port": _LINKS, "if": ("veth", "xdp"), "socket": ("memif",)}
_KNOWN = {f"{what}{i}": links for i in range(_N_LINKS) for what, links in _OF_A_LINK.items()}
_KNOWN |= dict.fromkeys(("core", "log_dir", "prefix"), _LINKS)
_MARK = "TAUT_DEVICE"
"""In the environment of all that the program starts, with the id of the run, and nowhere else."""


_MOST_HASHED_BYTES = 64 << 20


class CommandOptions(DriverOptions):
    """The program and how to tell that it is ready.

    Placeholders in `argv`: {port0} {port1} (as taut names ports), {if0} {if1} (network
    interfaces), {socket0} {socket1} (memif), {core}, {log_dir}, {prefix} (a DPDK file prefix).
    """

    argv: tuple[str, ...] = Field(
        min_length=1,
        description="program and arguments; a script calls the program with `exec`, or the shell is"
        " taken for the device",
    )
    ready: str | None = Field(
        None, description="regular expression in its output that says it is ready"
    )
    ready_delay: str = Field("500ms", description="how long to wait where no `ready` is given")
    stop_signal: str = Field("SIGINT", description="signal that ends it politely")
    version: str = Field("unknown", description="its version, for the results")
    hugepages: StrictInt = Field(
        0, ge=0, le=1 << 20, description="hugepages of 2 MB it wants; at most half of what is free"
    )
    waits: Waiting = Field(
        Waiting.SLEEPS,
        description="polls or sleeps: what it does while no packet comes; decides what"
        " `taut host` advises",
    )

    @classmethod
    def example(cls) -> Self:
        """A program that every machine has."""
        return cls.model_validate({"argv": ("true",)})

    @field_validator("argv")
    @classmethod
    def _are_known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        unknown = next((name for name in _names_in(value) if name not in _KNOWN), None)
        if unknown is not None:
            known = " ".join(f"{{{name}}}" for name in _KNOWN)
            raise ValueError(f"unknown placeholder {{{unknown}}}; known are {known}")
        return value

    @field_validator("ready")
    @classmethod
    def _is_pattern(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                re.compile(value)
            except re.error as error:
                raise ValueError(f"no regular expression: {error}") from None
        return value

    @field_validator("ready_delay")
    @classmethod
    def _is_duration(cls, value: str) -> str:
        try:
            parse_duration_ns(value)
        except InputError as error:
            raise ValueError(str(error)) from None
        return value

    @field_validator("stop_signal")
    @classmethod
    def _is_signal(cls, value: str) -> str:
        if value not in signal.Signals.__members__:
            raise ValueError(f"no signal {value!r}; write SIGINT or SIGTERM")
        return value

    @property
    def told_version(self) -> str:
        """As the options say."""
        return self.version

    @property
    def program(self) -> str | None:
        """The first word of argv."""
        return self.argv[0]

    @property
    def programs(self) -> tuple[Path, ...]:
        """The program, and what words of argv name: a script, a configuration."""
        found = shutil.which(self.argv[0])
        given = (Path(word) for word in self.argv[1:] if _is_file(word))
        # What is larger is data, as a disk of a machine: not to be read whole before each run.
        own = [path for path in given if path.stat().st_size <= _MOST_HASHED_BYTES]
        return (*([Path(found)] if found and _is_file(found) else []), *own)

    def refuses_link(self, link: str) -> str | None:
        """A placeholder that nothing stands for over that link."""
        for name in _names_in(self.argv):
            if link not in _KNOWN[name]:
                only = " and ".join(_KNOWN[name])
                return f"argv: {{{name}}} is of {only} only; {{port{name[-1]}}} is of every link"
        return None

    def refuses_memory(self, free_bytes: int) -> str | None:
        """More hugepages than half of it: megabytes where pages were asked for, most likely."""
        most = free_bytes // 2 // _HUGEPAGE_BYTES
        if self.hugepages <= most:
            return None
        return (
            f"hugepages = {self.hugepages} of 2 MB are more than half of the memory that is free; "
            f"give pages, not MB, {most} at most, or 0 where they are reserved already"
        )


class CommandDriver:
    """Runs a program with the names of two ports filled into its arguments."""

    name = "command"
    summary = "any program, with its ports' names filled in"
    n_links = _N_LINKS
    link_kinds = _LINKS
    options_type: type[DriverOptions] = CommandOptions

    def missing(self, options: DriverOptions) -> str | None:
        """The program, when PATH has none of that name."""
        program = cast(CommandOptions, options).argv[0]
        if shutil.which(program) is None:
            return f"command {program}: program not found; check the first word of argv"
        return None

    def version(self) -> str:
        """`unknown`: how a program tells its version is not known, but the options may say it."""
        return "unknown"

    def hugepages(self, options: DriverOptions) -> int:
        """As the options say."""
        return cast(CommandOptions, options).hugepages

    def waits(self, options: DriverOptions) -> Waiting:
        """As the options say; without that option, it sleeps.

        Most programs sleep until a packet wakes them. If this one polls after all, advice for
        a program that sleeps does no harm: its core never idles.
        """
        return cast(CommandOptions, options).waits

    @contextmanager
    def running(
        self,
        links: Sequence[Link],
        cores: CpuSet,
        options: DriverOptions,
        log_dir: Path,
        scope: RunScope,
    ) -> Iterator[ProcessDut]:
        """Start it; entered when its output matches `ready`, or after `ready_delay`."""
        asked = cast(CommandOptions, options)
        with (
            _none_left(scope),
            child(
                Path(asked.argv[0]).name,
                fill_in(asked.argv, links, cores, log_dir, scope),
                scope=scope,
                cores=cores,
                netns=links[0].device_netns,
                log=log_dir / "command.log",
                keep_stdin_open=True,
                line_buffered=True,
                environment={_MARK: scope.id},
            ) as process,
        ):
            _wait_ready(process, asked)
            dut = ProcessDut(
                process,
                path=LINKS[links[0].kind].path,
                stop_signal=signal.Signals[asked.stop_signal],
            )
            yield dut
            dut.stop()


@contextmanager
def _none_left(scope: RunScope) -> Iterator[None]:
    """End what the program started in sessions of their own, as a daemon is."""
    try:
        yield
    finally:
        kill_carriers(_MARK, scope.id)


def fill_in(
    argv: Sequence[str], links: Sequence[Link], cores: CpuSet, log_dir: Path, scope: RunScope
) -> list[str]:
    """Replace the placeholders, which `CommandOptions` has checked; braces of JSON are none."""
    values = {
        "core": format_cpu_list(cores),
        "log_dir": str(log_dir),
        "prefix": scope.file_prefix("command"),
    }
    for i, link in enumerate(links):
        values[f"port{i}"] = link.device_port
        values[f"if{i}"] = link.device_ifname or ""
        values[f"socket{i}"] = str(link.socket or "")
    return [_PLACEHOLDER.sub(lambda match: values[match[1]], argument) for argument in argv]


def _is_file(word: str) -> bool:
    """Whether it names a file that can be read; words may be no paths at all."""
    try:
        return Path(word).is_file() and os.access(word, os.R_OK)
    except OSError:
        return False


def _names_in(argv: Sequence[str]) -> Iterator[str]:
    return (name for argument in argv for name in _PLACEHOLDER.findall(argument))


def _wait_ready(process: Child, options: CommandOptions) -> None:
    if options.ready is not None:
        process.wait_ready(options.ready)
        return
    if process.wait(parse_duration_ns(options.ready_delay) / 1e9) is not None:
        raise TrialError(f"{process.name}: {process.describe_end()} at start", process.tail())
