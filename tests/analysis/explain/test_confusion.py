import numpy as np
import pyarrow as pa

from taut.analysis.explain.confusion import confuse

US = 1000


def gaps(*rows: tuple[int, int, str]) -> pa.Table:
    """Start and end in microseconds, and the verdict."""
    start, end, cause = zip(*rows, strict=True)
    return pa.table(
        {"start_ns": np.array(start) * US, "end_ns": np.array(end) * US, "cause": cause}
    )


def acts(*us: int) -> tuple[np.ndarray, np.ndarray]:
    """Acts of five microseconds that start there."""
    return np.array(us) * US, (np.array(us) + 5) * US


def test_an_act_gets_the_verdict_of_the_gap_it_shares_most_time_with() -> None:
    table = gaps((995, 1001, "timer"), (1002, 1010, "tlb-shootdown"))

    found = confuse("tlb-shootdown", *acts(1001), table, 2 * US)

    assert found.verdicts == {"tlb-shootdown": 1}
    assert found.recall == 1.0


def test_an_act_that_no_countable_gap_overlaps_is_unfelt() -> None:
    table = gaps((1001, 1002, "tlb-shootdown"), (9000, 9010, "timer"))

    found = confuse("tlb-shootdown", *acts(1000), table, 2 * US)

    assert (found.n_felt, found.n_unfelt, found.recall) == (0, 1, None)


def test_a_verdict_without_an_act_costs_precision() -> None:
    table = gaps((1000, 1010, "membarrier"), (5000, 5010, "membarrier"))

    found = confuse("membarrier", *acts(1002), table, 2 * US)

    assert (found.n_said, found.n_said_truly, found.precision) == (2, 1, 0.5)


def test_another_verdict_costs_recall_and_is_counted() -> None:
    table = gaps((1000, 1010, "timer"), (3000, 3010, "softirq"))

    found = confuse("softirq", *acts(1001, 3001), table, 2 * US)

    assert found.recall == 0.5
    assert dict(found.verdicts) == {"timer": 1, "softirq": 1}


def test_what_nobody_said_has_no_precision() -> None:
    found = confuse("softirq", *acts(1000), gaps((0, 1, "timer")), 2 * US)

    assert found.precision is None
