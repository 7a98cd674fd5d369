"""The journal: what every changed value was before, kept so that a crash loses none of it.

One JSON object per line, each with a checksum. An apply adds a generation whole, before its first
write: a `header` and its `change`s, each with the value it had then. Afterwards single lines say
how far it came: `writing` right before each write, with the value read then, since somebody else
may have changed it; `wrote` after it, `settled` at the end, `undoing` and `undone` when it is taken
back. Those need no fsync: a killed process loses none of them, and a crash of the machine also
loses the values they tell of, except those of placed files, which are compared as they are.

The next apply drops changes that a reboot took back; changes of files stay in the journal, with
their first old values, however many boots later they are undone.
"""

import errno
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from taut.core.errors import InputError, TautError
from taut.core.files import write_whole
from taut.core.held import lock_now
from taut.core.version import taut_version
from taut.host.host import Host
from taut.host.journal_lines import (
    Contents,
    Entry,
    Kept,
    Reader,
    change_record,
    lines_of,
    make_line,
)
from taut.records.documents.journal import (
    JOURNAL_FORMAT,
    HeaderRecord,
    JournalRecord,
    SettledRecord,
    UndoingRecord,
    UndoneRecord,
    WritingRecord,
    WroteRecord,
)

FOLDER = "/var/lib/taut/host"

_LOCK_WAIT_S = 3.0
_N_ARCHIVES = 10


class Journal:
    """The journal of one machine."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.folder = host.root / FOLDER.lstrip("/")
        self.path = self.folder / "journal"

    @property
    def is_there(self) -> bool:
        """Whether there is a journal, so that there may be something to undo."""
        return self.path.exists()

    @contextmanager
    def locked(self, waits: Callable[[], bool] = lambda: False) -> Iterator[None]:
        """Keep other applies and undos out; the kernel releases the lock if we die.

        TautError: another one has it for longer than a moment, and `waits`, asked again and again
        from then on, says no.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._open_lock() as lock:
            end = time.monotonic() + _LOCK_WAIT_S
            while not lock_now(lock.fileno()):
                if time.monotonic() > end and not waits():
                    raise TautError(
                        "another `taut host apply`, `undo` or `effect` is at work; wait for its end"
                    )
                time.sleep(0.05)
            yield

    def load(self) -> Contents:
        """Read the journal; InputError: it is another machine's."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return Contents()
        contents = Reader().read(data)
        machine = machine_id(self._host)
        for entry in contents.entries:
            if entry.machine != machine:
                raise InputError(
                    f"{self.path}: journal of another machine ({entry.machine[:8]}..., this is "
                    f"{machine[:8]}...); undo it there, or remove the file"
                )
        return contents

    def begin(
        self, changes: Sequence[tuple[str, Kept, str, tuple[Kept, ...]]], holder: str = ""
    ) -> list[Entry]:
        """Add a generation, whole or not at all: (remedy, setting and old, wanted, others).

        Every line must be readable. Generations that are undone leave the journal.
        """
        self._cut_torn_line()
        contents = self.load()
        generation = contents.last_generation + 1
        here = (machine_id(self._host), boot_id(self._host), uptime_ticks(self._host))
        entries = [
            Entry(
                generation,
                index,
                remedy,
                kept.setting,
                kept.old,
                wanted,
                others,
                *here,
                holder=holder,
            )
            for index, (remedy, kept, wanted, others) in enumerate(changes)
        ]
        header = HeaderRecord(
            generation=generation,
            n_changes=len(entries),
            format=JOURNAL_FORMAT,
            taut=taut_version(),
            utc=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        lines = [make_line(header), *(make_line(change_record(entry)) for entry in entries)]
        write_whole(self.path, self._lines_of(contents.entries) + "".join(lines))
        self._sync_folder()
        return entries

    def writing(self, entry: Entry) -> None:
        """Note that an apply is about to write, and which values undo has to restore."""
        olds = tuple(kept.old for kept in entry.side_effects)
        self._append(WritingRecord(entry.generation, entry.index, entry.old, olds))

    def wrote(self, entry: Entry) -> None:
        """Note what is in force after a write, or that the machine refused."""
        self._append(
            WroteRecord(
                entry.generation,
                entry.index,
                entry.in_force,
                entry.others_in_force,
                entry.refusal,
            )
        )

    def settled(self, generation: int) -> None:
        """Note that an apply came to its end."""
        self._append(SettledRecord(generation))

    def undoing(self, entry: Entry) -> None:
        """Note that an undo is about to write."""
        self._append(UndoingRecord(entry.generation, entry.index))

    def undone(self, generation: int) -> None:
        """Note that a generation is undone."""
        self._append(UndoneRecord(generation))

    def keep(self, entries: Sequence[Entry], word: str) -> Path | None:
        """Keep only these changes; with none left, move the journal away and give its new path."""
        if not entries:
            return self.archive(word)
        write_whole(self.path, self._lines_of(entries))
        self._sync_folder()
        return None

    def archive(self, word: str) -> Path:
        """Move the journal to a name with the time and `word`; give the new path."""
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        target = self.path.with_name(f"journal.{word}-{stamp}")
        self.path.rename(target)
        # Old ones without use are removed; a corrupt one is kept for people to look at.
        for quiet in ("undone", "rebooted"):
            for old in sorted(self.folder.glob(f"journal.{quiet}-*"))[:-_N_ARCHIVES]:
                old.unlink(missing_ok=True)
        self._sync_folder()
        return target

    def _open_lock(self) -> IO[str]:
        path = self.folder / "lock"
        try:
            return path.open("w")
        except OSError:
            if not path.exists():
                raise
            # A file system that is read-only by now must not keep undo from its work.
            return path.open()

    def _lines_of(self, entries: Sequence[Entry]) -> str:
        if not entries:
            return ""
        places = {(entry.generation, entry.index) for entry in entries}
        return lines_of(self.path.read_bytes(), places)

    def _append(self, record: JournalRecord) -> None:
        """Add a line, whole. OSError: there is no room for it, or nothing can be written."""
        self._cut_torn_line()
        line = make_line(record).encode()
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            while line:
                n_written = os.write(descriptor, line)
                if n_written == 0:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
                line = line[n_written:]
        finally:
            os.close(descriptor)

    def _cut_torn_line(self) -> None:
        """A last line without its end is what a crash leaves of a line that says how far."""
        if not self.is_there:
            return
        with self.path.open("rb+") as file:
            size = file.seek(0, os.SEEK_END)
            if size == 0:
                return
            file.seek(size - 1)
            if file.read(1) != b"\n":
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)

    def _sync_folder(self) -> None:
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def machine_id(host: Host) -> str:
    """Give what tells this machine from others (machine-id(5)); empty where it has none."""
    return host.read("/etc/machine-id") or host.read("/sys/class/dmi/id/product_uuid") or "unknown"


def boot_id(host: Host) -> str:
    """Give what tells this boot from others."""
    return host.read("/proc/sys/kernel/random/boot_id") or "unknown"


def uptime_ticks(host: Host) -> int:
    """Time since boot, in the ticks of start times (proc(5)); 0 where nobody tells."""
    seconds = (host.read("/proc/uptime") or "").partition(" ")[0]
    try:
        return int(float(seconds) * os.sysconf("SC_CLK_TCK"))
    except ValueError:
        return 0
