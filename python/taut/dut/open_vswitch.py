"""An Open vSwitch of one trial: its own database, daemon and bridge, beside any of the machine.

All it writes lies in a folder of the run and its links in a namespace, so that what a kill leaves
goes with these (testbed/cleanup.py).
"""

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from taut.core.cpus import CpuSet
from taut.core.errors import TrialError
from taut.dut.installed import Program, missing
from taut.testbed.process import Child, child
from taut.testbed.scope import RunScope

WITH_DPDK = Program(
    name="ovs-vswitchd with DPDK",
    places=("ovs-vswitchd", "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"),
    pattern=r"Open vSwitch\) ([\d.]+)\S*\s+DPDK ([\d.]+)",
    least=(2, 17),
    remedy="install openvswitch-switch-dpdk, as Debian and Ubuntu call it (no service has to run)",
)
PLAIN = Program(
    name="ovs-vswitchd",
    places=("ovs-vswitchd",),
    pattern=r"Open vSwitch\) ([\d.]+)",
    least=(2, 17),
    remedy="install openvswitch-switch, as Debian and Ubuntu call it (no service has to run)",
)
BRIDGE = "br0"
STRAIGHT = "in_port=1,actions=output:2\nin_port=2,actions=output:1\n"
"""What comes in at one port goes out at the other; ports are 1 and 2."""

_TOOLS = ("ovsdb-tool", "ovsdb-server", "ovs-vsctl", "ovs-ofctl", "ovs-appctl")
_CONSOLE = ("-vconsole:info", "-vsyslog:off", "-vfile:off")
_FLOW = re.compile(r"table=(\d+), n_packets=(\d+), n_bytes=\d+, (?:(?:idle|hard)_\w+=\d+, )*(.*)")
# The hidden flows of what missed, with a controller and without (ofproto-dpif.c).
_MISS = re.compile(r"^table_id=254, .*\bn_packets=(\d+), .*\breg0=0x[12],", re.MULTILINE)
_ANSWER_S = 30


@dataclass(frozen=True)
class Port:
    """A port of the bridge; the first one is port 1 of the flows."""

    name: str
    settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Switch:
    """A daemon that forwards, and what it answers."""

    folder: Path
    daemon: Child
    logs: Sequence[Path]

    def flows(self) -> dict[str, int]:
        """Give how many packets each flow took."""
        # Until its revalidator has read them, the datapath's counts are not the flows'.
        self.ask("revalidator/wait")
        said = _run("ovs-ofctl", "dump-flows", _bridge(self.folder))
        return {_spelt(flow): int(flow[2]) for flow in _FLOW.finditer(said)}

    def no_flow(self) -> int:
        """Give how often no flow of a table took a packet: it goes no further. After flows().

        Unless something follows the `resubmit` to that table: then it may be counted and sent.
        """
        said = self.ask("bridge/dump-flows", BRIDGE)
        return sum(map(int, _MISS.findall(said)))

    def end(self) -> None:
        """Have it exit and take its datapath along: the kernel's forwards on without a daemon."""
        with suppress(TrialError):  # it had died
            self.ask("exit", "--cleanup")  # answered when both are done

    def ask(self, *command: str) -> str:
        """Give what the daemon answers to a command of ovs-appctl."""
        return _run("ovs-appctl", "-t", str(self.folder / "daemon.ctl"), *command)


def _spelt(flow: re.Match[str]) -> str:
    """Spell a flow as ovs-ofctl takes it; of table 0 nobody names the table."""
    return flow[3].strip() if flow[1] == "0" else f"table={flow[1]},{flow[3].strip()}"


def missing_switch(program: Program, flows: str) -> str | None:
    """Say what of Open vSwitch this machine lacks, or what is wrong with a file of flows."""
    lacks = missing(program)
    if lacks is not None:
        return lacks
    for tool in _TOOLS:
        if shutil.which(tool) is None:
            return f"{tool}: program not found; {program.remedy}"
    return _refused(Path(flows)) if flows else None


