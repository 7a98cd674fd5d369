"""RunScope: everything a run makes outside its run directory, under one id of 4 characters.

A process can be killed between any two instructions. So owner.json in the run's folder names each
thing before it is made, and everything else carries the run's id: processes their environment,
namespaces and links their name, DPDK its file prefix. cleanup.py finds them by that.
"""

import os
import secrets
import string
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from taut.core.cpus import CpuSet
from taut.core.errors import TautError
from taut.core.timings import stage
from taut.testbed import cleanup, hugepages, netlink
from taut.testbed.owner import OWNER_FILE, Owner, owner_of, temporary_mark
from taut.testbed.program import Place
from taut.testbed.run_folder import default_base, make_private

__all__ = ["RunScope", "default_base"]

_ID_CHARACTERS = string.ascii_lowercase + string.digits
_ID_LENGTH = 4


class RunScope:
    """Context manager; leaving it undoes what was made through it, as cleanup would."""

    def __init__(
        self, base: Path | None = None, warn: Callable[[str], None] = lambda _: None
    ) -> None:
        """`warn` is called at the end with what is not given back, and why."""
        self._warn = warn
        self.base = default_base() if base is None else base
        self.id = "".join(secrets.choice(_ID_CHARACTERS) for _ in range(_ID_LENGTH))
        self.folder = self.base / self.id
        self.place: Place | None = None
        """Where children are started; None: on the host itself."""
        self.own_cores: CpuSet = ()
        """Where taut itself runs, though a restart moves it for a moment; empty: where it may."""
        # Of those that were lent and came back, by the count of their node.
        self._n_idle_hugepages: Counter[Path | None] = Counter()
        self._owner: Owner | None = None

    def __enter__(self) -> Self:
        make_private(self.base)
        owner = owner_of(self.id, os.getpid())
        # The name holds the owner, so that a folder without owner.json still tells who made it.
        new = self.base / f"{cleanup.NEW_PREFIX}{self.id}-{owner.pid}-{owner.start_time}"
        new.mkdir(mode=0o700)
        self._owner = owner.write(new)
        new.rename(self.folder)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with stage("cleaning up"):
            self._write_again()
            cleanup.remove_run(self.folder, self._warn)
        self._owner = None

    @contextmanager
    def at(self, place: Place | None) -> Iterator[None]:
        """Start children at a place while the block lasts; None: on the host itself."""
        before, self.place = self.place, place
        try:
            yield
        finally:
            self.place = before

    @property
    def environment(self) -> dict[str, str]:
        """What every child's environment carries: cleanup finds children by it."""
        return {"TAUT_RUN": self.id, "TAUT_RUN_DIR": str(self.folder)}

    def file_prefix(self, name: str) -> str:
        """DPDK's --file-prefix of one program of this run."""
        return f"taut-{self.id}-{name}"

    def link_name(self, suffix: str) -> str:
        """Name a network link of this run: 15 characters at most (IFNAMSIZ - 1)."""
        name = f"{cleanup.LINK_PREFIX}{self.id}{suffix}"
        if len(name) > 15:
            raise ValueError(f"link name {name!r} is longer than 15 characters")
        return name

    @contextmanager
    def namespace(self, name: str) -> Iterator[str]:
        """Make the network namespace taut-ID-NAME; gone on exit, with every link in it."""
        full_name = f"taut-{self.id}-{name}"
        netlink.create_namespace(full_name)
        try:
            yield full_name
        finally:
            netlink.remove_namespace(full_name)

    def add_hugepages(self, n_pages: int, near: Path | None = None) -> int:
        """Add hugepages of 2 MB for this run; give how many came. Fewer than asked is no error.

        They are taken from the NUMA node whose count `near` is (hugepages.count_near, count_on), as
        far as it has them; None: from all alike, and nobody knows which gave what.
        Without root none are added: the binaries then work without, and say what that costs.
        """
        if n_pages <= 0 or not hugepages.may_change():
            return 0
        with hugepages.locked():
            others = cleanup.settle_hugepages(self.base)
            grant = hugepages.plan_grant(n_pages, others=others, near=near)
            self._write(replace(self._owned, hugepages=(*self._owned.hugepages, grant)))
            grant = hugepages.take(grant)
            self._write(replace(self._owned, hugepages=(*self._owned.hugepages[:-1], grant)))
        return grant.added or 0

    @contextmanager
    def lent_hugepages(self, n_pages: int, near: Path | None = None) -> Iterator[int]:
        """Lend hugepages of 2 MB while the block lasts; give how many there are.

        What comes back is lent to the next of that node, so a run adds no more than are lent at one
        time, and has them until its end as if by add_hugepages.
        """
        n_lent = min(n_pages, self._n_idle_hugepages[near])
        self._n_idle_hugepages[near] -= n_lent
        n_lent += self.add_hugepages(n_pages - n_lent, near)
        try:
            yield n_lent
        finally:
            self._n_idle_hugepages[near] += n_lent

    def make_temp(self, path: Path) -> None:
        """Make a temporary folder that cleanup deletes if this run dies.

        It is named in owner.json before it is made and marked once it is: cleanup deletes nothing
        that has no mark. FileExistsError where there is something of that name.
        """
        temporary = (*self._owned.temporary, str(path.absolute()))
        self._write(replace(self._owned, temporary=temporary))
        path.mkdir()
        temporary_mark(path, self.id).touch()

    def release_temp(self, path: Path, kept_as: Path | None = None) -> None:
        """Forget a temporary folder that was deleted, or renamed to `kept_as`; removes its mark."""
        if kept_as is not None:
            temporary_mark(kept_as, self.id).unlink(missing_ok=True)
        kept = tuple(name for name in self._owned.temporary if name != str(path.absolute()))
        self._write(replace(self._owned, temporary=kept))

    def others(self) -> list[str]:
        """Warn of other live runs: one line each, empty when this run is alone."""
        return [
            f"another taut run ({owner.run_id}, pid {owner.pid}) is alive on other cores: "
            "they share caches, memory and taut's own core"
            for owner in cleanup.live_runs(self.base)
            if owner.run_id != self.id
        ]

    @property
    def _owned(self) -> Owner:
        if self._owner is None:
            raise RuntimeError("RunScope is used outside its `with` block")
        return self._owner

    def _write_again(self) -> None:
        """Name anew what there is to undo where somebody removed the folder that did."""
        if not (self.folder / OWNER_FILE).exists():
            make_private(self.base)
            self.folder.mkdir(mode=0o700, exist_ok=True)
            self._owned.write(self.folder)

    def _write(self, owner: Owner) -> None:
        try:
            self._owner = owner.write(self.folder)
        except FileNotFoundError:
            raise TautError(
                f"{self.folder}: somebody removed the folder of this run; start it again"
            ) from None
