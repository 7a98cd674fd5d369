from pathlib import Path

import pytest

from check_rows import BY_ID
from host_threads import KERNEL, thread_files
from host_tree import POLL, SLEEP, TreeWriter, put, snapshot, tree
from taut.core.errors import InputError
from taut.host.apply import Wish, apply_changes
from taut.host.audit import run_audit
from taut.host.boot.grub import PATH as GRUB_DROP_IN
from taut.host.boot_files import (
    boot_files,
    check_forms,
    forms_here,
    in_force_after,
    placements,
    takes_parameters,
)
from taut.host.check import Profile
from taut.host.host import Host
from taut.host.journal import Journal
from taut.host.plan import make_plan
from taut.host.state import wishes_of
from taut.host.undo import undo

CHECK = BY_ID["R06"]
UBUNTU = {"/etc/default/grub": "", "/usr/sbin/update-grub": ""}
LOADER = "/boot/loader/entries"
ENTRIES = {f"{LOADER}/a.conf": "options quiet\n"}
FILES = {
    "/proc/sys/vm/stat_interval": "1\n",
    "/proc/cmdline": "root=/dev/sda1\n",
    **UBUNTU,
    "/run/systemd/system/kept": "",
    "/etc/sysctl.d/kept": "",
}
SYSCTL = "/etc/sysctl.d/90-taut.conf"
UNIT = "/etc/systemd/system/taut-host-apply.service"
CPU = "/sys/devices/system/cpu"
NOISY = (
    {
        f"{CPU}/isolated": "\n",
        f"{CPU}/nohz_full": "(null)\n",
        "/sys/fs/cgroup/cgroup.controllers": "cpuset\n",
        "/sys/fs/cgroup/cgroup.subtree_control": "cpuset\n",
        "/sys/devices/virtual/workqueue/cpumask": "0f\n",
        "/sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
        "/proc/sys/kernel/numa_balancing": "1\n",
        "/proc/irq/default_smp_affinity": "f\n",
        "/proc/irq/36/smp_affinity_list": "0-3\n",
        "/proc/irq/36/effective_affinity_list": "2\n",
        "/sys/kernel/irq/36/actions": "nvme0q3\n",
    }
    | thread_files(21, "kswapd0", "0-3", flags=KERNEL)
    | thread_files(700, "cc1", "0-3")
)
"""What the kernel has parameters against, and taut changes at once as well."""


PARAMETERS = (
    "irqaffinity=0-1",
    "isolcpus=domain,2-3",
    "nohz_full=2-3",
    "numa_balancing=disable",
    "systemd.cpu_affinity=0-1",
    "transparent_hugepage=never",
    "workqueue.unbound_cpus=0-1",
)


def files_of(host: Host, *forms: str, only: list[str] | None = None) -> dict[str, dict[str, str]]:
    found = boot_files(
        host,
        POLL,
        Profile.RECOMMENDED,
        checks=[CHECK],
        program="/opt/taut",
        forms=forms,
        only=only,
    )
    return {form: dict(texts) for form, texts in found.items()}


def test_a_host_gets_the_forms_it_reads(tmp_path: Path) -> None:
    assert forms_here(tree(tmp_path, FILES)) == ["grub", "systemd"]


@pytest.mark.parametrize(
    ("files", "forms"),
    [
        (ENTRIES, ["bls"]),
        # Fedora and RHEL: their GRUB boots the entries and reads no drop-in.
        (ENTRIES | {"/etc/default/grub": ""}, ["bls"]),
        (ENTRIES | UBUNTU, ["grub"]),
        ({"/etc/default/grub": "", "/etc/default/grub.d/50-cloud.cfg": ""}, ["grub"]),
        ({"/etc/default/grub": ""}, []),
        ({"/usr/sbin/update-grub": ""}, []),
    ],
)
def test_a_host_gets_the_command_line_where_its_boot_loader_reads_it(
    files: dict[str, str], forms: list[str], tmp_path: Path
) -> None:
    assert forms_here(tree(tmp_path, files)) == forms


