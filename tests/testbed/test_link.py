"""How Python names a port is how the data plane reads it."""

import pytest

from grammar import cases
from taut.core.errors import InputError
from taut.testbed.link import port_text
from taut.testbed.links.pci import _ADDRESS


@pytest.mark.parametrize(
    ("text", "meaning"), [(text, meaning) for text, meaning in cases("port") if meaning]
)
def test_ports_are_written_as_the_data_plane_reads_them(text: str, meaning: str) -> None:
    kind, name, *options = meaning.split()

    assert port_text(kind, name, **dict(option.split("=") for option in options)) == text


def test_a_name_that_would_end_at_its_comma_is_refused() -> None:
    with pytest.raises(InputError, match="port memif:/run/a,b: its name has a comma"):
        port_text("memif", "/run/a,b")


@pytest.mark.parametrize(("text", "meaning"), cases("pci"))
def test_cards_are_named_as_the_data_plane_reads_them(text: str, meaning: str | None) -> None:
    assert (_ADDRESS.fullmatch(text) is not None) == (meaning is not None)
