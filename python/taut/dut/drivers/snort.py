"""snort: Snort 3, the intrusion prevention system, inline between two veth links by afpacket."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from taut.dut.inline import InlineDriver, InlineOptions, count_inline
from taut.dut.installed import Found, Program
from taut.records.documents.trial import DutStats
from taut.testbed.link import Link
from taut.testbed.scratch import Scratch

PROGRAM = Program(
    name="snort",
    places=("snort",),
    pattern=r"Snort\+\+[\s\S]*?Version ([\d.]+)[\s\S]*?DAQ version ([\d.]+)",
    least=(3, 1),
    remedy="Debian 12 has none; build Snort 3 as docs/devices.md says and put it on PATH",
    ask="-V",
)
# Of its report at the end: a group's name, then its counters, each with its colon.
_GROUP = re.compile(r"^daq\n((?:\s+[\w ]+: [\d.]+\n)+)", re.MULTILINE)
_COUNTER = re.compile(r"(\w+(?: \w+)*): (\d+)$", re.MULTILINE)
# What becomes of a packet that it has received: all but these let it through.
_DROPS = ("block", "blacklist", "blocklist", "dropped", "internal blacklist")


class SnortOptions(InlineOptions):
    """What it does with each packet; one thread has both directions."""


class SnortDriver(InlineDriver):
    """Runs Snort as a wire with rules between two veth links."""

    name = "snort"
    summary = "Snort 3 inline over veth (afpacket), as a wire or with rules"
    options_type = SnortOptions
    program = PROGRAM
    ready = r"^\+\+ \[0\]"
    threads = "Snort's packet thread"

    def _versions(self, *versions: str) -> str:
        """Of the program, and of its library for packets."""
        return "Snort {}, libdaq {}".format(*versions)

    def _refuses(self, options: InlineOptions, found: Found) -> str | None:
        if options.rules and not Path(options.rules).is_file():
            return f"{options.rules}: no such file of rules"
        with Scratch("snort", sweeping=False) as folder:
            arguments = [*self._arguments(options, folder, ("a", "b")), *options.arguments]
            done = subprocess.run(
                [found.path, "-q", "-T", *arguments], capture_output=True, text=True, check=False
            )
        said = done.stdout + done.stderr
        return None if done.returncode == 0 else why_refused(options.rules, said)

    def _arguments(
        self, options: InlineOptions, folder: Path, interfaces: Sequence[str]
    ) -> list[str]:
        config = folder / "snort.lua"
        # Without a module for them no packet meets rules, flows or protocols.
        config.write_text(_WITH_RULES if options.mode == "filter" else _WITHOUT, encoding="utf-8")
        rules = ["-R", options.rules] if options.rules else []
        return [
            *("-c", str(config), "-Q", "--daq", "afpacket", "--daq-mode", "inline", "-k", "none"),
            *("-l", str(folder), "-i", ":".join(interfaces), *rules),
        ]

    def _counted(self, links: Sequence[Link], folder: Path, log: str) -> DutStats | None:
        del folder
        told = read_counters(log)
        return None if told is None else count_inline(links, dropped_by(told), dict(told))


_WITHOUT = "-- a wire: no rules\n"
_WITH_RULES = "ips = { mode = 'inline' }\n"


def read_counters(log: str) -> dict[str, int] | None:
    """Give what it says at its end of the packets it was given; None: it said nothing."""
    group = _GROUP.search(log)
    return None if group is None else {name: int(n) for name, n in _COUNTER.findall(group[1])}


def dropped_by(told: dict[str, int]) -> dict[str, int]:
    """Give why packets were not sent: blocked by rules, or not taken from a full ring."""
    return {name.replace(" ", "_"): told[name] for name in _DROPS if name in told}


def why_refused(rules: str, said: str) -> str:
    """Put what it says of a bad rule, or of a module that it lacks, into one line."""
    errors = [line[7:].strip() for line in said.splitlines() if line.startswith("ERROR: ")]
    if not errors:
        return f"snort: it refuses {rules or 'its configuration'}; `snort -T` says why"
    place = re.match(r"(\S+:\d+) (.*)", errors[0])
    if place is not None and rules:
        return f"{place[1]}: {place[2].rstrip('.')}; correct the rule or leave it out"
    return f"snort: {errors[0]}; docs/devices.md says how it is built"
