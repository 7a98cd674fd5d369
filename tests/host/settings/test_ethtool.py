from collections.abc import Sequence
from pathlib import Path

import pytest

from host_tree import TreeWriter, tree
from taut.host.settings import EthtoolSetting
from taut.host.settings.ethtool import ethtool_options

COALESCE = """\
Coalesce parameters for eth0:
Adaptive RX: off  TX: on
stats-block-usecs:	n/a

rx-usecs:	8
rx-frames:	128
tx-usecs-high:	n/a

CQE mode RX: n/a  TX: n/a
"""
CHANNELS = """\
Channel parameters for eth0:
Pre-set maximums:
RX:		n/a
Combined:	8
Current hardware settings:
RX:		n/a
Combined:	4
"""
EEE = """\
EEE settings for eth0:
	EEE status: enabled - inactive
	Tx LPI: 0 (us)
"""
PAUSE = """\
Pause parameters for eth0:
Autonegotiate:	on
RX:		off
TX:		off
RX negotiated: on
"""
FILES = {
    "/commands/ethtool -c eth0": COALESCE,
    "/commands/ethtool -l eth0": CHANNELS,
    "/commands/ethtool --show-eee eth0": EEE,
    "/commands/ethtool -a eth0": PAUSE,
}


@pytest.mark.parametrize(
    ("group", "options"),
    [
        (
            "coalesce",
            {"rx-usecs": "8", "rx-frames": "128", "adaptive-rx": "off", "adaptive-tx": "on"},
        ),
        ("channels", {"combined": "4"}),
        ("eee", {"eee": "on"}),
        ("pause", {"autoneg": "on", "rx": "off", "tx": "off"}),
    ],
)
def test_what_ethtool_prints_is_read(tmp_path: Path, group: str, options: dict[str, str]) -> None:
    assert ethtool_options(tree(tmp_path, FILES), "eth0", group) == options


@pytest.mark.parametrize("group", ["coalesce", "channels", "eee", "pause"])
@pytest.mark.parametrize("text", ["", "::::\n:\n", "EEE status: not supported\n", "\0\xff"])
def test_what_is_not_understood_is_no_option(tmp_path: Path, group: str, text: str) -> None:
    host = tree(tmp_path, dict.fromkeys(FILES, text))

    assert ethtool_options(host, "eth0", group) == {}


def test_without_ethtool_there_is_no_value(tmp_path: Path) -> None:
    assert EthtoolSetting("eth0", "channels", "combined").read(tree(tmp_path, {})) is None


def test_ethtool_sets_one_option(tmp_path: Path) -> None:
    calls = []

    class Recorder(TreeWriter):
        def command(self, argv: Sequence[str], timeout_s: float | None = None) -> None:
            calls.append(argv)

    EthtoolSetting("eth0", "eee", "eee").write(Recorder(tree(tmp_path, {})), "off")

    assert calls == [["ethtool", "--set-eee", "eth0", "eee", "off"]]


def test_what_a_driver_cannot_do_is_unmovable() -> None:
    setting = EthtoolSetting("eth0", "coalesce", "rx-usecs")

    assert setting.unmovable(OSError(0, "netlink error: Operation not supported"))
    assert setting.unmovable(OSError(0, "netlink error: Invalid argument")) is None
