"""Cards by their PCI address, as far as emulation goes: QEMU's igb, a physical and a virtual one.

One guest has four of them, wired in pairs. taut-generate has one of each pair; taut-forward has the
other of the first, and of the second a virtual function, whose physical one is the kernel's own.
Bound to vfio-pci behind an emulated IOMMU, as on a machine that has them.
"""

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from taut.core.errors import TrialError
from taut.testbed.guest import image, qemu
from taut.testbed.guest.kernel import Kernel, cache_folder, fetch_kernel, held_cache
from taut.testbed.guest.machine import Machine, machine
from taut.testbed.guest.qemu import Files, Shape
from taut.testbed.scope import RunScope

N_CARDS = 4
IGB = "0x80860x10c9"
IGB_MODULES = (
    "drivers/dca/dca.ko",
    "drivers/i2c/algos/i2c-algo-bit.ko",
    "drivers/net/ethernet/intel/igb/igb.ko",
)
# Where the frames of direction 1 go (dataplane/generator/probe.c): a virtual function is not given
# what is for others.
STATION = "02:74:00:00:00:01"
GENERATOR_CORE, DEVICE_CORE = 1, 2

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.guest,
    pytest.mark.root,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        (missing := qemu.missing() or image.missing_tools()) is not None, reason=str(missing)
    ),
]


def cards() -> list[str]:
    """Give QEMU's words for cards that are wired in pairs, each behind a root port of its own."""
    words: list[str] = []
    for number in range(N_CARDS):
        words += [
            *("-device", f"pcie-root-port,id=root{number},chassis={number},addr={8 + number:#x}"),
            *("-netdev", f"hubport,id=wire{number},hubid={number // 2}"),
            "-device",
            f"igb,bus=root{number},netdev=wire{number},mac=02:74:00:00:02:{number:02x},romfile=",
        ]
    return words


def with_driver(kernel: Kernel) -> Kernel:
    """Add the kernel's own driver of the cards, as far as it is not built in."""
    tree = kernel.config.parents[1] / f"lib/modules/{kernel.release}/kernel"
    paths = [tree / name for name in IGB_MODULES]
    return replace(kernel, modules=(*kernel.modules, *(path for path in paths if path.exists())))


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    cache, logs = cache_folder(), tmp_path_factory.mktemp("logs")
    ip = Path(shutil.which("ip") or "/usr/sbin/ip")
    with RunScope() as scope:
        with held_cache(cache):
            kernel = with_driver(fetch_kernel("amd64", cache))
            base = image.base_image(kernel, cache)
            initrd = image.with_files(base, [ip], scope.folder)
        shape = Shape(
            kernel,
            initrd,
            qemu.IOMMU_PARAMETERS,
            cpus=3,
            memory_mib=1024,
            hugepages=200,
            has_iommu=True,
            more=tuple(cards()),
        )
        files = Files(scope.folder, "nics", logs / "console.log", logs / "program.log")
        with machine(shape, files, (), (0, 1), (0, 1), scope) as running:
            yield running


@dataclass(frozen=True)
class Passed:
    """What generator and forwarder counted."""

    generator: dict[str, Any]
    forwarder: dict[str, Any]


@pytest.fixture(scope="module")
def passed(guest: Machine) -> Passed:
    control = guest.control
    first, device, physical, last = find_cards(guest)
    at = f"/sys/bus/pci/devices/{physical}"
    control.must(f"echo 1 >{at}/sriov_numvfs")
    virtual = control.must(f"basename $(readlink {at}/virtfn0)").text.strip()
    name = control.must(f"ls {at}/net").text.strip()
    control.must(f"/usr/sbin/ip link set {name} up")
    control.must(f"/usr/sbin/ip link set {name} vf 0 mac {STATION} spoofchk off")
    guest.bind([first, device, last, virtual], "vfio-pci")
    control.must(
        f"taut-forward --port pci:{device} --port pci:{virtual} --core {DEVICE_CORE}"
        " --writer-core 0 --stats /out/stats >/out/forward.log 2>&1 & echo $! >/run/forward"
    )
    wait_ready(guest)
    sent = control.run(
        f"taut-generate --tx pci:{first} --rx pci:{last} --both --rate 200pps --duration 2s"
        f" --warm-up 100ms --deadline 20s --core {GENERATOR_CORE}"
        " --accept-unstable-clock --out /out/sent",
        120,
    )
    assert sent.status == 0, sent.text
    control.must(
        "p=$(cat /run/forward); kill -INT $p; while [ -e /proc/$p/exe ]; do sleep 0.1; done"
    )
    return Passed(
        json.loads(control.must("cat /out/sent/generator.json").said),
        json.loads(control.must("cat /out/stats").said),
    )


def find_cards(guest: Machine) -> list[str]:
    """Give the addresses of the physical ones, in the order in which they are wired."""
    said = guest.control.must(
        "for d in /sys/bus/pci/devices/*; do"
        f" [ $(cat $d/vendor)$(cat $d/device) != {IGB} ] || basename $d; done"
    )
    found = said.text.split()
    assert len(found) == N_CARDS
    return found


def wait_ready(guest: Machine) -> None:
    deadline = time.monotonic() + 60
    while "ready" not in (said := guest.control.run("cat /out/forward.log").text):
        if time.monotonic() > deadline or guest.control.run("kill -0 $(cat /run/forward)").status:
            raise TrialError("taut-forward in the guest is not ready", said.splitlines())
        time.sleep(0.2)


def test_a_physical_and_a_virtual_function_forward_both_ways(passed: Passed) -> None:
    there, back = passed.generator["directions"]

    assert there["sent"] > 0
    assert back["sent"] > 0
    assert (there["lost"], back["lost"]) == (0, 0)
    physical, virtual = passed.forwarder["ports"]
    assert (physical["rx"], virtual["tx"]) == (there["sent"], there["sent"])
    assert (virtual["rx"], physical["tx"]) == (back["sent"], back["sent"])
