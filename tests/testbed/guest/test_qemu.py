"""What QEMU is told, and what is said where it is missing, old, or KVM runs nothing."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from taut.testbed.guest import qemu
from taut.testbed.guest.kernel import Kernel
from taut.testbed.guest.qemu import KVM, Files, Shape, command_line, guest_address


@pytest.fixture(autouse=True)
def _asked_anew() -> Iterator[None]:
    qemu.qemu_version.cache_clear()
    yield
    qemu.qemu_version.cache_clear()


def shape(tmp_path: Path) -> Shape:
    kernel = Kernel("6.1.0", tmp_path / "vmlinuz", tmp_path / "config", ())
    return Shape(kernel, tmp_path / "initrd", "isolcpus=1")


def words(shape: Shape, tmp_path: Path) -> str:
    files = Files(tmp_path, "vm1", tmp_path / "console", tmp_path / "log")
    return " ".join(command_line(shape, files, [tmp_path / "link0.sock", tmp_path / "link1.sock"]))


def test_each_link_is_a_card_where_the_program_looks_for_it(tmp_path: Path) -> None:
    found = words(shape(tmp_path), tmp_path)

    for number in (0, 1):
        assert f"path={tmp_path}/link{number}.sock,server=on" in found
        slot = int(guest_address(number).split(":")[2].partition(".")[0], 16)
        assert f"netdev=net{number},addr={slot:#x}" in found
    assert "taut.hugepages=128 isolcpus=1" in found


def test_a_comma_in_a_path_ends_no_option(tmp_path: Path) -> None:
    found = words(shape(tmp_path), tmp_path / "a,b")

    doubled = f"{tmp_path}/a,,b"
    assert f"-serial file:{tmp_path}/a,b/console " in found  # all of it is the path
    assert f"-qmp unix:{doubled}/vm1-qmp.sock,server=on" in found
    for name in ("vm1-ctl.sock,", "vm1-clock.sock,", "log,append", "link0.sock,", "link1.sock,"):
        assert f"path={doubled}/{name}" in found


def test_an_emulated_guest_takes_no_hugepages_of_the_host(tmp_path: Path) -> None:
    emulated = shape(tmp_path)

    assert "tcg,thread=multi" in words(emulated, tmp_path)
    assert "hugetlb" not in words(emulated, tmp_path)
    by_kvm = words(replace(emulated, accelerator=KVM, on_hugepages=True), tmp_path)
    assert "hugetlb=on" in by_kvm
    assert "host,migratable=off" in by_kvm


def test_an_iommu_remaps_interrupts_that_it_sees(tmp_path: Path) -> None:
    without, emulated = shape(tmp_path), replace(shape(tmp_path), has_iommu=True)

    assert "intel-iommu" not in words(without, tmp_path)
    assert "-device intel-iommu,intremap=on" in words(emulated, tmp_path)
    assert "irqchip" not in words(emulated, tmp_path)
    by_kvm = words(replace(emulated, accelerator=KVM), tmp_path)
    assert "-accel kvm,kernel-irqchip=split" in by_kvm


@pytest.mark.parametrize(
    ("says", "said"),
    [("7.2.22 (Debian)", "QEMU 7.2.22 crashes"), ("8.0.0", None), ("10.0.2 (Debian)", None)],
)
def test_an_old_qemu_is_named_with_the_remedy(
    says: str, said: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / qemu.PROGRAM
    program.write_text(f"#!/bin/sh\necho QEMU emulator version {says!r}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")

    found = qemu.missing()

    assert (found is None) == (said is None)
    assert said is None or (found is not None and said in found and "bookworm-backports" in found)


def test_no_qemu_is_said_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert "apt install -t bookworm-backports" in str(qemu.missing())
