"""Hugepages of two NUMA nodes, by a pool whose counts act as the kernel's."""

from contextlib import suppress
from itertools import cycle
from pathlib import Path

import pytest

from taut.testbed import hugepages
from taut.testbed.owner import HugepageGrant


class Pool:
    """An administrator has 100 pages on each node; the second has room for 30 more."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "nr_hugepages"
        self.nodes = [folder / f"node/node{node}" / hugepages._COUNT for node in (0, 1)]
        self.n_pages = [100, 100]
        self.room = [1000, 30]
        self.n_writes_left = 1000
        """Before the process dies."""
        for path in self.nodes:
            path.parent.mkdir(parents=True)
        self.show()

    def write(self, path: Path, text: str) -> None:
        """Change a node, or both in turn, as far as there is room."""
        if self.n_writes_left == 0:
            raise KeyboardInterrupt
        self.n_writes_left -= 1
        of = (0, 1) if path == self.path else (self.nodes.index(path),)
        change = int(text) - sum(self.n_pages[node] for node in of)
        step = 1 if change > 0 else -1
        for node in cycle(of):
            has = self.room if step > 0 else self.n_pages
            if change == 0 or not any(has[each] for each in of):
                break
            if has[node]:
                self.n_pages[node] += step
                self.room[node] -= step
                change -= step
        self.show()

    def show(self) -> None:
        for path, n_pages in zip(self.nodes, self.n_pages, strict=True):
            path.write_bytes(b"%d\n" % n_pages)
        self.path.write_bytes(b"%d\n" % sum(self.n_pages))


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pool:
    made = Pool(tmp_path)
    monkeypatch.setattr(Path, "write_text", lambda path, text, **_: made.write(path, text))
    return made


def test_each_node_gets_back_what_it_gave(pool: Pool) -> None:
    grant = hugepages.take(hugepages.plan_grant(64, pool.path, near=pool.nodes[1]))
    assert pool.n_pages == [134, 130]

    hugepages.give_back(hugepages.plan_return(grant))

    assert pool.n_pages == [100, 100]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["in turn", "in reverse"])
def test_of_two_runs_each_node_gets_back_what_it_gave(pool: Pool, order: tuple[int, int]) -> None:
    grants = [hugepages.take(hugepages.plan_grant(20, pool.path, near=pool.nodes[1]))]
    grants += [hugepages.take(hugepages.plan_grant(64, pool.path, grants, pool.nodes[1]))]
    assert pool.n_pages == [154, 130]

    hugepages.give_back(hugepages.plan_return(grants[order[0]], [grants[order[1]]]))
    hugepages.give_back(hugepages.plan_return(grants[order[1]]))

    assert pool.n_pages == [100, 100]


def test_what_other_nodes_gave_for_a_short_one_goes_back_to_them(pool: Pool) -> None:
    pool.room = [1000, 10]
    grants: list[HugepageGrant] = []
    for node in (0, 1):
        near = hugepages.count_on(node, pool.path.parent)
        grants += [hugepages.take(hugepages.plan_grant(64, pool.path, grants, near))]
    assert pool.n_pages == [218, 110]

    while grants:
        hugepages.give_back(hugepages.plan_return(grants.pop(), grants))

    assert pool.n_pages == [100, 100]


def test_a_take_that_was_killed_between_its_writes_is_given_back(pool: Pool) -> None:
    intended = hugepages.plan_grant(64, pool.path, near=pool.nodes[1])
    pool.n_writes_left = 1
    with pytest.raises(KeyboardInterrupt):
        hugepages.take(intended)
    assert pool.n_pages == [100, 130]
    pool.n_writes_left = 1000

    hugepages.give_back(hugepages.plan_return(hugepages.settle(intended)))

    assert sum(pool.n_pages) == 200


@pytest.mark.parametrize("n_writes", range(4))
def test_a_return_that_was_killed_between_its_writes_is_finished(pool: Pool, n_writes: int) -> None:
    grant = hugepages.take(hugepages.plan_grant(64, pool.path, near=pool.nodes[1]))
    plan = hugepages.plan_return(grant)
    pool.n_writes_left = n_writes
    with suppress(KeyboardInterrupt):
        hugepages.give_back(plan)
    pool.n_writes_left = 1000

    hugepages.give_back(hugepages.plan_return(hugepages.settle(plan)))

    assert sum(pool.n_pages) == 200
    # Where one node has its own back already, nobody knows of which the rest is.
    assert pool.n_pages == [100, 100] or n_writes == 1
