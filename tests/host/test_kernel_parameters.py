import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host_tree import tree
from taut.core.errors import InputError
from taut.host.kernel_parameters.command_line import (
    Parameter,
    command_line_of_file,
    parse_command_line,
)
from taut.host.kernel_parameters.cpu_list import parse_kernel_cpu_list
from taut.host.kernel_parameters.facts import (
    KernelFacts,
    parse_kernel_config,
    read_kernel_facts,
)
from taut.host.kernel_parameters.names import (
    dictionary,
    edit_distance,
    is_for_others,
    is_known,
    suggestion,
)


def test_a_command_line_is_cut_as_the_kernel_cuts_it() -> None:
    text = 'ro dyndbg="file a.c +p" "quoted=one two" nohz-full=1 -- init-only'

    parameters = parse_command_line(text)

    assert parameters == [
        Parameter("ro", "ro", None),
        Parameter('dyndbg="file a.c +p"', "dyndbg", "file a.c +p"),
        Parameter('"quoted=one two"', "quoted", "one two"),
        Parameter("nohz-full=1", "nohz_full", "1"),
    ]


def test_grubs_file_gives_both_its_variables_without_shell_variables() -> None:
    text = (
        '# GRUB_CMDLINE_LINUX="commented"\n'
        'GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX="isolcpus=1 $more"\n'
        "GRUB_CMDLINE_LINUX_DEFAULT='quiet splash'\n"
    )

    assert command_line_of_file(text).split() == ["isolcpus=1", "quiet", "splash"]


def test_a_boot_entry_gives_its_options() -> None:
    text = "title Debian\nlinux /vmlinuz\noptions root=/dev/sda1 isolcpus=1\n"

    assert command_line_of_file(text) == "root=/dev/sda1 isolcpus=1"


@pytest.mark.parametrize("text", ['GRUB_CMDLINE_LINUX="open\n', "a\0b", "x" * 70000])
def test_what_is_no_command_line_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        command_line_of_file(text)


@pytest.mark.parametrize(
    ("text", "cores"),
    [
        ("1,3", (1, 3)),
        ("1-3,5", (1, 2, 3, 5)),
        ("1-7:1/2", (1, 3, 5, 7)),
        ("0-7:2/4", (0, 1, 4, 5)),
        ("6-N", (6, 7)),
        ("N", (7,)),
        ("all", tuple(range(8))),
        ("ALL:1/4", (0, 4)),
    ],
)
def test_lists_of_cores_are_read_in_all_forms_of_the_kernel(
    text: str, cores: tuple[int, ...]
) -> None:
    assert parse_kernel_cpu_list(text, n_cores=8) == cores


def test_the_groups_of_the_documentations_example() -> None:
    cores = parse_kernel_cpu_list("1,2,10-20,100-2000:2/25")

    assert cores[:2] == (1, 2)
    assert [core for core in cores if core >= 100][:6] == [100, 101, 125, 126, 150, 151]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "names no core"),
        ("5-2", "backwards"),
        ("16-N", "backwards"),
        ("0x3", "mask"),
        ("1-7:3/2", "USED"),
        ("1-7:0/2", "USED"),
        ("1-7:1/0", "USED"),
        ("9999999999999999999999", "beyond"),
        ("2;3", "no core"),
        ("-3", "no core"),
    ],
)
def test_lists_the_kernel_refuses_say_why(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_kernel_cpu_list(text, n_cores=8)


@given(st.text(alphabet="0123456789-,:/Nalx ", max_size=20))
def test_a_list_of_cores_is_read_or_refused_and_nothing_else(text: str) -> None:
    try:
        cores = parse_kernel_cpu_list(text, n_cores=16)
    except ValueError:
        return
    assert cores == tuple(sorted(set(cores)))


def test_the_dictionary_is_of_two_kernels_and_sorted() -> None:
    known = dictionary()

    assert known.kernels == ((6, 1), (6, 12))
    assert len(known.names) > 5000
    path = Path(__file__).parents[2] / "python/taut/host/data/kernel_parameters.txt"
    names = [line.split()[0] for line in path.read_text().splitlines() if line[0] != "#"]
    assert names == sorted(set(names))


@pytest.mark.parametrize(
    "name",
    [
        "isolcpus",
        "nohz_full",
        "rcu_nocbs",
        "rcu_nocb_poll",
        "nosoftlockup",
        "pcie_aspm",
        "pcie_aspm.policy",
        "intel_idle.max_cstate",
        "processor.max_cstate",
        "rcutree.nohz_full_patience_delay",
        "rcupdate.rcu_normal_after_boot",
        "kvm_intel.ple_gap",
        "cpuidle_haltpoll.force",
        "workqueue.unbound_cpus",
        "sysctl.vm.stat_interval",
        "xhci_hcd.dyndbg",
        "ro",
        "threadirqs",
    ],
)
def test_what_kernels_take_is_known(name: str) -> None:
    assert is_known(name)


@pytest.mark.parametrize("name", ["kthread_cpus", "nosoftlookup", "tree.kthread_prio", "ALSA"])
def test_what_no_kernel_takes_is_not_known(name: str) -> None:
    assert not is_known(name)


@pytest.mark.parametrize(
    "name", ["BOOT_IMAGE", "systemd.unit", "rd.lvm.lv", "splash", "single", "TERM", "net.ifnames"]
)
def test_what_init_and_the_boot_loader_read_is_not_the_kernels(name: str) -> None:
    assert is_for_others(name)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("nosoftlookup", "nosoftlockup"),
        ("rcu_nocbs_poll", "rcu_nocb_poll"),
        ("pcie_asmp", "pcie_aspm"),
        ("isolcpu", "isolcpus"),
        ("nohz_ful", "nohz_full"),
        ("idel", "idle"),
        ("noht", "nosmt"),
        ("intel.max_cstate", "intel_idle.max_cstate"),
        ("processor_idle.max_cstate", "processor.max_cstate"),
        ("intel_idle.maxcstate", "intel_idle.max_cstate"),
        ("rcutre.kthread_prio", "rcutree.kthread_prio"),
        ("nohz_full_patience_delay", "rcutree.nohz_full_patience_delay"),
        ("max_cstate", "intel_idle.max_cstate or processor.max_cstate"),
        ("somethingelse", None),
        ("x.compressor", None),
        ("acpi_pad.disable", None),
        ("abc", None),
        ("i915.enable_execlists", None),
    ],
)
def test_the_name_that_was_meant_is_found(written: str, meant: str | None) -> None:
    assert suggestion(written, ()) == meant


