from pathlib import Path

from host_tree import TreeWriter, tree
from taut.host.settings import IrqPlacement
from taut.host.settings.irq_placement import bring_back, is_within

FILES = {
    "/proc/irq/24/smp_affinity_list": "0\n",
    "/proc/irq/24/smp_affinity": "1\n",
    "/proc/irq/24/effective_affinity_list": "0\n",
}


def test_an_interrupt_goes_back_to_its_core(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)

    IrqPlacement(24).write(TreeWriter(host), "0-3 on 2")

    assert IrqPlacement(24).read(host) == "0-3 on 2"


def test_one_that_does_not_fire_is_named_and_has_its_mask(tmp_path: Path) -> None:
    class Idle(TreeWriter):
        def _also(self, path: str, text: str) -> None:
            """Leaves the tree alone: writing the mask moves no interrupt."""

    host = tree(tmp_path, FILES)

    left = bring_back(Idle(host), [(IrqPlacement(24), "0-3 on 2")], wait_s=0.01)

    assert left == [IrqPlacement(24)]
    assert IrqPlacement(24).read(host) == "0-3 on 0"
    assert IrqPlacement(24).agrees("0-3 on 0", "0-3 on 2")


def test_one_its_driver_manages_is_left_alone(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    writer = TreeWriter(host, refusals={"/proc/irq/24/smp_affinity_list": 5})

    assert bring_back(writer, [(IrqPlacement(24), "0-3 on 2")], wait_s=0) == [IrqPlacement(24)]


def test_without_effective_affinity_there_is_no_value(tmp_path: Path) -> None:
    assert IrqPlacement(24).read(tree(tmp_path, {})) is None


def test_an_interrupt_that_waits_for_its_next_firing_is_outside() -> None:
    assert is_within("0-1 on 1")
    assert not is_within("0 on 1")
