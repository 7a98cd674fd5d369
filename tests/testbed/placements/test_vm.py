"""A guest that is made up: what a trial may take for its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from taut.testbed.guest.kernel import Kernel
from taut.testbed.guest.qemu import Shape
from taut.testbed.placement import Tenant
from taut.testbed.placements import vm
from taut.testbed.program import Program
from taut.testbed.scope import RunScope


def test_events_of_the_trial_before_are_none_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def booted(*_: object, **__: object) -> Iterator[MagicMock]:
        yield MagicMock()

    kernel = Kernel("amd64", "6.1.0", tmp_path / "vmlinuz", tmp_path / "config", ())
    shape = Shape(kernel, tmp_path / "initrd", "")
    for name in ("translate", "with_gaps_above", "GuestChild"):
        monkeypatch.setattr(vm, name, MagicMock())
    monkeypatch.setattr(vm, "machine", booted)
    monkeypatch.setattr(vm.Guests, "_shape", lambda *_: (shape, tmp_path / "tree"))
    monkeypatch.setattr(vm.Guests, "_describe", lambda *_: None)
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
