"""taut-forward as a process: what drivers that start one or several of it share."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Self

from pydantic import Field, PrivateAttr, StrictInt, ValidationInfo, field_validator

from taut.binaries.describe import describe
from taut.core.asked import Asked, Option, check_understood, misunderstood, to_arguments
from taut.core.binaries import find_binary, find_binary_or_none, not_found, sha256_of
from taut.core.cpus import CpuSet
from taut.core.errors import InputError
from taut.core.units import parse_duration_ns
from taut.dut.dpdk import HUGEPAGES, without_hugepages
from taut.dut.driver import DriverOptions
from taut.dut.nf_object import files_of, object_of, seen_from
from taut.dut.process_dut import ProcessDut
from taut.dut.stamping import StampEvery, stamp_every, stamps_per_packet
from taut.dut.tables import memory_of
from taut.dut.transmit import parse_transmit, spell_transmit
from taut.dut.wait import POLL, spell_wait
from taut.records.documents.described import Described
from taut.records.documents.json_form import plain, read_document
from taut.records.documents.trial import DutStats
from taut.testbed.links import LINKS
from taut.testbed.process import child
from taut.testbed.scope import RunScope

_PROGRAM = "taut-forward"

_READ: dict[str, Callable[[str], object]] = {
    "transmit": parse_transmit,
    "wait": spell_wait,
    "gap_threshold": parse_duration_ns,
}


class TautForwardOptions(DriverOptions):
    """Options of taut-forward; `taut-forward --describe` lists the network functions."""

    nf: tuple[str, ...] = Field(
        (),
        description="network functions in order: NAME[:key=value,...], or FILE.so[:...] for one of"
        " your own; files in them are relative to the experiment's",
    )
    transmit: str = Field(
        "eager",
        description="eager, single, or buffered[:PACKETS,DRAIN] as DPDK's l2fwd (32,100us);"
        " DRAIN none: no timer",
    )
    wait: str = Field(
        "poll",
        description="what it does while no packet comes: poll, interrupt (sleep until one does), or"
        " adaptive[:TIME] (look for TIME first, or as long as the gaps between packets suggest)",
    )
    burst: StrictInt = Field(32, ge=1, le=256, description="most packets taken from a port at once")
    hold: StrictInt | None = Field(
        None,
        ge=1,
        le=1 << 20,
        description="packets network functions may hold (delay); default: the program's",
    )
    gap_threshold: str | None = Field(
        None, description="a loop iteration longer than this is a gap; default by the link"
    )
    stamp_every: StampEvery = Field(
        0,
        description="stamp one packet in so many where it comes in and where it leaves, for the"
        " latency budget; 0: none; auto: as many as a budget needs",
    )
    eal: tuple[str, ...] = Field((), description="EAL options appended after --")

    # A trial's, no experiment's: it is in no file, and no run is another one by it.
    _gaps_most: int = PrivateAttr(0)

    @property
    def waits_for_more(self) -> bool:
        """Whether it buffers without a timer: a batch then waits until it is full."""
        held = parse_transmit(self.transmit)
        return held is not None and held.drain_ns is None

    def stamping(self, n_packets: int) -> Self:
        """Choose how many packets are stamped."""
        return self.model_copy(update={"stamp_every": stamp_every(self.stamp_every, n_packets)})

    def logging(self, n_gaps: int) -> Self:
        """Bound the log of gaps."""
        found = self.model_copy()
        found._gaps_most = n_gaps
        return found

    @property
    def n_gap_logs(self) -> int:
        return 1

    @property
    def gaps_most(self) -> int:
        """How many gaps it logs; 0: all."""
        return self._gaps_most

    @property
    def stamps_per_packet(self) -> float:
        """Two for each packet that it stamps."""
        return stamps_per_packet(self.stamp_every)

    def refuses_link(self, link: str) -> str | None:
        """A packet has to wake one that sleeps."""
        waking = [kind.name for kind in LINKS.values() if kind.has_interrupts]
        if self.wait == POLL or link in waking:
            return None
        return (
            f"wait = {self.wait!r} wants receive interrupts; the links that have them: "
            f"{', '.join(waking)}"
        )

    @property
    def files(self) -> tuple[Path, ...]:
        """Shared objects, and what the router and the firewall read."""
        return tuple(path for word in self.nf for path in files_of(word))

    @classmethod
    def seen_from(cls, folder: Path, options: Mapping[str, object]) -> dict[str, object]:
        """Give the files of `nf` with their whole paths."""
        words = options.get("nf")
        if not isinstance(words, list | tuple):
            return dict(options)
        found = [seen_from(folder, word) if isinstance(word, str) else word for word in words]
        return {**options, "nf": found}

    @field_validator("transmit", "wait", "gap_threshold")
    @classmethod
    def _makes_sense(cls, text: str | None, info: ValidationInfo) -> str | None:
        """Refuse, before the run, values that the program would refuse in its trials."""
        try:
            if text is not None:
                _READ[str(info.field_name)](text)
        except InputError as error:
            raise ValueError(str(error)) from None
        return text


def missing(options: TautForwardOptions) -> str | None:
    """The program, when it is not built, or what it refuses of a network function."""
    if find_binary_or_none(_PROGRAM) is None:
        return not_found(_PROGRAM)
    return refused(options, _described()) or memory_of(options.nf, options.hold)[1]


def hugepages_of(options: TautForwardOptions) -> int:
    """For packets, those that functions hold among them, and for their tables."""
    memory_mb, _ = memory_of(options.nf, options.hold)
    return max(HUGEPAGES, (memory_mb + 1) // 2)


@contextmanager
def forwarding(
    ports: Sequence[str],
    cores: CpuSet,
    options: TautForwardOptions,
    log_dir: Path,
    scope: RunScope,
    *,
    path: str,
    netns: str | None = None,
    prefix: str = "",
) -> Iterator[ProcessDut]:
    """Start it on its ports; entered when it says that they are started.

    A port that is a memif client is started when its server is there. `prefix` begins the names
    of its files in `log_dir`, where several write theirs.
    """
    stats, gaps, stamps = (
        log_dir / f"{prefix}{name}"
        for name in ("taut-forward.json", "gaps-forwarder.bin", "stamps.bin")
    )
    writer = _writer_core(cores, scope.own_cores)
    asked = dict(_asked_of(ports, (cores[0], writer), options, stats, gaps))
    # Who starts it outside a trial says how many itself: there "auto" is none.
    every = stamp_every(options.stamp_every, 0)
    if every:
        asked["stamps"], asked["stamp-every"] = str(stamps), str(every)

    def read_stats() -> DutStats | None:
        counted = _read_stats(stats, asked, options)
        if counted is not None and counted.others.get("memory") == "no-huge":
            dut.notes.append(without_hugepages(_PROGRAM))
        return counted

    with child(
        _PROGRAM,
        _argv(asked, options.eal),
        scope=scope,
        cores=cores,
        netns=netns,
        log=log_dir / f"{prefix}taut-forward.log",
    ) as process:
        process.wait_ready(r"^taut-forward: ready")
        dut = ProcessDut(
            process,
            path=path,
            notes=_notes(options),
            gaps_file=gaps,
            stamps_file=stamps if every else None,
            read_stats=read_stats,
        )
        yield dut
        dut.stop()


def refused(options: TautForwardOptions, described: Described) -> str | None:
    """Say which word of the options the program does not know; None: it knows them all."""
    own = (word for word in options.nf if object_of(word) is None)
    asked = [("nf", described.network_functions, word) for word in own]
    for option, family, word in [*asked, ("transmit", described.transmit, options.transmit)]:
        name, _, values = word.partition(":")
        members = {member.name: member for member in family}
        if name not in members:
            return f"{_PROGRAM}: {option} {name!r}: unknown; known are {', '.join(members)}"
        known = members[name].option_names
        for i, part in enumerate(values.split(",")):
            key, equals, _ = part.partition("=")
            # A transmit policy's values may be given without their keys, in the order of the keys.
            is_in_turn = option == "transmit" and not equals and i < len(known)
            if part and not is_in_turn and key not in known:
                wanted = f"known are {', '.join(known)}" if known else "it has none"
                return f"{_PROGRAM}: {option} {name}: unknown key {key!r}; {wanted}"
    return None


def _notes(options: TautForwardOptions) -> list[str]:
    """Name the builds of shared objects: one may be built again while the run lasts."""
    found = (path for word in options.nf if (path := object_of(word)) is not None)
    return [f"{path.name}: SHA-256 {sha256_of(path)}" for path in found]


@cache
def _described() -> Described:
    return describe(_PROGRAM, Described)


def _writer_core(cores: CpuSet, own: CpuSet = ()) -> int | None:
    """Give the core that writes the log of gaps: taut's own; None: only the device's are left.

    `own`: where taut runs while it measures; empty: where it may at the moment.
    """
    return min(set(own or os.sched_getaffinity(0)) - set(cores), default=None)


def _asked_of(
    ports: Sequence[str],
    cores: tuple[int, int | None],
    options: TautForwardOptions,
    stats: Path,
    gaps: Path,
) -> Asked:
    core, writer = cores
    asked: dict[str, Option] = {
        "port": tuple(ports),
        "nf": options.nf,
        "transmit": spell_transmit(options.transmit),
        "wait": spell_wait(options.wait),
        "burst": str(options.burst),
        "core": str(core),
        "gaps": str(gaps),
        "stats": str(stats),
    }
    if options.gaps_most:
        asked["gaps-most"] = str(options.gaps_most)
    if options.hold is not None:
        asked["hold"] = str(options.hold)
    if options.gap_threshold is not None:
        asked["gap-threshold"] = f"{parse_duration_ns(options.gap_threshold)}ns"
    if writer is not None:
        asked["writer-core"] = str(writer)
    return asked


def _argv(asked: Asked, eal: Sequence[str]) -> list[str]:
    argv = [str(find_binary(_PROGRAM)), *to_arguments(asked)]
    return [*argv, "--", *eal] if eal else argv


def _read_stats(path: Path, asked: Asked, options: TautForwardOptions) -> DutStats | None:
    """Give what it counted; MissingToolError where it did another thing than it was asked to."""
    if not path.exists():
        return None
    stats = read_document(DutStats, path)
    check_understood(_PROGRAM, asked, stats.understood)
    holds = parse_transmit(options.transmit)
    if stats.holds != holds:
        raise misunderstood(_PROGRAM, "holds", plain(holds), plain(stats.holds))
    return stats
