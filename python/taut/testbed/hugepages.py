"""Hugepages of 2 MB, added while the machine runs and given back.

Pages are always added. Free ones that are there are not used: they belong to somebody who reserved
them, maybe another run whose program is just about to map them. Nor are pages given back where the
count is not what runs have made of it: then an administrator has set it, and it is theirs.

Where there are several NUMA nodes, the node that wants the pages is asked first. The count is that
of all nodes even so: what one node lacks comes from the others, and goes back there. After a death
amid a change, when it was not noted which gave what, all nodes take back alike.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from taut.core.held import held_alone
from taut.testbed.owner import HugepageGrant

_COUNT = "hugepages/hugepages-2048kB/nr_hugepages"
NR_HUGEPAGES = Path("/sys/kernel/mm") / _COUNT
_DEVICES = Path("/sys/devices/system")

_MOST_S = 60.0


def may_change() -> bool:
    """Whether this process may add hugepages."""
    return os.access(NR_HUGEPAGES, os.W_OK)


@contextmanager
def locked(path: Path = NR_HUGEPAGES) -> Iterator[None]:
    """Hold the machine's lock on the count: several runs read, change and write it.

    The lock is on the kernel's file itself, which runs in different base folders and containers
    share; the kernel releases it when the holder dies. Who holds it for longer than a minute is no
    run, and not waited for. Of each other's grants runs in different base folders do not know:
    pages that both added at one time stay, and that is said.
    """
    with held_alone(path, _MOST_S):
        yield


def count_near(core: int, devices: Path = _DEVICES) -> Path | None:
    """Give the count of a core's node; None: there is one node, or nothing tells."""
    return _one_of_several(f"cpu/cpu{core}/node[0-9]*", devices)


def count_on(node: int, devices: Path = _DEVICES) -> Path | None:
    """Give the count of a node; None as for count_near."""
    return _one_of_several(f"node/node{node}", devices)


def plan_grant(
    n_pages: int,
    path: Path = NR_HUGEPAGES,
    others: Sequence[HugepageGrant] = (),
    near: Path | None = None,
) -> HugepageGrant:
    """Describe the grant that is about to be taken; goes into owner.json before take().

    `others` have been taken and not been given back; settled. `near`: the node's count that gives
    first.
    """
    now = _read(path)
    bases = sorted({other.base for other in others})
    total = _added(others)
    found = next((base for base in bases if now in (_left_by(others, base), base + total)), now)
    of_node = None if near is None else str(near)
    return HugepageGrant(str(path), now, n_pages, added=None, found=found, near=of_node)


def take(grant: HugepageGrant) -> HugepageGrant:
    """Ask the kernel for the pages; memory may be too fragmented for all of them."""
    path, before = Path(grant.path), _read_nodes(grant)
    if grant.near is not None:
        _change(Path(grant.near), grant.asked)
    path.write_text(f"{grant.before + grant.asked}\n", encoding="ascii")  # the others, for the rest
    added = max(0, _read(path) - grant.before)
    gave = {node: max(0, count - before[node]) for node, count in _read_nodes(grant).items()}
    return replace(grant, added=added, by_node=gave)


def settle(grant: HugepageGrant) -> HugepageGrant:
    """Complete a grant whose owner died before it noted how many pages came.

    Exact under the lock, before anybody else changes the count: pages above `before` are the
    grant's, up to the number asked for.
    """
    if grant.added is not None:
        return grant
    above = _read(Path(grant.path)) - grant.before
    # Of a return that gave some back, nobody knows which.
    by_node = grant.by_node if above == grant.asked else None
    return replace(grant, added=max(0, min(grant.asked, above)), by_node=by_node)


def plan_return(grant: HugepageGrant, others: Sequence[HugepageGrant] = ()) -> HugepageGrant:
    """Plan to give a settled grant back: all pages that were added, or `asked` is 0.

    They are given back where the count is what runs made of the one that was found. Where that was
    a state of the host which has been left since, it is all of theirs above what one of them found
    outside, or above 0. The plan has the form of a grant, so that `settle` also completes a cleanup
    that was killed: after the write no page lies above `before`.
    """
    now = _read(Path(grant.path))
    held = (grant, *others)
    bases = {0, *(one.base for one in held)}
    is_as_left = now == _left_by(held, grant.base) or now - _added(held) in bases
    n_pages = (grant.added or 0) if is_as_left else 0
    return replace(grant, before=now - n_pages, asked=n_pages, added=None, found=grant.base)


def give_back(plan: HugepageGrant) -> None:
    """Carry out what plan_return() planned."""
    if plan.asked > 0:
        for node, n_pages in (plan.by_node or {}).items():
            _change(Path(node), -n_pages)
        Path(plan.path).write_text(f"{plan.before}\n", encoding="ascii")


def _one_of_several(node: str, devices: Path) -> Path | None:
    if len(list(devices.glob("node/node[0-9]*"))) < 2:
        return None
    return next((path.resolve() for path in devices.glob(f"{node}/{_COUNT}")), None)


def _read_nodes(grant: HugepageGrant) -> dict[str, int]:
    """Read the count of each node; none where the grant is of no node."""
    if grant.near is None:
        return {}
    nodes = Path(grant.near).parents[3]
    return {str(path): _read(path) for path in sorted(nodes.glob(f"node[0-9]*/{_COUNT}"))}


def _change(path: Path, n_pages: int) -> None:
    path.write_text(f"{max(0, _read(path) + n_pages)}\n", encoding="ascii")


def _left_by(grants: Sequence[HugepageGrant], base: int) -> int:
    """Give the count that those of the grants leave which found the same."""
    return base + _added([grant for grant in grants if grant.base == base])


def _added(grants: Sequence[HugepageGrant]) -> int:
    return sum(grant.added or 0 for grant in grants)


def _read(path: Path) -> int:
    return int(path.read_text(encoding="ascii"))
