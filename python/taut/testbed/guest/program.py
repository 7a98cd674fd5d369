"""A device's program in a guest, as its driver sees it: a child that is ready, ends, left files."""

import shlex
import signal
import time
from collections.abc import Callable
from pathlib import Path

from taut.binaries.clock import read_both_clocks
from taut.testbed.guest.channel import Exchange
from taut.testbed.guest.clock import N_EXCHANGES, GuestClock, HostLine, bound_of, rebase
from taut.testbed.guest.init import LOG
from taut.testbed.guest.machine import Machine, last_lines
from taut.testbed.guest.words import Output, Words, put_back
from taut.testbed.program import Child

_ENDED = "taut-guest: ended "
# A program that ends untold takes the guest with it: QEMU's end is what the host waits for.
_START = (
    "(cd /; {words} >/dev/taut/{log} 2>&1 & echo $! >/run/program; wait $!; s=$?;"
    " echo $s >/run/status;"
    " [ -e /run/told ] || {{ echo '{ended}'$s >/dev/taut/{log}; sleep 0.2; poweroff -f; }})"
    " >/dev/null 2>&1 &"
)
_STOP = (
    "touch /run/told; kill -{number} $(cat /run/program); i=0;"
    " while [ ! -e /run/status ] && [ $i -lt {tenths} ]; do sleep 0.1; i=$((i+1)); done;"
    " cat /run/status"
)
_POLL_S = 0.05


class GuestChild(Child):
    """taut-forward in a guest. Its process, as far as the host sees one, is QEMU."""

    def __init__(
        self,
        name: str,
        machine: Machine,
        words: Words,
        log: Path,
        note: Callable[[str], None],
        look: Callable[[], None],
    ) -> None:
        super().__init__(name, machine.process, log)
        self.machine = machine
        self._words = words
        self._note = note
        self._look = look
        self._status: int | None = None
        self._before: list[Exchange] = []
        self._host_before = (0, 0)

    def start(self) -> None:
        """Start it in the guest, its output in the host's log."""
        line = shlex.join(self._words.argv)
        self.machine.control.must(_START.format(words=line, log=LOG, ended=_ENDED))

    def wait_ready(self, pattern: str, timeout_s: float = 60.0) -> None:
        """Wait until it says so; then its ports are the generator's to take."""
        super().wait_ready(pattern, timeout_s)
        self.machine.leave_ports()
        self._host_before = read_both_clocks()
        self._before = self._ask_clock()

    @property
    def exit_status(self) -> int | None:
        """None while it runs; of one that ended with its guest, what it said last."""
        if self._status is None and self.machine.process.poll() is not None:
            said = [line for line in self.log_text().splitlines() if line.startswith(_ENDED)]
            self._status = int(said[-1].removeprefix(_ENDED)) if said else 1
        return self._status

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the program in the guest; SIGKILL ends the guest."""
        if number == signal.SIGKILL:
            self.machine.process.kill()
        elif self.alive():
            self.machine.control.run(f"kill -{number.value} $(cat /run/program)")

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Wait for its end; None when it has not ended in time."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while self.exit_status is None and (deadline is None or time.monotonic() < deadline):
            time.sleep(_POLL_S)
        return self.exit_status

    def stop(self, number: signal.Signals = signal.SIGINT, timeout_s: float = 30.0) -> int:
        """End it, then fetch what it wrote, its times as the host's; give its exit status."""
        if self.alive():
            line = _STOP.format(number=number.value, tenths=round(10 * timeout_s))
            answer = self.machine.control.run(line, timeout_s + 30)
            self._status = int(answer.said) if answer.status == 0 else -signal.SIGKILL
            self._fetch()
        return self.exit_status or 0

    def close(self) -> None:
        """Its guest ends with it."""
        self.machine.close()

    def tail(self, n_lines: int = 20) -> list[str]:
        """Give its last lines, or where it has none the guest's."""
        return super().tail(n_lines) or last_lines(self.machine.files)

    def describe_end(self) -> str:
        """Say whose end it was: the program's in the guest, or the guest's."""
        if self.exit_status is not None and _ENDED not in self.log_text():
            return f"its guest is gone (QEMU ended with {self.machine.process.returncode})"
        return super().describe_end()

    def _fetch(self) -> None:
        clock, line = self._compare_clocks()
        hz = line.ticks_per_ns * 1e9
        error_us = clock.error_ticks / hz * 1e6
        self._note(
            f"guest's times on the host's clock to ±{error_us:.0f} µs: an estimate by "
            f"{2 * N_EXCHANGES} round trips over virtio-serial"
        )
        for output in self._words.outputs:
            self._fetch_one(output, clock, line)
        self._look()

    def _fetch_one(self, output: Output, clock: GuestClock, line: HostLine) -> None:
        answer = self.machine.control.run(f"cat {output.guest}", 120)
        if answer.status != 0:
            return  # it was never written: the driver finds it missing
        output.host.write_bytes(answer.said)
        if output.records is None:
            put_back(output.host, self._words.meant)
        else:
            rebase(output.host, output.records, clock, line)

    def _ask_clock(self) -> list[Exchange]:
        return [self.machine.clock.read_clock() for _ in range(N_EXCHANGES)]

    def _compare_clocks(self) -> tuple[GuestClock, HostLine]:
        after = self._ask_clock()
        (tsc, first_ns), (last_tsc, last_ns) = self._host_before, read_both_clocks()
        line = HostLine(tsc, first_ns, (last_tsc - tsc) / (last_ns - first_ns))
        made = after[0].guest_tsc - self._before[0].guest_tsc
        rate = made / (after[0].sent_ns - self._before[0].sent_ns)
        return GuestClock(bound_of(self._before, line, rate), bound_of(after, line, rate)), line
