from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from host_tree import TreeWriter, tree
from taut.host.settings import SwapArea

HEADER = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"


@dataclass(frozen=True)
class Recorder(TreeWriter):
    calls: list[str] = field(default_factory=list)

    def command(self, argv: Sequence[str]) -> None:
        self.calls.append(" ".join(argv))


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("/dev/sda2 partition 100 0 -2\n", "on"),
        ("/dev/sda2 partition 100 0 5\n", "on 5"),
        ("/dev/other partition 100 0 -2\n", "off"),
        ("nonsense\n", "off"),
        ("", "off"),
    ],
)
def test_an_area_is_on_with_its_priority_or_off(tmp_path: Path, line: str, value: str) -> None:
    host = tree(tmp_path, {"/proc/swaps": HEADER + line})

    assert SwapArea("/dev/sda2").read(host) == value


def test_a_kernel_without_swap_has_no_value(tmp_path: Path) -> None:
    assert SwapArea("/dev/sda2").read(tree(tmp_path, {})) is None


def test_a_blank_in_the_name_is_understood(tmp_path: Path) -> None:
    host = tree(tmp_path, {"/proc/swaps": HEADER + "/my\\040swap file 100 0 -2\n"})

    assert SwapArea("/my swap").read(host) == "on"


def test_the_priority_somebody_gave_comes_back(tmp_path: Path) -> None:
    host = tree(tmp_path, {"/proc/swaps": HEADER})
    writer = Recorder(host)

    SwapArea("/dev/sda2").write(writer, "on 5")
    SwapArea("/dev/sda2").write(writer, "on")
    SwapArea("/dev/sda2").write(writer, "off")

    assert writer.calls == ["swapon -p 5 /dev/sda2", "swapon /dev/sda2"]
