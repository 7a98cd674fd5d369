"""A guest that is made up: what a trial may take for its own."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from taut.testbed.guest import judged
from taut.testbed.guest.kernel import Kernel, cache_folder, missing_kernel
from taut.testbed.guest.qemu import Shape
from taut.testbed.placement import Tenant
from taut.testbed.placements import vm
from taut.testbed.program import Program
from taut.testbed.scope import RunScope


def made_up(monkeypatch: pytest.MonkeyPatch, folder: Path, tree: Path) -> MagicMock:
    """Have no guest booted; give what stands for the class of its programs."""

    @contextmanager
    def booted(*_: object, **__: object) -> Iterator[MagicMock]:
        yield MagicMock()

    kernel = Kernel("6.1.0", folder / "vmlinuz", folder / "config", ())
    shape = Shape(kernel, folder / "initrd", "")
    for name in ("translate", "with_gaps_above", "GuestChild"):
        monkeypatch.setattr(vm, name, MagicMock())
    monkeypatch.setattr(vm, "machine", booted)
    monkeypatch.setattr(vm.Guests, "_shape", lambda *_: (shape, tree))
    monkeypatch.setattr(vm.Guests, "_describe", lambda *_: None)
    programs: MagicMock = vm.GuestChild
    return programs


def test_events_of_the_trial_before_are_none_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_up(monkeypatch, tmp_path, tmp_path / "tree")
    tenant = Tenant("taut_forward", "vhost", (1,), (0,), (), tmp_path)

    with RunScope(tmp_path / "base") as scope:
        places = [vm.Guests(vm.VmOptions(), tenant, scope) for _ in range(2)]
        found = []
        for place in places:
            with place.started(Program("taut-forward", (), tmp_path / "log", (0, 1))):
                assert place.events is not None
                found.append(place.events.exists())
                # The second guest is killed before anything is fetched from it.
                place.events.mkdir(exist_ok=True)

    assert places[0].events == places[1].events
    assert found == [False, False]


def test_two_runs_that_keep_the_same_tree_take_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    tree = cache_folder() / "trees" / "same"
    programs = made_up(monkeypatch, tmp_path, tree)
    fetched: list[Path] = []

    def fetch(_control: object, _kernel: object, folder: Path) -> None:
        fetched.append(folder)
        time.sleep(0.2)  # so that the other one comes meanwhile
        (folder / "cmdline").write_text("quiet")

    def audited(folder: Path, *_: object) -> str:
        return (folder / "cmdline").read_text()

    monkeypatch.setattr(judged, "fetch_tree", fetch)
    monkeypatch.setattr(vm, "audit", audited)
    tenant = Tenant("taut_forward", "vhost", (1,), (0,), (), tmp_path)
    with RunScope(tmp_path / "base") as scope, ThreadPoolExecutor() as threads:
        places = [vm.Guests(vm.VmOptions(), tenant, scope) for _ in range(2)]
        for place in places:
            with place.started(Program("taut-forward", (), tmp_path / "log", (0, 1))):
                pass
        looks: list[Callable[[], None]] = [call.args[5] for call in programs.call_args_list]
        for look in [threads.submit(look) for look in looks]:
            look.result()

    assert [place.notes[-1] for place in places] == ["quiet", "quiet"]
    assert (len(fetched), list(tree.parent.iterdir())) == (1, [tree])


@pytest.mark.parametrize("lacking", ["drivers", "kernel"])
def test_a_guest_that_cannot_be_made_is_missing(
    lacking: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a distribution without DPDK's plug-ins there, or without Debian's kernels."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(vm.qemu, "missing", lambda: None)
    monkeypatch.setattr(vm.image, "missing_tools", lambda: None)
    plug_ins = tmp_path / "pmds-23.0"
    plug_ins.mkdir()
    if lacking == "kernel":
        (plug_ins / "librte_net_virtio.so").touch()
    monkeypatch.setattr(vm.image, "_PLUG_INS_IN", tmp_path, raising=False)

    said = vm.VmPlacement().missing(vm.VmOptions(kernel="rt"))

    told = {
        "drivers": f"DPDK's drivers are not in {tmp_path}/pmds-*; install libdpdk-dev",
        "kernel": f"kernel rt: apt knows no linux-image-rt-amd64, and {tmp_path}/taut/vm has none; "
        "`apt-get update` first (Debian 12 or newer)",
    }
    assert said == told[lacking]


def test_a_kernel_that_is_kept_is_enough_and_results_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its release, which a resumed run compares."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    cache = cache_folder()
    assert missing_kernel("amd64", cache) is not None
    (cache / "6.1.0-amd64").mkdir(parents=True)
    (cache / "6.1.0-amd64/.whole").touch()

    assert missing_kernel("amd64", cache) is None
    version = vm.VmPlacement().version(vm.VmOptions())
    assert str(version).endswith("kernel amd64 6.1.0-amd64")
