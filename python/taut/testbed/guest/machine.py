"""A guest that runs: started, waited for, its virtual CPUs on their cores, its ports given to DPDK.

A vhost-user port of QEMU asks the other end what it can before the guest may start. The generator
is not there yet, so a stand-in is: taut-forward on the same kind of port, asleep, which ends once
the device in the guest has taken its ports. QEMU serves the sockets and waits for the next. A
switch is there before its guests, and stands in for nobody.
"""

import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from taut.core.binaries import find_binary
from taut.core.errors import TrialError
from taut.testbed.guest import qemu
from taut.testbed.guest.channel import Channel
from taut.testbed.guest.init import READY
from taut.testbed.guest.qemu import Files, Shape, guest_address
from taut.testbed.guest.qmp import Qmp, cpu_threads
from taut.testbed.process import popen
from taut.testbed.program import Program
from taut.testbed.scope import RunScope

_TO_SOCKET_S, _TO_READY_S = 60.0, 120.0
_POLL_S = 0.02
_TAIL = 15
_TIME = re.compile(r"^\[ *[0-9.]+\] ")
_BIND = (
    "for a in {addresses}; do d=/sys/bus/pci/devices/$a;"
    " echo {driver} >$d/driver_override || exit 1;"
    " [ ! -e $d/driver ] || echo $a >$d/driver/unbind;"
    " echo $a >/sys/bus/pci/drivers_probe;"
    " [ -e $d/driver ] || {{ echo $a: {driver} does not take it; exit 1; }}; done"
)


class Machine:
    """A guest that has come up; `process` is its QEMU."""

    def __init__(
        self, shape: Shape, files: Files, process: subprocess.Popen[bytes], stand_in: "StandIn"
    ) -> None:
        self.shape = shape
        self.files = files
        self.process = process
        self.control = Channel(files.socket("ctl"))
        self.clock = Channel(files.socket("clock"))
        self._stand_in = stand_in

    def leave_ports(self) -> None:
        """Let the generator have them: the device in the guest has taken its ends."""
        self._stand_in.end()

    def place_cpus(self, cores: Sequence[int], rest: Sequence[int]) -> dict[int, int]:
        """Give the last virtual CPUs a core each, all other threads the rest; threads by CPU."""
        with Qmp(self.files.socket("qmp")) as qmp:
            threads = cpu_threads(qmp)
        own = dict(zip(sorted(threads)[-len(cores) :], cores, strict=True))
        elsewhere = set(rest) or set(cores)
        for name in Path(f"/proc/{self.process.pid}/task").iterdir():
            with suppress(ProcessLookupError):
                os.sched_setaffinity(int(name.name), elsewhere)
        for cpu, core in own.items():
            os.sched_setaffinity(threads[cpu], {core})
        return threads

    def bind_ports(self, n: int) -> None:
        """Give n ports to DPDK, by VFIO if there is an IOMMU: then their queues can interrupt."""
        driver = "vfio-pci" if self.shape.has_iommu else "uio_pci_generic"
        self.bind([guest_address(number) for number in range(n)], driver)

    def bind(self, addresses: Sequence[str], driver: str) -> None:
        """Give PCI devices to a driver, whoever has them now."""
        line = _BIND.format(addresses=" ".join(addresses), driver=driver)
        self.control.must(line, doing=f"giving its ports to {driver}")

    def close(self) -> None:
        """End it at once; what it wrote was fetched before."""
        self.process.kill()
        self.process.wait()
        self.control.close()
        self.clock.close()


class StandIn:
    """Who holds the host's ends of the ports until the guest has taken its own."""

    def __init__(self, process: subprocess.Popen[bytes] | None) -> None:
        self._process = process

    def end(self) -> None:
        """End it; twice is once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextmanager
def machine(
    shape: Shape,
    files: Files,
    sockets: Sequence[Path],
    cores: Sequence[int],
    rest: Sequence[int],
    scope: RunScope,
    *,
    has_peer: bool = False,
) -> Iterator[Machine]:
    """Boot a guest; entered when it takes commands, gone on exit.

    It boots on all cores it will have; `rest`: those where the device does not run. `has_peer`:
    whether somebody connects to its sockets without being told to.
    """
    words = qemu.command_line(shape, files, sockets)
    log = files.folder / f"{files.name}-qemu.log"
    files.console.unlink(missing_ok=True)  # of a guest before, which said that it is ready
    process = popen(Program("qemu", words, log, sorted({*cores, *rest})), scope)
    stand_in = StandIn(None)
    running = None
    try:
        if not has_peer:
            stand_in = _stand_in(process, files, sockets, rest, scope)
        _wait_ready(process, files)
        running = Machine(shape, files, process, stand_in)
        yield running
    finally:
        stand_in.end()
        if running is not None:
            running.close()
        process.kill()
        process.wait()


def _stand_in(
    process: subprocess.Popen[bytes],
    files: Files,
    sockets: Sequence[Path],
    rest: Sequence[int],
    scope: RunScope,
) -> StandIn:
    if not sockets:
        return StandIn(None)
    # QEMU opens one socket after the other, each when the one before is connected.
    _wait_for(lambda: sockets[0].exists(), process, files, _TO_SOCKET_S, "its ports are not there")
    argv = [str(find_binary("taut-forward")), "--wait", "interrupt"]
    for socket in sockets:
        argv += ["--port", f"vhost:{socket},role=client"]
    argv += ["--", "--no-huge"]
    log = files.folder / f"{files.name}-stand-in.log"
    # An even number of ports: each is one of a pair.
    return StandIn(popen(Program("taut-forward", argv, log, rest), scope))


def _wait_ready(process: subprocess.Popen[bytes], files: Files) -> None:
    def is_ready() -> bool:
        return files.console.exists() and READY in files.console.read_text(errors="replace")

    _wait_for(is_ready, process, files, _TO_READY_S, "it did not boot")


def _wait_for(
    is_so: Callable[[], bool],
    process: subprocess.Popen[bytes],
    files: Files,
    timeout_s: float,
    otherwise: str,
) -> None:
    deadline = time.monotonic() + timeout_s
    while True:
        has_ended = process.poll() is not None
        if is_so():
            return
        if has_ended or time.monotonic() > deadline:
            how = f"QEMU ended with {process.returncode}" if has_ended else f"{timeout_s:g} s"
            lines = last_lines(files)
            raise TrialError(
                f"guest: {otherwise} ({how}{telling(lines)}); another kernel or fewer parameters "
                f"(options of the placement vm) may help, {files.console.name} has all it said",
                lines,
            )
        time.sleep(_POLL_S)


def telling(lines: Sequence[str]) -> str:
    """Give, of a guest's last lines, the one that says most: of a panic its reason."""
    panics = [line for line in lines if "Kernel panic" in line]
    line = _TIME.sub("", (panics[:1] or lines[-1:] or [""])[0])
    return f': "{line[:100]}"' if line else ""


def last_lines(files: Files) -> list[str]:
    """Give the last lines of a guest's console, after those of QEMU itself."""
    lines: list[str] = []
    for path in (files.folder / f"{files.name}-qemu.log", files.console):
        if path.exists():
            text = path.read_text(errors="replace").replace("\r", "")
            lines += [line for line in text.splitlines() if line.strip()][-_TAIL:]
    return lines
