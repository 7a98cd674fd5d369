import pytest

from grammar import cases
from taut.core.errors import InputError
from taut.dut.transmit import Buffer, parse_transmit

# What other policies take only the program knows: tests/seam/test_grammar.py asks it.
BUFFERED = [(text, held) for text, held in cases("transmit") if text.startswith("buffered")]


@pytest.mark.parametrize(("text", "held"), BUFFERED)
def test_a_policy_is_read_as_the_data_plane_reads_it(text: str, held: str | None) -> None:
    if held is None:
        with pytest.raises(InputError, match="transmit"):
            parse_transmit(text)
    else:
        packets, drain = held.split()
        drain_ns = None if drain == "none" else int(drain)
        assert parse_transmit(text) == Buffer(int(packets), drain_ns)


def test_other_policies_hold_nothing_back() -> None:
    assert parse_transmit("eager") is None
    assert parse_transmit("") is None
