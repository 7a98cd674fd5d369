"""Hugepages of 2 MB, added while the machine runs and given back.

Pages are always added, never shared with free ones that are there: those belong to somebody who
reserved them, maybe another run whose program is just about to map them.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from taut.testbed.owner import HugepageGrant

NR_HUGEPAGES = Path("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")


def may_change() -> bool:
    """Whether this process may add hugepages."""
    return os.access(NR_HUGEPAGES, os.W_OK)


def intend(n_pages: int, path: Path = NR_HUGEPAGES) -> HugepageGrant:
    """Say what is about to be taken; written to owner.json before take()."""
    return HugepageGrant(str(path), before=_read(path), asked=n_pages, added=None)


def take(grant: HugepageGrant) -> HugepageGrant:
    """Ask the kernel for the pages; memory may be too fragmented for all of them."""
    path = Path(grant.path)
    path.write_text(f"{grant.before + grant.asked}\n", encoding="ascii")
    added = max(0, _read(path) - grant.before)
    return HugepageGrant(grant.path, grant.before, grant.asked, added)


def give_back(grant: HugepageGrant, others: Sequence[HugepageGrant] = ()) -> int:
    """Subtract what was added, never below what others hold; give the number of pages.

    `added` is None when the owner died between intention and answer. Then what is there beyond
    `before`, less what others added since, is ours.
    """
    path = Path(grant.path)
    now = _read(path)
    if grant.added is not None:
        ours = grant.added
    else:
        since = sum(g.added or 0 for g in others if g.before >= grant.before)
        ours = min(grant.asked, now - grant.before - since)
    floor = sum(g.added or 0 for g in others)
    n_pages = max(0, min(ours, now - floor))
    if n_pages > 0:
        path.write_text(f"{now - n_pages}\n", encoding="ascii")
    return n_pages


def _read(path: Path) -> int:
    return int(path.read_text(encoding="ascii"))
