import pytest

from grammar import cases
from taut.core.errors import InputError
from taut.dut.transmit import parse_transmit, spell_transmit
from taut.records.documents.trial import Holds

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
        assert parse_transmit(text) == Holds(int(packets), drain_ns)
        assert parse_transmit(spell_transmit(text)) == Holds(int(packets), drain_ns)


def test_other_policies_hold_nothing_back() -> None:
    assert parse_transmit("eager") is None
    assert parse_transmit("") is None


@pytest.mark.parametrize(
    ("text", "handed"),
    [
        ("buffered", "buffered:packets=32,drain=100000ns"),
        ("buffered:drain=none", "buffered:packets=32,drain=none"),
        ("buffered:8,1.5 ms", "buffered:packets=8,drain=1500000ns"),
        ("eager", "eager"),
    ],
)
def test_the_program_is_handed_numbers(text: str, handed: str) -> None:
    assert spell_transmit(text) == handed
