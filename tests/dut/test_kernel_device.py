"""Where the kernel can work: it steers nothing to a core isolated at boot, its threads go there."""

from pathlib import Path

import pytest

from host_tree import tree
from taut.core.errors import TrialError
from taut.dut import kernel_device
from taut.dut.kernel_device import KernelOptions, place

CPU = "/sys/devices/system/cpu"
IS_ISOLATED = (
    "is isolated at boot, the kernel steers nothing there (RPS); say options = { placement ="
    ' "threaded" }, or name another core: cores.device'
)


@pytest.mark.parametrize(
    ("files", "cores", "refused"),
    [
        ({f"{CPU}/isolated": "8\n"}, (8,), "core 8"),
        ({f"{CPU}/isolated": "\n", f"{CPU}/nohz_full": "2-9\n"}, (8,), "core 8"),
        ({f"{CPU}/isolated": "7-8\n"}, (3,), None),
        ({f"{CPU}/isolated": "\n", f"{CPU}/nohz_full": "(null)\n"}, (8,), None),
        ({}, (8,), None),
    ],
)
def test_rps_needs_a_core_that_is_not_isolated(
    files: dict[str, str], cores: tuple[int, ...], refused: str | None, tmp_path: Path
) -> None:
    host = tree(tmp_path, files)

    why = KernelOptions().refuses_cores(cores, host)

    assert why == (refused and f"{refused} {IS_ISOLATED}")
    for placement in ("threaded", "sender"):
        assert KernelOptions(placement=placement).refuses_cores(cores, host) is None


def test_nothing_is_steered_to_an_isolated_core(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = tree(tmp_path, {f"{CPU}/isolated": "8\n"})
    monkeypatch.setattr(kernel_device, "Host", lambda: host)

    with pytest.raises(TrialError, match=r"core 8 is isolated at boot, .*threaded"):
        place("no-namespace", ["d0", "d1"], (8,), KernelOptions())
