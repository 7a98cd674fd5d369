"""The device does what every device of taut does."""

from pathlib import Path

import pytest
from taut.testing import devices
from taut_example.device import PACKET_SOCKET


@pytest.mark.parametrize("link", PACKET_SOCKET.link_kinds)
def test_it_conforms(link: str, tmp_path: Path) -> None:
    options = PACKET_SOCKET.options_type()
    if reason := devices.lacks(PACKET_SOCKET, link, options):
        pytest.skip(reason)

    devices.conforms(PACKET_SOCKET, link, tmp_path)