def test_the_drop_in_of_grub_and_the_profile_of_tuned_need_a_command_first(
    tmp_path: Path,
) -> None:
    host = Host(tmp_path)
    assert in_force_after(host, [SYSCTL, GRUB_DROP_IN]) == "after a reboot; update-grub first"
    assert in_force_after(host, [SYSCTL, "/etc/kernel/cmdline"]) == "after a reboot"
    tuned = "/etc/tuned/profiles/taut/tuned.conf"
    assert in_force_after(host, [tuned]).startswith(
        "after a reboot; tuned-adm profile taut first, by"
    )
    assert "tuned-adm profile balanced first" in in_force_after(host, [tuned], ["balanced"])
    assert "tuned-adm off first" in in_force_after(host, [tuned], [])


def test_where_systemd_boot_started_the_kernel_grubs_files_count_for_nothing(
    tmp_path: Path,
) -> None:
    host = tree(tmp_path, UBUNTU | ENTRIES)
    variables = tmp_path / "sys/firmware/efi/efivars"
    variables.mkdir(parents=True)
    name = variables / "LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"

    # GRUB has such a variable as well.
    name.write_bytes(b"\6\0\0\0" + "GRUB 2.12\0".encode("utf-16-le"))
    assert forms_here(host) == ["grub"]
    name.write_bytes(b"\6\0\0\0" + "systemd-boot 252.39\0".encode("utf-16-le"))
    assert forms_here(host) == ["bls"]


def test_proxmox_makes_its_entries_itself(tmp_path: Path) -> None:
    booted = {"/proc/cmdline": "initrd=\\EFI\\proxmox\\6.8\\initrd.img root=ZFS=rpool boot=zfs\n"}
    host = tree(tmp_path, UBUNTU | booted)

    # Nobody tells where this command line comes from.
    assert forms_here(host) == []
    put(tmp_path, "/etc/kernel/proxmox-boot-uuids", "AAAA-BBBB\n")
    assert forms_here(host) == ["bls"]
    after = in_force_after(host, ["/etc/kernel/cmdline"])
    assert after == "after a reboot; proxmox-boot-tool refresh first"


def test_the_command_line_is_not_systemds() -> None:
    assert not takes_parameters(["systemd"])
    assert takes_parameters(["bls", "systemd"])


def test_what_checks_want_at_boot_is_in_the_files(tmp_path: Path) -> None:
    assert "vm.stat_interval = 120" in files_of(tree(tmp_path, FILES))["systemd"][SYSCTL]


def test_before_the_reboot_a_second_apply_places_the_same_parameters(tmp_path: Path) -> None:
    names = ("K04", "K12", "K23", "K28", "R02", "R07", "R13", "R22", "R24")
    checks = [BY_ID[name] for name in names]
    host = tree(tmp_path, FILES | NOISY)

    def placed() -> list[Wish]:
        files = boot_files(
            host, POLL, Profile.RECOMMENDED, checks=checks, program="taut", forms=["grub"]
        )
        return [Wish("boot", change) for change in placements(files)]

    (first,) = placed()
    plan = make_plan(host, run_audit(host, POLL, checks=checks), Profile.RECOMMENDED, names)
    assert apply_changes(host, TreeWriter(host), wishes_of(plan)).is_good

    assert not run_audit(host, POLL, checks=checks).failures()
    assert all(f"{parameter} " in first.change.wanted for parameter in PARAMETERS)
    assert placed() == [first]


def test_only_what_is_named_is_in_the_files(tmp_path: Path) -> None:
    files = files_of(tree(tmp_path, FILES), only=["K23"])["systemd"]

    assert SYSCTL not in files
    assert "--only K23 --yes" in files[UNIT]


