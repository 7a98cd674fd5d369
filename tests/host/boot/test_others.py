"""Lists of cores on the command line that somebody else put there hold beside taut's."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from check_rows import BY_ID
from host_threads import KERNEL, thread_files
from host_tree import TreeWriter, tree
from taut.core.cpus import CpuSet
from taut.core.errors import InputError
from taut.host.apply import Wish, apply_changes
from taut.host.audit import find_situation
from taut.host.boot.bls import PATH as KERNEL_INSTALL
from taut.host.boot.command_line import command_line, merge_parameters
from taut.host.boot.grub import PATH as DROP_IN
from taut.host.boot.grub import placed_line
from taut.host.boot.item import KernelParameter
from taut.host.boot.others import lists_of_others
from taut.host.boot.wish import BootWish
from taut.host.boot_files import boot_files, placements
from taut.host.check import Profile
from taut.host.host import Host
from taut.host.journal import Journal
from taut.host.undo import undo

CPU = "/sys/devices/system/cpu"
GRUB, ENTRY = "/etc/default/grub", "/boot/loader/entries/a.conf"
SHELL = "/efi/loader/entries/shell.conf"
IMAGE, TUNED = "/etc/default/grub.d/50-cloudimg-settings.cfg", "/etc/tuned/bootcmdline"
CLOUD = 'GRUB_CMDLINE_LINUX_DEFAULT="console=ttyS0'
# As tuned leaves it.
PATCHED = (
    'GRUB_CMDLINE_LINUX_DEFAULT="'
    '${GRUB_CMDLINE_LINUX_DEFAULT:+$GRUB_CMDLINE_LINUX_DEFAULT }\\$tuned_params"\n'
)
CHECKS = [BY_ID[name] for name in ("K04", "K05", "K06", "K08", "K12", "K20")]
ONLINE = tuple(range(8))
MACHINE = {
    f"{CPU}/online": "0-7\n",
    f"{CPU}/possible": "0-7\n",
    f"{CPU}/isolated": "\n",
    f"{CPU}/nohz_full": "(null)\n",
    "/proc/irq/default_smp_affinity": "ff\n",
    "/proc/sys/kernel/watchdog_cpumask": "0-7\n",
    "/sys/bus/pci/devices/0000:00:01.0/msi_irqs/28": "msix\n",
} | thread_files(21, "rcuop/2", "0-1", flags=KERNEL)
THEIRS = "isolcpus=managed_irq,domain,2-7 nohz_full=2-7 rcu_nocbs=2-7 irqaffinity=0-1"


def booted(line: str, alone: str) -> dict[str, str]:
    """What a machine shows that was booted with a line."""
    return {
        "/proc/cmdline": f"root=/dev/sda1 {line}\n",
        **dict.fromkeys((f"{CPU}/isolated", f"{CPU}/nohz_full"), f"{alone}\n"),
        "/proc/irq/default_smp_affinity": "3\n",
    }


def files(host: Host, cores: CpuSet, *forms: str) -> dict[str, dict[str, str]]:
    situation = find_situation(host, cores=cores)
    texts = boot_files(
        host, situation, Profile.RECOMMENDED, checks=CHECKS, program="taut", forms=forms
    )
    return {form: dict(text) for form, text in texts.items()}


def line_of(host: Host, cores: CpuSet) -> str:
    return placed_line(files(host, cores, "grub")["grub"][DROP_IN])


def apply(host: Host, cores: CpuSet, form: str) -> None:
    wishes = [Wish("boot", change) for change in placements(files(host, cores, form))]
    assert apply_changes(host, TreeWriter(host), wishes).is_good


def test_cores_that_somebody_isolated_stay_so(tmp_path: Path) -> None:
    host = tree(tmp_path, MACHINE | booted(THEIRS, "2-7") | {ENTRY: f"options ro {THEIRS}\n"})

    found = files(host, (2, 3), "grub", "bls")

    line = "isolcpus=domain,managed_irq,2-7 nohz_full=2-7 rcu_nocbs=2-7 irqaffinity=0-1"
    assert placed_line(found["grub"][DROP_IN]) == line
    assert found["bls"] == {
        KERNEL_INSTALL: f"root=/dev/sda1 {line}\n",
        ENTRY: f"options ro {line}\n",
    }
    assert f"beside {THEIRS.split()[0]} of others" in found["grub"][DROP_IN]


def test_taut_widens_and_narrows_its_own_lists_beside_those_of_others(tmp_path: Path) -> None:
    theirs = {GRUB: f'GRUB_CMDLINE_LINUX="ro {THEIRS.replace("2-7", "2-4")}"\n'}
    host = tree(tmp_path, MACHINE | booted(THEIRS.replace("2-7", "2-4"), "2-4") | theirs)

    apply(host, (6, 7), "grub")
    first = placed_line(host.read(DROP_IN) or "")
    tree(tmp_path, booted(first, "2-4,6-7"))

    assert "isolcpus=domain,managed_irq,2-4,6-7 nohz_full=2-4,6-7 " in first
    assert "irqaffinity=0-1" in first
    assert line_of(host, (6, 7)) == first

    apply(host, (7,), "grub")
    assert "isolcpus=domain,managed_irq,2-4,7 " in placed_line(host.read(DROP_IN) or "")
    # Before the reboot the kernel's command line still has the wider ones.
    assert "isolcpus=domain,managed_irq,2-4,7 " in line_of(host, (7,))


@pytest.mark.parametrize("form", ["grub", "bls"])
def test_what_taut_alone_set_apart_is_free_again(form: str, tmp_path: Path) -> None:
    """Of an entry that came since, too: it was made of /etc/kernel/cmdline."""
    own = MACHINE | {"/proc/cmdline": "root=/dev/sda1\n", ENTRY: "options root=/dev/sda1\n"}
    host = tree(tmp_path, own)
    apply(host, (2, 3), form)
    place = {"grub": DROP_IN, "bls": KERNEL_INSTALL}[form]
    text = host.read(place) or ""
    line = placed_line(text) if form == "grub" else text.removeprefix("root=/dev/sda1 ")
    tree(tmp_path, booted(line, "2-3") | {"/boot/loader/entries/b.conf": f"options {line}\n"})

    for _ in range(2):
        apply(host, (3,), form)

        now = host.read(place) or ""
        assert "isolcpus=domain,managed_irq,3 nohz_full=3 rcu_nocbs=3 irqaffinity=0-2,4-7" in now


@pytest.mark.parametrize("form", ["grub", "bls"])
def test_what_is_taken_back_is_free_before_the_reboot(form: str, tmp_path: Path) -> None:
    sources = {"grub": {GRUB: 'GRUB_CMDLINE_LINUX="ro"\n'}, "bls": {ENTRY: "options ro\n"}}[form]
    host = tree(tmp_path, MACHINE | {"/proc/cmdline": "ro\n"} | sources)
    line = line_of(host, (2, 3))
    apply(host, (2, 3), form)
    tree(tmp_path, booted(line, "2-3"))
    journal = Journal(host)
    with journal.locked():
        assert undo(host, TreeWriter(host), journal, only_files=True).is_good

    now = line_of(host, (6, 7))

    assert now == line.replace("2-3", "6-7").replace("0-1,4-7", "0-5")


def test_what_its_owner_took_out_is_free_before_the_reboot(tmp_path: Path) -> None:
    theirs = {GRUB: 'GRUB_CMDLINE_LINUX="quiet"\n'}
    host = tree(tmp_path, MACHINE | booted(THEIRS, "2-7") | theirs)

    line = "isolcpus=domain,managed_irq,2-3 nohz_full=2-3 rcu_nocbs=2-3 irqaffinity=0-1,4-7"
    assert line_of(host, (2, 3)) == line


def test_a_drop_in_without_a_journal_is_tauts(tmp_path: Path) -> None:
    host = tree(tmp_path, MACHINE | {"/proc/cmdline": "ro\n"})
    drop_in = files(host, (2, 3), "grub")["grub"]
    tree(tmp_path, drop_in | booted(placed_line(drop_in[DROP_IN]), "2-3"))

    assert "nohz_full=3 rcu_nocbs=3 irqaffinity=0-2,4-7" in line_of(host, (3,))


def test_other_files_of_systemd_leave_them_alone(tmp_path: Path) -> None:
    host = tree(tmp_path, MACHINE | booted(THEIRS, "2-7"))

    texts = files(host, (2, 3), "systemd")["systemd"]

    assert "kernel.watchdog_cpumask = 0-1" in texts["/etc/sysctl.d/90-taut.conf"]
    assert "\nCPUAffinity=0-1\n" in texts["/etc/systemd/system/taut-host-apply.service"]


def merged(ours: Sequence[KernelParameter], line: str, root: Path) -> str:
    host = tree(root, {f"{CPU}/possible": "0-7\n", "/proc/cmdline": f"{line}\n"})
    wishes = [BootWish(each, "why") for each in ours]
    return command_line(merge_parameters(wishes, ONLINE, lists_of_others(host)))


DOMAIN = KernelParameter("isolcpus", flags=("domain",), cores=(6, 7))
MANAGED = replace(DOMAIN, flags=("managed_irq",))
TICKLESS = KernelParameter("nohz_full", cores=(6, 7))
CALLBACKS = KernelParameter("rcu_nocbs", cores=(6, 7))
QUIET = KernelParameter("irqaffinity", cores=(0, 1, 2, 3, 4, 5))
SERVICES = KernelParameter("systemd.cpu_affinity", cores=(0, 1, 2, 3, 4, 5))


@pytest.mark.parametrize(
    ("ours", "line", "wanted"),
    [
        ([DOMAIN], "isolcpus=2-3", "isolcpus=domain,2-3,6-7"),
        ([DOMAIN], "isolcpus=nohz,managed_irq,domain,5", "isolcpus=nohz,domain,managed_irq,5-7"),
        # Where nohz_full= says it, a list that differs would be dropped.
        ([DOMAIN], "isolcpus=nohz,domain,5 nohz_full=5", "isolcpus=domain,5-7"),
        ([DOMAIN, TICKLESS], "isolcpus=nohz,domain,5", "isolcpus=domain,5-7 nohz_full=5-7"),
        ([TICKLESS], "isolcpus=nohz,5", "nohz_full=5-7"),
        # Cores that the scheduler still balances keep that.
        ([DOMAIN], "isolcpus=managed_irq,2-5", "isolcpus=domain,6-7"),
        ([MANAGED], "isolcpus=managed_irq,2-5", "isolcpus=managed_irq,2-7"),
        ([MANAGED], "isolcpus=5", "isolcpus=domain,managed_irq,5-7"),
        ([TICKLESS], "nohz-full=0-5", "nohz_full=1-7"),
        ([CALLBACKS, QUIET], "rcu_nocbs=all", "rcu_nocbs=0-7 irqaffinity=0-5"),
        ([CALLBACKS], "rcu_nocbs", "rcu_nocbs=6-7"),
        ([QUIET], "irqaffinity=1,7", "irqaffinity=1"),
        # What leaves no core gives way, and what no kernel reads counts for nothing.
        ([QUIET], "irqaffinity=6-7", "irqaffinity=0-5"),
        ([QUIET], "irqaffinity=x isolcpus=2-", "irqaffinity=0-5"),
        ([QUIET, SERVICES], "isolcpus=2-3", "irqaffinity=0-1,4-5 systemd.cpu_affinity=0-1,4-5"),
        ([SERVICES], "systemd.cpu_affinity=0-1", "systemd.cpu_affinity=0-1"),
        ([DOMAIN], "quiet -- isolcpus=2", "isolcpus=domain,6-7"),
    ],
)
def test_lists_widen_what_isolates_and_narrow_where_the_rest_runs(
    ours: Sequence[KernelParameter], line: str, wanted: str, tmp_path: Path
) -> None:
    assert merged(ours, line, tmp_path) == wanted


def test_one_core_is_left_beside_those_of_others(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="isolcpus=domain,0-7: no core is left"):
        merged([DOMAIN], "isolcpus=0-5", tmp_path)


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, {2}),
        ({GRUB: 'GRUB_CMDLINE_LINUX="quiet"\n'}, set()),
        ({GRUB: 'GRUB_CMDLINE_LINUX="isolcpus=3"\n'}, {3}),
        ({GRUB: f'GRUB_TIMEOUT=0\n{CLOUD}"\n', IMAGE: f'{CLOUD} isolcpus=3"\n'}, {3}),
        ({KERNEL_INSTALL: "ro\n"}, set()),
        ({KERNEL_INSTALL: "isolcpus=4\n", ENTRY: "options isolcpus=3\n"}, {3, 4}),
        ({ENTRY: "options ro $tuned_params\n", TUNED: 'TUNED_BOOT_CMDLINE="isolcpus=3"\n'}, {3}),
        ({GRUB: PATCHED, TUNED: "# isolcpus=5\nTUNED_BOOT_CMDLINE=\n"}, set()),
        ({GRUB: "GRUB_DISTRIBUTOR=`( . /etc/os-release; echo ${NAME} )`\n"}, set()),
        ({ENTRY: "options ro\n", SHELL: "efi /EFI/shell.efi\n"}, set()),
        # What says nothing of a kernel's line is no source.
        ({IMAGE: 'GRUB_CMDLINE_LINUX="isolcpus=3"\n'}, {2, 3}),
        ({SHELL: "efi /EFI/shell.efi\n"}, {2}),
        # Where more counts than is read there, what was booted may as well.
        ({ENTRY: "options isolcpus=3 $kernelopts\n"}, {2, 3}),
        ({GRUB: 'GRUB_CMDLINE_LINUX="isolcpus=$MINE"\n'}, {2}),
        ({GRUB: 'GRUB_CMDLINE_LINUX="$(cat /etc/mine)"\n'}, {2}),
        ({GRUB: 'GRUB_CMDLINE_LINUX="quiet \\\n isolcpus=3"\n'}, {2}),
        ({GRUB: 'GRUB_CMDLINE_LINUX="isolcpus=3"\n. /etc/mine\n'}, {2, 3}),
        ({GRUB: "[ -f /etc/mine ] && source /etc/mine\n"}, {2}),
        ({GRUB: 'eval "$(cat /etc/mine)"\n'}, {2}),
    ],
)
def test_lists_are_read_where_the_next_boot_takes_them(
    files: dict[str, str], cores: set[int], tmp_path: Path
) -> None:
    host = tree(tmp_path, {f"{CPU}/possible": "0-7\n", "/proc/cmdline": "isolcpus=2\n"} | files)

    assert {core for each in lists_of_others(host) for core in each.cores} == cores


def test_a_machine_that_tells_nothing_has_none(tmp_path: Path) -> None:
    assert lists_of_others(tree(tmp_path, {})) == ()


def test_an_entry_that_may_not_be_read_may_have_what_was_booted(tmp_path: Path) -> None:
    host = tree(tmp_path, {f"{CPU}/possible": "0-7\n", "/proc/cmdline": "isolcpus=2\n"})
    (tmp_path / ENTRY.lstrip("/")).mkdir(parents=True)  # Root would read what denies us.

    assert lists_of_others(host) == (KernelParameter("isolcpus", cores=(2,)),)


@pytest.mark.parametrize(
    "hidden",
    ["/boot/loader/entries", "/boot/efi/loader/entries", "/etc/default/grub.d", KERNEL_INSTALL],
)
def test_what_this_user_may_not_list_may_have_what_was_booted(
    hidden: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {f"{CPU}/possible": "0-7\n", "/proc/cmdline": "isolcpus=2\n", GRUB: "\n"}
    host = tree(tmp_path, files)
    assert lists_of_others(host) == ()

    monkeypatch.setattr(Host, "is_denied", lambda self, path: path == hidden)

    assert lists_of_others(host) == (KernelParameter("isolcpus", cores=(2,)),)
