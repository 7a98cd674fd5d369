"""Hugepages of 2 MB, added while the machine runs and given back.

Pages are always added, never shared with free ones that are there: those belong to somebody who
reserved them, maybe another run whose program is just about to map them.
"""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from taut.testbed.owner import HugepageGrant

NR_HUGEPAGES = Path("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")


def may_change() -> bool:
    """Whether this process may add hugepages."""
    return os.access(NR_HUGEPAGES, os.W_OK)


@contextmanager
def locked(path: Path = NR_HUGEPAGES) -> Iterator[None]:
    """Hold the machine's lock on the count, which is read, changed and written by several runs.

    The lock is on the kernel's file itself, which runs in different base folders and containers
    share; the kernel releases it when the holder dies.
    """
    with path.open(encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def intend(n_pages: int, path: Path = NR_HUGEPAGES) -> HugepageGrant:
    """Say what is about to be taken; written to owner.json before take()."""
    return HugepageGrant(str(path), before=_read(path), asked=n_pages, added=None)


def take(grant: HugepageGrant) -> HugepageGrant:
    """Ask the kernel for the pages; memory may be too fragmented for all of them."""
    path = Path(grant.path)
    path.write_text(f"{grant.before + grant.asked}\n", encoding="ascii")
    added = max(0, _read(path) - grant.before)
    return HugepageGrant(grant.path, grant.before, grant.asked, added)


def settle(grant: HugepageGrant) -> HugepageGrant:
    """Find out what a grant without the kernel's answer came to: its owner died amid a change.

    Exact under the lock, if it is done before anybody else changes the count: whatever lies above
    `before`, and was asked for, is the grant's.
    """
    if grant.added is not None:
        return grant
    above = _read(Path(grant.path)) - grant.before
    return replace(grant, added=max(0, min(grant.asked, above)))


def returning(grant: HugepageGrant, others: Sequence[HugepageGrant] = ()) -> HugepageGrant:
    """Plan the way back of a settled grant: what was added goes, never what other runs hold.

    The plan has the form of an intention, so that a cleanup that is killed itself is settled in
    the same way: after the write nothing lies above `before` any more.
    """
    now = _read(Path(grant.path))
    held = sum(other.added or 0 for other in others)
    n_pages = max(0, min(grant.added or 0, now - held))
    return HugepageGrant(grant.path, before=now - n_pages, asked=n_pages, added=None)


def give_back(plan: HugepageGrant) -> None:
    """Carry out what returning() planned."""
    if plan.asked > 0:
        Path(plan.path).write_text(f"{plan.before}\n", encoding="ascii")


def _read(path: Path) -> int:
    return int(path.read_text(encoding="ascii"))
