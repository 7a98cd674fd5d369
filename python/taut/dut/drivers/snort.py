"""snort: Snort 3, the intrusion prevention system, inline between two veth links by afpacket."""

import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from taut.core.cpus import CpuSet
from taut.core.errors import TrialError
from taut.dut.driver import DriverOptions
from taut.dut.inline import InlineOptions, count_inline
from taut.dut.installed import Program, find, missing
from taut.dut.process_dut import ProcessDut
from taut.host.situation import Waiting
from taut.records.documents.trial import DutStats
from taut.testbed.link import Link
from taut.testbed.process import child
from taut.testbed.scope import RunScope
from taut.testbed.scratch import Scratch
from taut.testbed.veth_pairs import needs_root

PROGRAM = Program(
    name="snort",
    places=("snort",),
    pattern=r"Snort\+\+[\s\S]*?Version ([\d.]+)[\s\S]*?DAQ version ([\d.]+)",
    least=(3, 1),
    remedy="Debian has none; build Snort 3 as docs/devices.md says and put it on PATH",
    ask="-V",
)
# Thousands of rules take it seconds to read.
_START_S = 120.0
# Of its report at the end: a group's name, then its counters, each with its colon.
_GROUP = re.compile(r"^daq\n((?:\s+[\w ]+: [\d.]+\n)+)", re.MULTILINE)
_COUNTER = re.compile(r"(\w+(?: \w+)*): (\d+)$", re.MULTILINE)
# What becomes of a packet that it has received: all but these let it through.
_DROPS = ("block", "blacklist", "blocklist", "dropped", "internal blacklist")


class SnortOptions(InlineOptions):
    """What it does with each packet; one thread has both directions."""


class SnortDriver:
    """Runs Snort as a wire with rules between two veth links."""

    name = "snort"
    summary = "Snort 3 inline over veth (afpacket), as a wire or with rules"
    n_links = 2
    link_kinds = ("veth",)
    options_type: type[DriverOptions] = SnortOptions

    def missing(self, options: DriverOptions) -> str | None:
        """Root, the program, its module for AF_PACKET, or the rule that it refuses."""
        reason = needs_root("veth") or missing(PROGRAM)
        return reason if reason is not None else _refused(cast(SnortOptions, options))

    def version(self) -> str:
        """As the program says, with its library for packets."""
        found = find(PROGRAM)
        return "unknown" if found is None else "Snort {}, libdaq {}".format(*found.versions)

    def hugepages(self, options: DriverOptions) -> int:  # noqa: ARG002 - an interface
        return 0

    def waits(self, options: DriverOptions) -> Waiting:  # noqa: ARG002 - an interface
        """Its thread sleeps in poll() until a packet is in a ring."""
        return Waiting.SLEEPS

    @contextmanager
    def running(
        self,
        links: Sequence[Link],
        cores: CpuSet,
        options: DriverOptions,
        log_dir: Path,
        scope: RunScope,
    ) -> Iterator[ProcessDut]:
        """Start it; entered when its thread has both sockets."""
        given = cast(SnortOptions, options)
        found = find(PROGRAM)
        if found is None:
            raise TrialError(str(missing(PROGRAM)))
        log_dir.mkdir(parents=True, exist_ok=True)
        names = [str(link.device_ifname) for link in links]
        with child(
            self.name,
            [found.path, *_arguments(given, log_dir, names), "-l", str(log_dir)],
            scope=scope,
            cores=cores,
            netns=links[0].device_netns,
            log=log_dir / "snort.log",
            line_buffered=True,
        ) as process:
            process.wait_ready(r"^\+\+ \[0\]", _START_S)
            dut = ProcessDut(
                process,
                path="veth, AF_PACKET at both ends, a copy between two sockets in the device",
                notes=[f"Snort's packet thread on core {cores[0]}, its other threads, too"],
                read_stats=lambda: _count(links, process.log_text()),
            )
            yield dut
            dut.stop()


def _arguments(options: SnortOptions, folder: Path, interfaces: Sequence[str]) -> list[str]:
    """Spell what it is to do, with a configuration in `folder` that holds nothing but that."""
    config = folder / "snort.lua"
    # Without a module for them no packet meets rules, flows or protocols.
    config.write_text(_WITH_RULES if options.mode == "filter" else _WITHOUT, encoding="utf-8")
    rules = ["-R", options.rules] if options.rules else []
    return [
        *("-c", str(config), "-Q", "--daq", "afpacket", "--daq-mode", "inline", "-k", "none"),
        *("-i", ":".join(interfaces), *rules, *options.arguments),
    ]


_WITHOUT = "-- a wire: no rules\n"
_WITH_RULES = "ips = { mode = 'inline' }\n"


def _count(links: Sequence[Link], log: str) -> DutStats | None:
    told = read_counters(log)
    return None if told is None else count_inline(links, dropped_by(told), dict(told))


def read_counters(log: str) -> dict[str, int] | None:
    """Give what it says at its end of the packets it was given; None: it said nothing."""
    group = _GROUP.search(log)
    return None if group is None else {name: int(n) for name, n in _COUNTER.findall(group[1])}


def dropped_by(told: dict[str, int]) -> dict[str, int]:
    """Give why packets were not sent: blocked by rules, or not taken from a full ring."""
    return {name.replace(" ", "_"): told[name] for name in _DROPS if name in told}


def _refused(options: SnortOptions) -> str | None:
    """Have it read its configuration and rules; give the first thing that it refuses."""
    found = find(PROGRAM)
    if found is None:
        return missing(PROGRAM)
    if options.rules and not Path(options.rules).is_file():
        return f"{options.rules}: no such file of rules"
    with Scratch("snort", sweeping=False) as folder:
        done = subprocess.run(
            [found.path, "-q", "-T", *_arguments(options, folder, ("a", "b"))],
            capture_output=True,
            text=True,
            check=False,
        )
    return None if done.returncode == 0 else why_refused(options.rules, done.stdout + done.stderr)


def why_refused(rules: str, said: str) -> str:
    """Put what it says of a bad rule, or of a module that it lacks, into one line."""
    errors = [line[7:].strip() for line in said.splitlines() if line.startswith("ERROR: ")]
    if not errors:
        return f"snort: it refuses {rules or 'its configuration'}; `snort -T` says why"
    place = re.match(r"(\S+:\d+) (.*)", errors[0])
    if place is not None and rules:
        return f"{place[1]}: {place[2].rstrip('.')}; correct the rule or leave it out"
    return f"snort: {errors[0]}; docs/devices.md says how it is built"
