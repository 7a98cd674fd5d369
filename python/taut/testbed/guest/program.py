"""A device's program in a guest, as its driver sees it: a child that is ready, ends, left files."""

import shlex
import signal
import time
from collections.abc import Callable
from pathlib import Path

from taut.binaries.clock import read_both_clocks
from taut.records.convert import EVENTS_FILE
from taut.records.documents.trace import TRACE_FILE
from taut.records.documents.trial import ClockOfGuest
from taut.records.layout import RecordKind
from taut.testbed.guest.channel import Exchange
from taut.testbed.guest.clock import (
    N_EXCHANGES,
    GuestClock,
    HostLine,
    compared,
    rebase,
    rebase_trace,
)
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
# Who runs, and what interrupts: emulated, every event more costs microseconds.
_TRACE = (
    "taut-trace --cores {cpu} --threads {thread} --events sched_switch,irq,irq_vectors,softirq"
    " --out /out/trace >/tmp/trace.log 2>&1 & echo $! >/run/trace;"
    " i=0; until grep -q armed /tmp/trace.log; do"
    " kill -0 $(cat /run/trace) && [ $i -lt 200 ] || {{ cat /tmp/trace.log; exit 1; }};"
    " sleep 0.1; i=$((i+1)); done"
)
_STOP_TRACE = (
    "kill -TERM $(cat /run/trace); i=0;"
    " while [ ! -s /out/trace/trace.json ] && [ $i -lt 200 ]; do sleep 0.1; i=$((i+1)); done;"
    " while kill -0 $(cat /run/trace) 2>/dev/null; do sleep 0.1; done; [ -s /out/trace/trace.json ]"
)
_METHOD = f"an estimate by {2 * N_EXCHANGES} round trips over virtio-serial"
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
        events: Path | None,
    ) -> None:
        super().__init__(name, machine.process, log)
        self.machine = machine
        self._words = words
        self._note = note
        self._look = look
        self._events = events
        self.clock: ClockOfGuest | None = None
        self.program: int | None = None
        self._status: int | None = None
        self._before: list[Exchange] = []
        self._host_before = (0, 0)

    def start(self) -> None:
        """Start it in the guest, its output in the host's log."""
        words = shlex.join(self._words.argv)
        line = _START.format(words=words, log=LOG, ended=_ENDED)
        self.machine.control.must(line, doing=f"starting {self.name}")

    def wait_ready(self, pattern: str, timeout_s: float = 120.0) -> None:
        """Wait until it says so; then its ports are the generator's to take."""
        super().wait_ready(pattern, timeout_s)
        self.machine.leave_ports()
        self.program = int(self.machine.control.must("cat /run/program").text)
        if self._events is not None:
            self._start_trace()
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
            answer = self.machine.control.run(line, timeout_s + 30, doing=f"stopping {self.name}")
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
        self.clock = ClockOfGuest(_METHOD, round(clock.error_ticks / line.ticks_per_ns))
        self._note(
            f"guest's times on the host's clock to ±{self.clock.error_ns / 1000:.0f} µs: {_METHOD}"
        )
        if self._events is not None:
            self._fetch_trace(self._events, clock, line)
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

    def _start_trace(self) -> None:
        """Note who runs on the device's virtual CPU; where that cannot be had, say so."""
        cpu = self.machine.shape.cpus - 1
        answer = self.machine.control.run(
            _TRACE.format(cpu=cpu, thread=self.program), doing="starting its trace"
        )
        if answer.status != 0:
            said = answer.text.strip().splitlines()[-1:] or ["not armed in time"]
            self._note(f"the guest was not traced: {said[0]}")
            self._events = None

    def _fetch_trace(self, folder: Path, clock: GuestClock, line: HostLine) -> None:
        self.machine.control.must(_STOP_TRACE, doing="ending its trace")
        folder.mkdir()
        for name in (EVENTS_FILE, TRACE_FILE):
            content = self.machine.control.must(f"cat /out/trace/{name}", 120).said
            (folder / name).write_bytes(content)
        rebase(folder / EVENTS_FILE, RecordKind.EVENT, clock, line)
        rebase_trace(folder / TRACE_FILE, clock)

    def _ask_clock(self) -> list[Exchange]:
        return [self.machine.clock.read_clock() for _ in range(N_EXCHANGES)]

    def _compare_clocks(self) -> tuple[GuestClock, HostLine]:
        after = self._ask_clock()
        (tsc, first_ns), (last_tsc, last_ns) = self._host_before, read_both_clocks()
        line = HostLine(tsc, first_ns, (last_tsc - tsc) / (last_ns - first_ns))
        return compared(self._before, after, line), line
