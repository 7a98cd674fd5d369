"""suricata: the intrusion prevention system, inline between two veth links by AF_PACKET."""

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
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
from taut.records.documents.json_form import JsonObject, read_object
from taut.records.documents.trial import DutStats
from taut.testbed.link import Link
from taut.testbed.process import child
from taut.testbed.scope import RunScope
from taut.testbed.scratch import Scratch
from taut.testbed.veth_pairs import needs_root

PROGRAM = Program(
    name="suricata",
    places=("suricata",),
    pattern=r"Suricata version ([\d.]+)",
    least=(7, 0),
    remedy="install suricata of bookworm-backports (devtools/setup.sh devices)",
    ask="-V",
)
_COUNTERS = "suricata-counters.json"
# Thousands of rules take it seconds to read.
_START_S = 120.0
_AT_LINE = re.compile(r"from file (\S+) at line (\d+)")


class SuricataOptions(InlineOptions):
    """What it does with each packet; it has a thread for each direction, both on one core."""


class SuricataDriver:
    """Runs Suricata as a wire with rules between two veth links."""

    name = "suricata"
    summary = "Suricata inline over veth (AF_PACKET, IPS), as a wire or with rules"
    n_links = 2
    link_kinds = ("veth",)
    options_type: type[DriverOptions] = SuricataOptions

    def missing(self, options: DriverOptions) -> str | None:
        """Root, the program, or the rule that it refuses."""
        reason = needs_root("veth") or missing(PROGRAM)
        rules = cast(SuricataOptions, options).rules
        return reason if reason is not None or not rules else _refused(Path(rules))

    def version(self) -> str:
        """As the program says."""
        found = find(PROGRAM)
        return "unknown" if found is None else f"Suricata {found.versions[0]}"

    def hugepages(self, options: DriverOptions) -> int:  # noqa: ARG002 - an interface
        return 0

    def waits(self, options: DriverOptions) -> Waiting:  # noqa: ARG002 - an interface
        """Its workers sleep in poll() until a packet is in their ring."""
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
        """Start it; entered when its workers have their sockets."""
        given = cast(SuricataOptions, options)
        found = find(PROGRAM)
        if found is None:
            raise TrialError(str(missing(PROGRAM)))
        log_dir.mkdir(parents=True, exist_ok=True)
        config = log_dir / "suricata.yaml"
        names = [str(link.device_ifname) for link in links]
        config.write_text(configuration(names), encoding="utf-8")
        with child(
            self.name,
            [
                *(found.path, "-c", config, "--af-packet", "--runmode", "workers", "-k", "none"),
                *("-l", log_dir, "--init-errors-fatal"),
                *_rules(given, log_dir),
                *given.arguments,
            ],
            scope=scope,
            cores=cores,
            netns=links[0].device_netns,
            log=log_dir / "suricata.log",
        ) as process:
            process.wait_ready(r"Engine started", _START_S)
            dut = ProcessDut(
                process,
                path="veth, AF_PACKET at both ends, a copy between two sockets in the device",
                notes=[f"Suricata's two workers on core {cores[0]}, its other threads, too"],
                read_stats=lambda: _count(links, log_dir / _COUNTERS),
            )
            yield dut
            dut.stop()


def _rules(options: SuricataOptions, folder: Path) -> list[str]:
    """Say which rules it is to read; it refuses a file of them where it is to inspect nothing."""
    if options.mode == "forward":
        return ["--disable-detection"]
    if options.rules:
        return ["-S", options.rules]
    # Without a file it would look for those of a Debian package.
    empty = folder / "no.rules"
    empty.touch()
    return ["-S", str(empty)]


def _count(links: Sequence[Link], path: Path) -> DutStats | None:
    told = read_counters(path.read_text(encoding="utf-8")) if path.is_file() else None
    return None if told is None else count_inline(links, dropped_by(told), told)


