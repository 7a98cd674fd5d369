"""What `taut host apply --boot` puts in place survives shutdowns; `undo --boot` takes it back.

A guest with a disk boots five times: as installed, where apply puts the files and update-grub is
called; three times with them, at the last of which undo takes them back; and as it was at first.
The disk is read between boots, when no guest runs on it.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from acceptance import guest, guest_disk
from acceptance.guest import Boot, Kernel

POLL_CORE = "1"
MODULES = ("taut.cli.host.apply", "taut.cli.host.undo")
JOURNAL = "/var/lib/taut/host"
APPLY = f"taut host apply --boot --role kvm-guest --cores {POLL_CORE} --yes"
LOOK = {
    "cmdline": "cat /proc/cmdline",
    "kernel": "cat /sys/devices/system/cpu/isolated /sys/devices/system/cpu/nohz_full",
    "sysctl": "cat /proc/sys/vm/stat_interval /proc/sys/vm/compaction_proactiveness",
    "unit": "systemctl show --property=ActiveState,Result taut-host-apply.service",
}
# Commands run in the order of their names.
PLACE = LOOK | {"x-apply": APPLY, "y-update-grub": "update-grub"}
TAKE_BACK = LOOK | {"x-undo": "taut host undo --boot", "y-update-grub": "update-grub"}
PLACED = {
    "/etc/default/grub.d/90-taut.cfg",
    "/etc/sysctl.d/90-taut.conf",
    "/etc/systemd/system/multi-user.target.d/90-taut.conf",
    "/etc/systemd/system/taut-host-apply.service",
    "/etc/tmpfiles.d/90-taut.conf",
}

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.guest,
    pytest.mark.root,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        guest_disk.missing_programs() is not None, reason=str(guest_disk.missing_programs())
    ),
]


@dataclass(frozen=True)
class Ended:
    """One boot, and what lay on the disk after its shutdown."""

    boot: Boot
    etc: dict[str, bytes]
    journal: dict[str, bytes]

    def said(self, command: str) -> str:
        result = self.boot.results[command]
        assert result.status == 0, f"{result.out}{result.err}"
        return result.out


@dataclass(frozen=True)
class Server:
    """All boots of one disk, and its configuration before the first."""

    kernel: Kernel
    installed: dict[str, bytes]
    first: Ended
    tuned: Sequence[Ended]
    last: Ended

    @property
    def boots(self) -> Sequence[Ended]:
        return (self.first, *self.tuned, self.last)


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Server:
    folder = tmp_path_factory.mktemp("disk")
    kernel = guest.fetch_kernel("amd64")
    disk = guest_disk.make_disk(kernel, MODULES, folder)
    installed = guest_disk.read_tree(disk, "/etc", folder / "installed")
    nothing = guest_disk.make_initramfs(kernel, {}, folder / "kvm")
    accelerator = guest.find_accelerator(kernel, nothing, folder / "kvm")
    ended = []
    for number, commands in enumerate((PLACE, LOOK, LOOK, TAKE_BACK, LOOK), start=1):
        to = folder / f"boot-{number}"
        boot = guest_disk.boot(kernel, disk, commands, to, accelerator)
        etc = guest_disk.read_tree(disk, "/etc", to / "etc")
        ended.append(Ended(boot, etc, guest_disk.read_tree(disk, JOURNAL, to / "journal")))
    server = Server(kernel, installed, ended[0], ended[1:4], ended[4])
    show(request, server)
    return server


def show(request: pytest.FixtureRequest, server: Server) -> None:
    """Print it past pytest's capture: the proof is for people to read."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print(f"\n\n{server.kernel.release}, {server.first.boot.accelerator}", file=sys.stderr)
        for number, each in enumerate(server.boots, start=1):
            placed = sorted(each.etc.keys() - server.installed.keys())
            print(
                f"  boot {number}: {each.said('cmdline').strip()}\n"
                f"    off after {each.boot.total_s:.1f} s, then on the disk besides what was"
                f" installed: {' '.join(placed) or 'nothing'}",
                file=sys.stderr,
            )


def test_apply_puts_the_files_and_says_what_is_left_to_do(server: Server) -> None:
    said = server.first.said("x-apply")

    assert "update-grub first" in said
    assert server.first.etc.keys() - server.installed.keys() == PLACED


def test_the_files_survive_three_shutdowns_as_they_were_put(server: Server) -> None:
    for ended in server.tuned[:-1]:
        assert ended.etc == server.first.etc


def test_the_parameters_are_in_force_at_every_boot(server: Server) -> None:
    added = server.tuned[0].said("cmdline").split()
    assert {"nohz_full=1", "rcu_nocbs=1", "irqaffinity=0"} <= set(added)

    for ended in server.tuned:
        assert ended.said("cmdline").split() == added
        assert ended.said("kernel").split() == [POLL_CORE, POLL_CORE]


def test_the_fragments_are_in_force_before_the_unit_looks(server: Server) -> None:
    assert server.first.said("sysctl").split() == ["1", "20"]

    for ended in server.tuned:
        assert ended.said("sysctl").split() == ["120", "0"]
        assert b"kcompactd0" in ended.boot.files["unit.log"]
        assert b"stat_interval" not in ended.boot.files["unit.log"]


def test_the_unit_applies_at_every_boot(server: Server) -> None:
    for ended in server.tuned:
        assert set(ended.said("unit").split()) == {"ActiveState=active", "Result=success"}


def test_the_journal_knows_the_first_boot_and_this_one(server: Server) -> None:
    for ended in server.tuned[:-1]:
        lines = [json.loads(line) for line in ended.journal["/host/journal"].splitlines()]
        changes = [line for line in lines if line["record"] == "change"]

        placed = [line for line in changes if line["kind"] == "placed-file"]
        assert {line["setting"]["path"] for line in placed} == PLACED
        assert {line["old"] for line in placed} == {None}
        assert len({line["boot"] for line in changes}) == 2


def test_undo_takes_the_files_back_and_leaves_what_runs(server: Server) -> None:
    said = server.tuned[-1].said("x-undo")

    assert "update-grub first" in said
    assert server.tuned[-1].etc == server.installed


def test_the_boot_after_undo_is_as_the_first(server: Server) -> None:
    for command in ("cmdline", "kernel", "sysctl"):
        assert server.last.said(command) == server.first.said(command)
    assert server.last.etc == server.installed
    assert "ActiveState=inactive" in server.last.said("unit")
