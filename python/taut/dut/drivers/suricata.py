"""suricata: the intrusion prevention system, inline between two veth links by AF_PACKET."""

import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from taut.dut.inline import InlineDriver, InlineOptions, count_inline
from taut.dut.installed import Found, Program
from taut.records.documents.json_form import JsonObject, read_object
from taut.records.documents.trial import DutStats
from taut.testbed.link import Link
from taut.testbed.scratch import Scratch

PROGRAM = Program(
    name="suricata",
    places=("suricata",),
    pattern=r"Suricata version ([\d.]+)",
    least=(7, 0),
    remedy="install Suricata 7 or newer, on Debian 12 of bookworm-backports (docs/devices.md)",
    ask="-V",
)
RING_PACKETS = 4096
"""What each of its two sockets holds of packets that wait."""
_COUNTERS = "suricata-counters.json"
_ERROR = re.compile(r"^(?:(?:E|Error): [\w-]+|\S*suricata): (.+?)\.?$", re.MULTILINE)
"""What it says of a mistake: in its log, before it has one, and of an option (getopt)."""
_AT_LINE = re.compile(r"from file (\S+) at line (\d+)")


class SuricataOptions(InlineOptions):
    """What it does with each packet; it has a thread for each direction, both on one core."""


class SuricataDriver(InlineDriver):
    """Runs Suricata as a wire with rules between two veth links."""

    name = "suricata"
    summary = "Suricata inline over veth (AF_PACKET, IPS), as a wire or with rules"
    options_type = SuricataOptions
    program = PROGRAM
    ready = "Engine started"
    threads = "Suricata's two workers"

    def _versions(self, *versions: str) -> str:
        return f"Suricata {versions[0]}"

    def _refuses(self, options: InlineOptions, found: Found) -> str | None:
        rules = Path(options.rules)
        if not options.rules:
            return None
        if not rules.is_file():
            return f"{rules}: no such file of rules"
        with Scratch("suricata", sweeping=False) as folder:
            arguments = [*_arguments(options, folder, ("a", "b")), *options.arguments]
            done = subprocess.run(
                [found.path, "-T", *arguments], capture_output=True, text=True, check=False
            )
        said = done.stdout + done.stderr
        return None if done.returncode == 0 else why_refused(rules, said, options.arguments)

    def _arguments(
        self, options: InlineOptions, folder: Path, interfaces: Sequence[str]
    ) -> list[str]:
        live = ["--af-packet", "--runmode", "workers", "-k", "none"]
        return [*_arguments(options, folder, interfaces), *live]

    def _counted(self, links: Sequence[Link], folder: Path, log: str) -> DutStats | None:
        del log
        path = folder / _COUNTERS
        told = read_counters(path.read_text(encoding="utf-8")) if path.is_file() else None
        return None if told is None else count_inline(links, dropped_by(told), told)


def _arguments(options: InlineOptions, folder: Path, interfaces: Sequence[str]) -> list[str]:
    """Spell its configuration and rules, of which it refuses a file where it inspects nothing."""
    config = folder / "suricata.yaml"
    config.write_text(configuration(interfaces), encoding="utf-8")
    rules = ["-S", options.rules]
    if options.mode == "forward":
        rules = ["--disable-detection"]
    elif not options.rules:
        # Without a file it would look for those of a Debian package.
        (folder / "no.rules").touch()
        rules = ["-S", str(folder / "no.rules")]
    return ["-c", str(config), "-l", str(folder), "--init-errors-fatal", *rules]


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


def why_refused(rules: Path, said: str, arguments: Sequence[str] = ()) -> str:
    """Put what it says of a bad rule into one line, or of the arguments where it names no rules."""
    errors = _ERROR.findall(said)
    why = errors[0] if errors else "Suricata refuses it"
    if arguments and not any(str(rules) in error for error in errors):
        return f"arguments {shlex.join(arguments)}: {why}; correct them or leave them out"
    place = next(filter(None, map(_AT_LINE.search, errors)), None)
    where = str(rules) if place is None else f"{rules}:{place[2]}"
    return f"{where}: {why}; correct the rule or leave it out"


def configuration(interfaces: Sequence[str]) -> str:
    """Write its configuration: two interfaces, each copied to the other, one thread each."""
    sections = "".join(
        _INTERFACE.format(ours=ours, theirs=theirs, number=number, ring=RING_PACKETS)
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
    ring-size: {ring}
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