def read_counters(text: str) -> JsonObject | None:
    """Give what its last event, its counters, tells of packets; None: there is none.

    `capture` is of the sockets, `ips` what became of the packets.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    event = read_object(lines[-1]) if lines else None
    if event is None:
        return None
    stats = cast(JsonObject, event["stats"])
    return {
        "capture": stats.get("capture", {}),
        "ips": stats.get("ips", {}),
        "packets": cast(JsonObject, stats["decoder"])["pkts"],
    }


def dropped_by(told: JsonObject) -> dict[str, int]:
    """Give why packets were not sent: `rules` and what follows from them, full rings, refusals.

    Of a connection that one rule dropped it drops the rest without a look, as `flow_drop`.
    """
    capture, ips = (cast(Mapping[str, object], told[part]) for part in ("capture", "ips"))
    reasons = {str(k): _number(v) for k, v in cast(JsonObject, ips.get("drop_reason", {})).items()}
    blocked = _number(ips.get("blocked", 0))
    reasons["blocked_otherwise"] = blocked - sum(reasons.values())
    afpacket = cast(Mapping[str, object], capture.get("afpacket", {}))
    reasons["ring_full"] = _number(capture.get("kernel_drops", 0))
    reasons["send_errors"] = _number(afpacket.get("send_errors", 0))
    return reasons


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _refused(rules: Path) -> str | None:
    """Have it read the rules; give the first that it refuses, by line."""
    if not rules.is_file():
        return f"{rules}: no such file of rules"
    found = find(PROGRAM)
    if found is None:
        return missing(PROGRAM)
    with Scratch("suricata", sweeping=False) as folder:
        config = folder / "suricata.yaml"
        config.write_text(configuration(["a", "b"]), encoding="utf-8")
        done = subprocess.run(
            [
                *(found.path, "-T", "-c", config, "-S", rules, "-l", folder),
                "--init-errors-fatal",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
    return None if done.returncode == 0 else why_refused(rules, done.stdout + done.stderr)


def why_refused(rules: Path, said: str) -> str:
    """Put what it says of a bad rule into one line."""
    errors = [line[2:].strip() for line in said.splitlines() if line.startswith("E:")]
    place = next(filter(None, map(_AT_LINE.search, errors)), None)
    where = str(rules) if place is None else f"{rules}:{place[2]}"
    why = errors[0].partition(": ")[2] if errors else "Suricata refuses it"
    return f"{where}: {why.rstrip('.')}; correct the rule or leave it out"


def configuration(interfaces: Sequence[str]) -> str:
    """Write its configuration: two interfaces, each copied to the other, one thread each."""
    sections = "".join(
        _INTERFACE.format(ours=ours, theirs=theirs, number=number)
        for number, (ours, theirs) in enumerate(zip(interfaces, interfaces[::-1], strict=True), 1)
    )
    return _CONFIGURATION + sections


_INTERFACE = """\
  - interface: {ours}
    threads: 1
    cluster-id: {number}
    cluster-type: cluster_flow
    defrag: no
    use-mmap: yes
    tpacket-v3: no
    ring-size: 4096
    copy-mode: ips
    copy-iface: {theirs}
"""
# The groups are those that published rules name. Counters come once, when it ends.
_CONFIGURATION = f"""\
%YAML 1.1
---
vars:
  address-groups:
    HOME_NET: "any"
    EXTERNAL_NET: "any"
    HTTP_SERVERS: "any"
    SMTP_SERVERS: "any"
    SQL_SERVERS: "any"
    DNS_SERVERS: "any"
    TELNET_SERVERS: "any"
    DC_SERVERS: "any"
    MODBUS_SERVER: "any"
    MODBUS_CLIENT: "any"
    ENIP_SERVER: "any"
    ENIP_CLIENT: "any"
  port-groups:
    HTTP_PORTS: "80"
    SHELLCODE_PORTS: "!80"
    ORACLE_PORTS: "1521"
    SSH_PORTS: "22"
    DNP3_PORTS: "20000"
    MODBUS_PORTS: "502"
    FILE_DATA_PORTS: "[$HTTP_PORTS,110,143]"
    FTP_PORTS: "21"
    GENEVE_PORTS: "6081"
    VXLAN_PORTS: "4789"
    TEREDO_PORTS: "3544"
unix-command:
  enabled: no
stats:
  enabled: yes
  interval: 86400
outputs:
  - eve-log:
      enabled: yes
      filetype: regular
      filename: {_COUNTERS}
      types:
        - stats:
            totals: yes
            threads: no
logging:
  default-log-level: notice
  outputs:
    - console:
        enabled: yes
af-packet:
"""