def test_the_unit_judges_the_next_boot_by_the_same_device(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    asked = {"checks": [CHECK], "program": "taut", "forms": ["systemd"]}

    [polls, sleeps] = [
        boot_files(host, situation, Profile.RECOMMENDED, **asked)["systemd"][UNIT]
        for situation in (POLL, SLEEP)
    ]

    assert "--device" not in polls
    assert "--cores 2-3 --device sleeps --profile" in sleeps


def test_what_is_named_is_in_the_files_whatever_profile_and_advice(tmp_path: Path) -> None:
    """psi=0 is of the profile extreme; measuring decides about the other."""
    pressure = thread_files(60, "psimon", "0-3", flags=KERNEL) | {"/proc/pressure/cpu": ""}
    hurried = {"/sys/kernel/rcu_normal": "0\n", "/sys/kernel/rcu_expedited": "0\n"}
    host = tree(tmp_path, FILES | pressure | hurried)
    only = ["K26-boot", "K11-boot"]

    files = boot_files(
        host,
        POLL,
        Profile.RECOMMENDED,
        checks=[BY_ID["K11"], BY_ID["K26"]],
        program="/opt/taut",
        forms=["grub"],
        only=only,
    )

    assert "rcupdate.rcu_normal_after_boot=1" in files["grub"][GRUB_DROP_IN]
    assert "psi=0" in files["grub"][GRUB_DROP_IN]


def test_placed_files_and_their_folders_are_undone(tmp_path: Path) -> None:
    host = tree(tmp_path, FILES)
    before = snapshot(tmp_path)
    wishes = [Wish("boot", change) for change in placements(files_of(host))]

    report = apply_changes(host, TreeWriter(host), wishes)
    assert report.is_good
    assert host.is_there(SYSCTL)
    journal = Journal(host)
    with journal.locked():
        assert undo(host, TreeWriter(host), journal).is_good

    own = str(tmp_path / "var")
    after = {path: text for path, text in snapshot(tmp_path).items() if not path.startswith(own)}
    assert after == before
    assert not host.is_there("/etc/systemd")


def test_undo_names_entries_of_kernels_that_came_since(tmp_path: Path) -> None:
    def texts(parameters: str, *names: str) -> dict[str, str]:
        return {
            f"{LOADER}/{name}.conf": f"title {name}\noptions ro{parameters}\n" for name in names
        }

    def place(files: dict[str, str]) -> None:
        wishes = [Wish("boot", change) for change in placements({"bls": files})]
        assert apply_changes(host, TreeWriter(host), wishes).is_good

    before = texts("", "a", "c")
    host = tree(tmp_path, before)
    place(texts(" nohz_full=2-3", "a", "c"))
    (tmp_path / "boot/loader/entries/a.conf").unlink()
    # Made of what /etc/kernel/cmdline says meanwhile.
    tree(tmp_path, texts(" nohz_full=2-3", "b"))
    place(texts(" nohz_full=3", "b", "c"))
    journal = Journal(host)
    with journal.locked():
        report = undo(host, TreeWriter(host), journal)

    assert report.is_good
    assert not Journal(host).is_there
    assert [setting.name for setting in report.gone] == [f"{LOADER}/a.conf"]
    assert not host.is_there(f"{LOADER}/a.conf")
    assert host.read_exactly(f"{LOADER}/c.conf") == before[f"{LOADER}/c.conf"]
    assert report.still_booted == {f"{LOADER}/b.conf": "nohz_full=2-3"}


def test_texts_for_a_guest_are_not_placed() -> None:
    with pytest.raises(InputError, match="host of a guest"):
        placements({"guest": {"/etc/taut/guest.xml": ""}})


def test_two_forms_that_write_one_file_differently_are_refused() -> None:
    with pytest.raises(InputError, match="both write /a"):
        placements({"tuned": {"/a": "1"}, "systemd": {"/a": "2"}})


def test_a_form_there_is_not_is_refused() -> None:
    with pytest.raises(InputError, match="no boot form 'lilo'"):
        check_forms(["lilo"], boot=True)
    with pytest.raises(InputError, match=r"^--form: of boot configuration; add --boot$"):
        check_forms(["grub"], boot=False)