def _refused(flows: Path) -> str | None:
    if not flows.is_file():
        return f"{flows}: no such file of flows; see ovs-ofctl(8), `in_port=1,actions=output:2`"
    try:
        flows.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = flows.read_bytes()[: error.start].count(b"\n") + 1
        return f"{flows}: line {line}: not UTF-8; save it as such, or leave that comment out"
    done = subprocess.run(
        ["ovs-ofctl", "parse-flows", str(flows)], capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return None
    said = done.stderr.strip().splitlines()
    return f"{said[-1].removeprefix('ovs-ofctl: ') if said else flows}; write it as ovs-ofctl(8)"


@contextmanager
def switching(
    program: str,
    ports: Sequence[Port],
    *,
    datapath: str,
    other_config: Sequence[str],
    flows: str,
    scope: RunScope,
    cores: CpuSet,
    netns: str,
    log_dir: Path,
) -> Iterator[Switch]:
    """Start a switch with one bridge; entered when it forwards by `flows`."""
    folder = scope.folder / "ovs"
    folder.mkdir()
    try:
        with (
            _database(
                folder, _bridge_words(ports, datapath, other_config), scope, cores, log_dir
            ) as database,
            child(
                "ovs-vswitchd",
                [
                    *(program, f"unix:{folder}/db.sock", f"--unixctl={folder}/daemon.ctl"),
                    *_CONSOLE,
                ],
                scope=scope,
                cores=cores,
                netns=netns,
                log=log_dir / "ovs-vswitchd.log",
                environment=_places(folder),
            ) as daemon,
        ):
            # Said when all that the database has was tried once.
            daemon.wait_ready(r"\|bridge\|INFO\|.*\(Open vSwitch\)")
            _check_ports(folder, daemon)
            # Not replace-flows: it takes no table but 0 unless -O names another OpenFlow.
            _run("ovs-ofctl", "add-flows", _bridge(folder), "-", given=flows, daemon=daemon)
            yield Switch(folder, daemon, [database.log, daemon.log])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _database(
    folder: Path, words: Sequence[str], scope: RunScope, cores: CpuSet, log_dir: Path
) -> Iterator[Child]:
    """Start a database that has the bridge before the daemon comes."""
    _run("ovsdb-tool", "create", str(folder / "conf.db"))
    with child(
        "ovsdb-server",
        [
            *("ovsdb-server", folder / "conf.db", f"--remote=punix:{folder}/db.sock"),
            *(f"--unixctl={folder}/db.ctl", *_CONSOLE),
        ],
        scope=scope,
        cores=cores,
        log=log_dir / "ovsdb-server.log",
        environment=_places(folder),
    ) as database:
        database.wait_ready(r"ovsdb-server \(Open vSwitch\)")
        _run("ovs-vsctl", "--no-wait", f"--db=unix:{folder}/db.sock", "init", "--", *words)
        yield database


def _bridge_words(ports: Sequence[Port], datapath: str, other_config: Sequence[str]) -> list[str]:
    """Spell the bridge and its ports as commands of ovs-vsctl, one transaction."""
    settings = [f"other_config:{setting}" for setting in other_config]
    # Without a controller nothing is learned and nothing flooded: only what flows say is done.
    words = ["set", "Open_vSwitch", ".", *settings, "--"] if settings else []
    words += ["add-br", BRIDGE, "--", "set", "bridge", BRIDGE]
    words += [f"datapath_type={datapath}", "fail_mode=secure"]
    for number, port in enumerate(ports, start=1):
        words += ["--", "add-port", BRIDGE, port.name, "--", "set", "interface", port.name]
        words += [f"ofport_request={number}", *port.settings]
    return words


def _check_ports(folder: Path, daemon: Child) -> None:
    """TrialError where the daemon could not open a port."""
    vsctl = ("ovs-vsctl", f"--db=unix:{folder}/db.sock")
    said = _run(*vsctl, "--bare", "--columns=name,error", "find", "interface", "error!=[]")
    if said.strip():
        name, _, why = said.strip().partition("\n")
        raise TrialError(f"ovs-vswitchd: port {name}: {why.strip()}", daemon.tail())


def _places(folder: Path) -> dict[str, str]:
    """Say where all of it is kept, instead of /run, /etc and /var/log."""
    return {f"OVS_{name}": str(folder) for name in ("RUNDIR", "LOGDIR", "DBDIR", "SYSCONFDIR")}


def _bridge(folder: Path) -> str:
    return f"unix:{folder / BRIDGE}.mgmt"


def _run(*argv: str, given: str | None = None, daemon: Child | None = None) -> str:
    """Run one of the tools and give what it printed. TrialError: it failed, or its daemon died."""
    try:
        done = subprocess.run(
            argv, input=given, capture_output=True, text=True, check=False, timeout=2 * _ANSWER_S
        )
    except subprocess.TimeoutExpired:
        raise TrialError(f"{argv[0]}: no answer in {2 * _ANSWER_S} s") from None
    if done.returncode == 0:
        return done.stdout
    if daemon is not None and not daemon.alive():
        raise TrialError(f"{daemon.name}: {daemon.describe_end()}", daemon.tail())
    said = done.stderr.strip().splitlines()
    why = said[-1] if said else f"{argv[0]}: ended with exit status {done.returncode}"
    raise TrialError(why, [] if daemon is None else daemon.tail())
