import io
import tarfile
from pathlib import Path

import pytest

import kernel_parameters

DOCUMENTATION = (
    "\tACPI\tACPI support is enabled.\n\n"
    "\tisolcpus=\t[KNL,SMP] Isolate a given set\n\t\t\tof CPUs.\n"
    "\trcu_nocbs[=cpu-list]\n\t\t\ttext\n"
    "\t<module>.async_probe[=<bool>] [KNL]\n"
    "\tprint-fatal-signals=\n"
)
SOURCE = (
    '__setup("nosoftlockup", set_it);\nearly_param("quiet", quiet);\n'
    "core_param(panic, x, int, 0);\nmodule_param_cb(enabled, &ops, &x, 0644);\n"
    'early_param_on_off("initramfs_on", "initramfs_off", x, CONFIG_X);\n'
)
RENAMED = '#define MODULE_PARAM_PREFIX "rcutree."\nmodule_param(kthread_prio, int, 0);\n'


def kernel(folder: Path, documentation: str, source: str) -> Path:
    """A folder as dpkg -x leaves it."""
    documented = folder / "usr/share/doc/linux-doc/kernel-parameters.txt"
    documented.parent.mkdir(parents=True)
    documented.write_text(documentation)
    with tarfile.open(folder / "linux-source-1.tar.xz", "w:xz") as archive:
        for name, text in (("kernel/a.c", source), ("kernel/rcu/tree.c", RENAMED)):
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    modules = folder / "lib/modules"
    modules.mkdir(parents=True)
    (modules / "modules.builtin.modinfo").write_bytes(
        b"tree.parmtype=kthread_prio:int\0haltpoll.parm=guest_halt_poll_ns:x\0"
    )
    (modules / "kvm-intel.ko").write_bytes(b"..\0parm=ple_gap:x\0name=kvm_intel\0parmtype=ept:bool")
    return folder


def test_names_come_from_documentation_source_and_modules(tmp_path: Path) -> None:
    names = set(kernel_parameters.known_names(kernel(tmp_path, DOCUMENTATION, SOURCE)))

    assert names == {
        "isolcpus",
        "rcu_nocbs",
        "print_fatal_signals",
        "nosoftlockup",
        "quiet",
        "panic",
        "initramfs_on",
        "initramfs_off",
        "rcutree.kthread_prio",
        "haltpoll.guest_halt_poll_ns",
        "kvm_intel.ple_gap",
        "kvm_intel.ept",
        "*.enabled",
    }


def test_lines_say_when_a_name_came_and_went() -> None:
    names = {"6.1": {"old", "both"}, "6.12": {"both", "new"}}

    assert list(kernel_parameters.lines(names)) == ["both\n", "new +6.12\n", "old -6.12\n"]


def test_the_list_is_written_for_the_kernels_that_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_parameters, "PATH", tmp_path / "data" / "list.txt")
    folder = kernel(tmp_path / "k", DOCUMENTATION, SOURCE)
    monkeypatch.setattr("sys.argv", ["kernel_parameters.py", f"6.1={folder}"])

    assert kernel_parameters.main() == 0

    lines = (tmp_path / "data" / "list.txt").read_text().splitlines()
    assert "# kernels 6.1" in lines
    assert "isolcpus" in lines


def test_without_kernels_it_says_how_it_is_used(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["kernel_parameters.py"])

    assert kernel_parameters.main() == 2
    assert "6.1=FOLDER" in capsys.readouterr().out
