import errno
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

    def command(self, argv: Sequence[str], timeout_s: float | None = None) -> None:
        limit = "" if timeout_s is None else f" within {timeout_s:.0f} s"
        self.calls.append(" ".join(argv) + limit)


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


def memory(available_kb: int) -> str:
    return f"MemTotal: 4000000 kB\nMemFree: 1 kB\nMemAvailable: {available_kb} kB\n"


def area(used_kb: int) -> str:
    return f"{HEADER}/dev/sda2 partition 4000000 {used_kb} -2\n"


def test_it_is_switched_off_when_all_fits_into_memory(tmp_path: Path) -> None:
    writer = Recorder(
        tree(tmp_path, {"/proc/swaps": area(600_000), "/proc/meminfo": memory(1_000_000)})
    )

    SwapArea("/dev/sda2").write(writer, "off")

    assert writer.calls == ["swapoff /dev/sda2 within 60 s"]


@pytest.mark.parametrize("meminfo", [memory(999_999), "MemTotal: 4000000 kB\n", ""])
def test_what_does_not_fit_with_a_tenth_of_memory_to_spare_stays(
    tmp_path: Path, meminfo: str
) -> None:
    writer = Recorder(tree(tmp_path, {"/proc/swaps": area(600_000), "/proc/meminfo": meminfo}))
    setting = SwapArea("/dev/sda2")

    with pytest.raises(OSError, match="585 MB") as caught:
        setting.write(writer, "off")

    assert writer.calls == []
    assert caught.value.errno == errno.ENOMEM
    # Swap is as it was: no reason to take everything else back.
    assert "585 MB" in (setting.unmovable(caught.value) or "")


def test_an_area_nobody_uses_needs_no_memory(tmp_path: Path) -> None:
    writer = Recorder(tree(tmp_path, {"/proc/swaps": area(0)}))

    SwapArea("/dev/sda2").write(writer, "off")

    assert writer.calls == ["swapoff /dev/sda2 within 60 s"]


def test_a_swapoff_that_takes_too_long_leaves_swap_on_and_is_no_failure(tmp_path: Path) -> None:
    class Slow(Recorder):
        def command(self, argv: Sequence[str], timeout_s: float | None = None) -> None:
            raise OSError(errno.ETIMEDOUT, "swapoff /dev/sda2: not done after 60 s")

    setting = SwapArea("/dev/sda2")
    host = tree(tmp_path, {"/proc/swaps": area(0)})

    with pytest.raises(OSError, match="not done") as caught:
        setting.write(Slow(host), "off")

    assert "not done" in (setting.unmovable(caught.value) or "")
    assert setting.unmovable(OSError(errno.EPERM, "no")) is None
