"""A writer and a journal whose process dies: at the nth thing it does, before or after it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any
from unittest.mock import patch

from host_tree import TreeWriter
from taut.core.cpus import CpuSet
from taut.host.journal import Journal


class Died(BaseException):
    """As SIGKILL: nobody catches it."""


@dataclass
class Fate:
    """Counts deeds; the process dies at one of them."""

    n_left: int
    is_after: bool = False
    n_done: int = 0

    def meet(self, deed: Callable[[], Any]) -> Any:
        """Do it, or die."""
        self.n_done += 1
        is_last = self.n_done == self.n_left
        if is_last and not self.is_after:
            raise Died
        result = deed()
        if is_last:
            raise Died
        return result


@dataclass(frozen=True)
class DyingWriter(TreeWriter):
    """Every method that changes the machine is a deed."""

    fate: Fate = field(default_factory=lambda: Fate(0))

    def write_file(self, path: str, text: str) -> None:
        self.fate.meet(lambda: TreeWriter.write_file(self, path, text))

    def put_file(self, path: str, text: str) -> None:
        self.fate.meet(lambda: TreeWriter.put_file(self, path, text))

    def remove_file(self, path: str) -> None:
        self.fate.meet(lambda: TreeWriter.remove_file(self, path))

    def make_folder(self, path: str) -> None:
        self.fate.meet(lambda: TreeWriter.make_folder(self, path))

    def remove_folder(self, path: str) -> None:
        self.fate.meet(lambda: TreeWriter.remove_folder(self, path))

    def set_affinity(self, thread: int, cores: CpuSet) -> None:
        self.fate.meet(lambda: TreeWriter.set_affinity(self, thread, cores))

    def set_scheduler(self, thread: int, policy: int, priority: int) -> None:
        self.fate.meet(lambda: TreeWriter.set_scheduler(self, thread, policy, priority))

    def command(self, argv: Sequence[str], timeout_s: float | None = None) -> None:
        self.fate.meet(lambda: TreeWriter.command(self, argv, timeout_s))

    def start_process(self, argv: Sequence[str]) -> IO[bytes]:
        stream: IO[bytes] = self.fate.meet(lambda: TreeWriter.start_process(self, argv))
        return stream

    def end_process(self, process: int) -> None:
        self.fate.meet(lambda: TreeWriter.end_process(self, process))


@contextmanager
def fateful_journal(fate: Fate) -> Iterator[None]:
    """Every line of a journal, and its renaming, is a deed too."""
    originals: Mapping[str, Callable[..., Any]] = {
        name: getattr(Journal, name) for name in ("_append", "begin", "archive", "keep")
    }

    def deed(name: str) -> Callable[..., Any]:
        return lambda *arguments: fate.meet(lambda: originals[name](*arguments))

    with (
        patch.object(Journal, "_append", deed("_append")),
        patch.object(Journal, "begin", deed("begin")),
        patch.object(Journal, "archive", deed("archive")),
        patch.object(Journal, "keep", deed("keep")),
    ):
        yield