@pytest.mark.parametrize(
    ("one", "two", "distance"),
    [("abc", "abc", 0), ("abc", "acb", 1), ("abc", "ab", 1), ("abc", "xbc", 1), ("", "ab", 2)],
)
def test_swapped_letters_are_one_slip(one: str, two: str, distance: int) -> None:
    assert edit_distance(one, two) == distance


def test_edit_distance_stops_counting_above_its_limit() -> None:
    assert edit_distance("aaaaaaaa", "bbbbbbbb", limit=2) == 3


CONFIG = "CONFIG_NO_HZ_FULL=y\n# CONFIG_RCU_NOCB_CPU is not set\nCONFIG_HZ=250\n"


def test_a_configuration_is_read_plain_and_compressed() -> None:
    plain = parse_kernel_config(CONFIG.encode())

    assert plain == {"NO_HZ_FULL": "y", "RCU_NOCB_CPU": "n", "HZ": "250"}
    assert parse_kernel_config(gzip.compress(CONFIG.encode())) == plain


@pytest.mark.parametrize("data", [b"", b"no configuration", b"\x1f\x8bbroken", b"\xff\xfe\0"])
def test_what_is_no_configuration_is_none(data: bytes) -> None:
    assert parse_kernel_config(data) is None


def test_facts_are_read_from_a_machine(tmp_path: Path) -> None:
    host = tree(
        tmp_path,
        {
            "/proc/sys/kernel/osrelease": "6.1.0-13-amd64\n",
            "/proc/cmdline": "quiet nosoftlookup\n",
            "/boot/config-6.1.0-13-amd64": CONFIG,
            "/sys/devices/system/cpu/present": "0-7\n",
            "/sys/module/haltpoll/parameters/guest_halt_poll_ns": "0\n",
            "/commands/dmesg": "[0] Kernel command line: quiet nosoftlookup\n"
            '[0] Unknown kernel command line parameters "nosoftlookup splash=1", will be passed'
            " to user space.\n",
        },
    )

    facts = read_kernel_facts(host)

    assert facts.kernel == (6, 1)
    assert facts.config is not None
    assert facts.config["NO_HZ_FULL"] == "y"
    assert facts.n_cores == 8
    assert facts.modules == {"haltpoll": frozenset(["guest_halt_poll_ns"])}
    assert facts.running == "quiet nosoftlookup"
    assert facts.ignored == {"nosoftlookup", "splash"}


def test_a_log_whose_beginning_is_gone_tells_nothing(tmp_path: Path) -> None:
    files = {"/proc/sys/kernel/osrelease": "6.1.0\n", "/commands/dmesg": "[99] later\n"}

    assert read_kernel_facts(tree(tmp_path, files)).ignored is None


def test_kernels_before_5_14_do_not_say_what_they_ignore(tmp_path: Path) -> None:
    files = {
        "/proc/sys/kernel/osrelease": "4.19.0\n",
        "/commands/dmesg": "[0] Kernel command line: quiet\n",
    }

    assert read_kernel_facts(tree(tmp_path, files)).ignored is None


def test_of_an_empty_machine_nothing_is_known(tmp_path: Path) -> None:
    assert read_kernel_facts(tree(tmp_path, {})) == KernelFacts()
