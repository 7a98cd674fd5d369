"""What devices that are the kernel itself share: where it works, and that it has no process.

The kernel forwards where the packet comes from: in the sender's softirq, on the generator's core.
To make it a device of its own, its work is moved to the device's core (option `placement`); the
notes of each trial say how, after reading the setting back.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from platform import release
from typing import Literal, cast

from pydantic import Field

from taut.core.cpus import CpuSet, format_cpu_list
from taut.core.errors import TrialError
from taut.dut.driver import DriverOptions, RunningHop
from taut.host.host import Host
from taut.host.situation import Waiting
from taut.host.view import NOHZ_FULL
from taut.records.documents.json_form import JsonObject
from taut.records.documents.trial import BARE, DutStats, PortCounters
from taut.testbed import netlink, softirq


class KernelOptions(DriverOptions):
    """Where the kernel works."""

    placement: Literal["rps", "threaded", "sender"] = Field(
        "rps",
        description="rps: steered to the device's core; threaded: NAPI threads on that core;"
        " sender: as the kernel does by itself, on the generator's core",
    )

    def refuses_placement(self, kind: str) -> str | None:
        """The kernel has no process to place; a guest would have a kernel of its own."""
        return None if kind == BARE else f"it is the host's kernel, which runs in no {kind}"

    def refuses_cores(self, cores: CpuSet, host: Host) -> str | None:
        """Isolated ones, where they are to be steered to: the kernel takes no such RPS mask."""
        isolated = {*host.isolated_cores(), *host.cores(NOHZ_FULL)}.intersection(cores)
        if self.placement != "rps" or not isolated:
            return None
        return (
            f"core {format_cpu_list(isolated)} is isolated at boot, the kernel steers nothing there"
            ' (RPS); say options = { placement = "threaded" }, or name another core: cores.device'
        )


class RunningKernel:
    """A device without a process, alive while the links that it needs are in its namespace."""

    gaps_file: Path | None = None
    stamps_file: Path | None = None
    died: str | None = None
    hops: tuple[RunningHop, ...] = ()
    pid: int | None = None

    def __init__(
        self,
        name: str,
        namespace: str,
        ports: Sequence[str],
        notes: list[str],
        *,
        also_needs: Sequence[str] = (),
        counters: Callable[[], JsonObject] = dict,
        logs: Sequence[Path] = (),
    ) -> None:
        self.path = f"veth, kernel {name.removeprefix('linux_')}, veth; AF_PACKET at the generator"
        self.notes = notes
        self.logs = [*logs]
        self._name = name
        self._namespace = namespace
        self._ports = ports
        self._needs = (*also_needs, *ports)
        self._counters = counters
        self._stats: DutStats | None = None

    def alive(self) -> bool:
        """Whether its links are there."""
        return not self._gone()

    def stop(self) -> DutStats:
        """Read the counters, once; what was made in the namespace goes with it."""
        if self._stats is None:
            ports = tuple(
                PortCounters(others={"port": port, **netlink.link_counters(port, self._namespace)})
                for port in self._ports
            )
            self._stats = DutStats(ports=ports, others=self._counters())
        return self._stats

    def log_tail(self) -> list[str]:
        """Name the links that are gone."""
        return [f"{self._name}: {link} is gone" for link in self._gone()]

    def _gone(self) -> list[str]:
        there = netlink.links(self._namespace)
        return [link for link in self._needs if link not in there]


class KernelDriver:
    """What drivers of the kernel itself say alike; each adds what it is called, and `running`."""

    n_links = 2
    link_kinds = ("veth",)

    def version(self) -> str:
        """Name the kernel, as results name it."""
        return f"Linux {release()}"

    def hugepages(self, options: DriverOptions) -> int:  # noqa: ARG002 - an interface
        """None: it has no process."""
        return 0

    def waits(self, options: DriverOptions) -> Waiting:
        """It sleeps: each packet wakes its core; in the sender's softirq nobody is woken."""
        sender = cast(KernelOptions, options).placement == "sender"
        return Waiting.POLLS if sender else Waiting.SLEEPS


def place(namespace: str, ports: Sequence[str], cores: CpuSet, options: DriverOptions) -> list[str]:
    """Move the work of the ports to the device's cores; give the notes for the results.

    TrialError: the kernel cannot work there.
    """
    placement = cast(KernelOptions, options).placement
    if (why := options.refuses_cores(cores, Host())) is not None:
        raise TrialError(why)
    if placement == "rps":
        return [softirq.steer_to(namespace, port, cores) for port in ports]
    if placement == "threaded":
        return [softirq.thread_on(namespace, port, cores) for port in ports]
    return ["the kernel works in the sender's softirq, on the generator's core: no device apart"]
