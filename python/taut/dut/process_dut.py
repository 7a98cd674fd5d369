"""A device under test that is one process: what most drivers return."""

import signal
from collections.abc import Callable
from pathlib import Path

from taut.core.errors import TrialError
from taut.dut.driver import RunningHop
from taut.records.documents.trial import DutStats
from taut.testbed.process import Child

# A program that was just killed may not have ended yet when it does not answer.
_ENDING_S = 2.0

ReadStats = Callable[[], DutStats | None]


class ProcessDut:
    """Watches and stops a Child; its counters are asked for before its end, or read after it.

    `ask_stats` or `read_stats` is called once; without either the program has no counters.
    """

    def __init__(
        self,
        child: Child,
        *,
        path: str,
        notes: list[str] | None = None,
        gaps_file: Path | None = None,
        stamps_file: Path | None = None,
        ask_stats: ReadStats | None = None,
        read_stats: ReadStats | None = None,
        stop_signal: signal.Signals = signal.SIGINT,
    ) -> None:
        self.path = path
        self.notes = notes or []
        self.logs = [child.log]
        self.pid: int | None = child.pid
        self.died: str | None = None
        self.hops: tuple[RunningHop, ...] = ()
        self._child = child
        self._gaps_file = gaps_file
        self.stamps_file = stamps_file
        self._ask_stats = ask_stats
        self._read_stats = read_stats
        self._stop_signal = stop_signal
        self._is_asked = False
        self._is_stopped = False
        self._stats: DutStats | None = None

    @property
    def gaps_file(self) -> Path | None:
        """The gap log, once the program has written it."""
        if self._gaps_file is None or not self._gaps_file.is_file():
            return None
        return self._gaps_file

    def alive(self) -> bool:
        """Whether the program runs."""
        return self._child.alive()

    def ask(self) -> int | None:
        """Have it tell its counters, once; give its exit status where it has ended.

        stop() does so, too: this is for counters that are gone with what stops before it.
        """
        status = self._child.exit_status
        if status is None and self._ask_stats is not None and not self._is_asked:
            self._is_asked = True
            status = self._ask(self._ask_stats)
        return status

    def stop(self) -> DutStats | None:
        """Stop the program and read its counters; None when it died before it told them."""
        if not self._is_stopped:
            status = self.ask()
            self._child.stop(self._stop_signal)
            self._is_stopped = True
            if (waited_s := self._child.killed_after_s) is not None:
                self.notes.append(
                    f"{self._child.name}: it did not end within {waited_s:g} s of "
                    f"{self._stop_signal.name} and was killed; what it writes at its end is missing"
                )
            if status is not None:
                self.died = self._how_it_ended(status)
            elif self._read_stats is not None:
                self._stats = self._read_stats()
        return self._stats

    def _ask(self, ask_stats: ReadStats) -> int | None:
        """Have it tell its counters; give its exit status where it ended over that."""
        try:
            self._stats = ask_stats()
        except TrialError as error:
            status = self._child.wait(_ENDING_S)
            if status is None:
                self.notes.append(f"its counters are missing: {error}")
            return status
        return None

    def _how_it_ended(self, status: int) -> str:
        how = f"died by signal {-status}" if status < 0 else f"ended with exit status {status}"
        has_counters = self._ask_stats is not None or self._read_stats is not None
        is_missing = has_counters and self._stats is None
        missing = "; its counters are missing" if is_missing else ""
        return f"{how} after the measurement{missing}"

    def log_tail(self) -> list[str]:
        """Say how it ended, if it did, after its last lines."""
        tail = self._child.tail()
        if not self._child.alive():
            tail.append(f"{self._child.name}: {self._child.describe_end()}")
        return tail
