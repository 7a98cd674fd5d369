import pytest
from pydantic import ValidationError

from taut.dut.drivers.chain import ChainOptions
from taut.dut.forwarder import TautForwardOptions
from taut.dut.stamping import AUTO, MOST_STAMPED, stamp_every


@pytest.mark.parametrize(
    ("n_packets", "every"),
    [(1, 1), (MOST_STAMPED, 1), (MOST_STAMPED + 1, 2), (10 * MOST_STAMPED, 10), (0, 0)],
)
def test_auto_stamps_no_more_than_a_budget_needs(n_packets: int, every: int) -> None:
    assert stamp_every(AUTO, n_packets) == every


@pytest.mark.parametrize("asked", [0, 1, 5])
def test_number_that_was_asked_for_stays(asked: int) -> None:
    assert stamp_every(asked, 10 * MOST_STAMPED) == asked


def test_hops_of_a_chain_stamp_the_same_packets() -> None:
    options = ChainOptions.model_validate({}).stamping(3 * MOST_STAMPED)

    assert options.stamp_every == 3
    assert [hop.stamp_every for hop in options.hops] == [3, 3]


def test_single_forwarder_stamps_when_asked() -> None:
    assert TautForwardOptions().stamping(1_000).stamp_every == 0
    asked = TautForwardOptions.model_validate({"stamp_every": "auto"})
    assert asked.stamping(1_000).stamp_every == 1


def test_hop_cannot_stamp_by_itself() -> None:
    with pytest.raises(ValidationError, match="an option of the chain, not of a hop"):
        ChainOptions.model_validate({"hops": [{"stamp_every": 4}, {}]})


@pytest.mark.parametrize("bad", [-1, "often", 1 << 32])
def test_other_words_are_refused(bad: object) -> None:
    with pytest.raises(ValidationError):
        ChainOptions.model_validate({"stamp_every": bad})


def test_options_that_were_stored_are_read_again() -> None:
    stored = ChainOptions.model_validate({}).model_dump(mode="json")

    assert ChainOptions.model_validate(stored).stamp_every == AUTO
