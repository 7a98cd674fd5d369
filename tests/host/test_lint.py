"""Lint, a rule at a time."""

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linted import (
    ANY,
    DEBIAN_12,
    DUCKED_TAILS,
    NFV_HOST,
    found,
    only,
    worst,
)
from taut.host.lint import Gravity, KernelFacts, Kind, lint_command_line


@pytest.mark.parametrize(
    "text",
    [
        "mce=off",
        "nomce",
        "mitigations=off",
        "nopti",
        "pti=off",
        "spectre_v2=off",
        "nospectre_v2",
        "l1tf=off",
        "mds=off",
        "retbleed=off",
        "pcie_aspm=force",
        "kvm-intel.vmentry_l1d_flush=never",
    ],
)
def test_what_gives_up_safety_is_a_danger(text: str) -> None:
    assert only(text).severity is Gravity.DANGER
    assert only(text).kind is Kind.DANGEROUS


@pytest.mark.parametrize(
    "text",
    [
        "quiet ro root=UUID=1-2 BOOT_IMAGE=/vmlinuz init=/sbin/init single S 3 splash",
        "systemd.unit=rescue.target rd.break fsck.mode=force net.ifnames=0 MYVAR=1",
        "mitigations=auto,nosmt mitigations=auto,nosmt",
        "mitigations=auto,no_user_kernel",
        "mce=ignore_ce mce=no_cmci zswap.enabled=1 tuned.non_isolcpus=3 ostree=/boot.1",
        "rcu_nocbs nosmt quiet -- nosoftlookup mce=off",
        "isolcpus=managed_irq,1-3:1/2 nohz-full=1-3:1/2",
        "console=tty0 console=ttyS0,115200",
        "default_hugepagesz=1G hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=0:64,1:64",
        "intel_idle.max_cstate=0 processor.max_cstate=1",
        "rdt=cmt,!mba tsc=nowatchdog numa_balancing=disable psi=0",
        "sysctl.kernel.watchdog=0 e1000e.dyndbg=+p",
    ],
)
def test_good_lines_have_nothing_wrong(text: str) -> None:
    assert [problem for problem in lint_command_line(text, ANY) if problem.severity != "note"] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("isolcpus=domain,manged_irq,1-3", "no flag 'manged_irq'"),
        ("isolcpus=domain,1rq,1-3", "refuses it all"),
        ("rcu_nocbs=1-x", "takes all cores"),
        ("mce=ignore_ce,no_cmci", "'ignore_ce,no_cmci'"),
        ("iommu=on", "'on'"),
        ("isolcpus=man-aged,1-3", "refuses the whole parameter"),
        ("isolcpus=all", "takes 'all' for a flag"),
        ("isolcpus=domain,managed_irq", "no list of cores"),
        ("isolcpus", "names no core"),
        ("nohz_full=", "names no core"),
        ("nohz_full=0xfe", "mask"),
        ("rcu_nocbs=5-2", "backwards"),
        ("irqaffinity=0-7:3/2", "USED"),
        ("idle=mwait", "'mwait'"),
        ("intel_pstate=off", "'off'"),
        ("amd_pstate=on", "'on'"),
        ("transparent_hugepage=off", "'off'"),
        ("numa_balancing=0", "'0'"),
        ("rdt=cmt,l3_cat,l3_cdp", "'l3_cat' and 'l3_cdp'"),
        ("mce=ignore-ce", "'ignore-ce'"),
        ("pcie_aspm=performance", "'performance'"),
        ("hugepagesz=big", "'big'"),
        ("audit=disable", "'disable'"),
        ("skew_tick=yes", "'yes'"),
        ("mitigations=none", "'none'"),
    ],
)
def test_values_the_kernel_refuses_are_malformed(text: str, words: str) -> None:
    problem = worst(text)

    assert (problem.kind, problem.severity) == (Kind.MALFORMED, Gravity.ERROR)
    assert words in problem.message


@pytest.mark.parametrize("text", ["nosoftlockup=0", "rcu_nocb_poll=0", "nosmt=off", "nopti=no"])
def test_a_flag_cannot_be_turned_off_by_a_value(text: str) -> None:
    problems = [p for p in lint_command_line(text, ANY) if p.kind is Kind.MISUNDERSTOOD]

    assert problems[0].severity is Gravity.ERROR
    assert "it is on" in problems[0].message


def test_a_misspelt_flag_with_a_value_is_not_corrected_into_its_opposite() -> None:
    assert "It takes no value" in worst("rcu_nocbs_poll=0").remedy


def test_amd_iommu_on_is_explained_once() -> None:
    problem = only("amd_iommu=on")

    assert problem.kind is Kind.MISUNDERSTOOD
    assert "on by default" in problem.message


@pytest.mark.parametrize(
    ("text", "parameter", "words"),
    [
        ("nohz_full=0-3", "nohz_full=0-3", "core 0 out of nohz_full"),
        ("nohz_full=0-7", "nohz_full=0-7", "no core is left"),
        ("nohz_full=all", "nohz_full=all", "no core is left"),
        ("nohz_full=0-N", "nohz_full=0-N", "no core is left"),
        ("isolcpus=0-3 nohz_full=4-7", "isolcpus=0-3 nohz_full=4-7", "together"),
        ("isolcpus=2-3 nohz_full=2-5", "isolcpus=2-3 nohz_full=2-5", "cores 4-5 lose their tick"),
        ("isolcpus=nohz,2-3 nohz_full=2-4", "isolcpus=nohz,2-3 nohz_full=2-4", "must match"),
        ("isolcpus=2 isolcpus=3", "isolcpus=3", "ignores the later"),
        ("isolcpus=2-3 irqaffinity=0-2", "irqaffinity=0-2", "cores 2, which are isolated"),
        ("nohz_full=2 kthread_cpus=2", "kthread_cpus=2", "cores 2, which are isolated"),
        ("nohz_full=2 workqueue.unbound_cpus=1-2", "workqueue.unbound_cpus=1-2", "isolated"),
        ("nohz=off nohz_full=2", "nohz=off nohz_full=2", "keeps the tick"),
        ("nohz_full=2 nohz_full=3", "nohz_full=2 nohz_full=3", "2 times"),
        (
            "idle=poll cpuidle_haltpoll.force=1",
            "idle=poll cpuidle_haltpoll.force=1",
            "never gets its turn",
        ),
        (
            "idle=poll cpuidle.governor=haltpoll",
            "idle=poll cpuidle.governor=haltpoll",
            "never gets its turn",
        ),
    ],
)
def test_contradictions_are_errors(text: str, parameter: str, words: str) -> None:
    facts = replace(DEBIAN_12, kernel=None, config=None)
    problems = [p for p in found(text, facts)[parameter] if p.kind is Kind.CONTRADICTORY]

    assert any(words in p.message and p.severity is Gravity.ERROR for p in problems)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("isolcpus=2-5 nohz_full=2-3", "differ in cores 4-5"),
        ("isolcpus=managed_irq,2-5 nohz_full=2-3", "differ in cores 4-5"),
        ("isolcpus=managed_irq,0-3", "core 0 boots"),
        ("isolcpus=2-5 rcu_nocbs=2-3", "cores 4-5 are isolated and still run"),
        ("intel_pstate=active intel_pstate=passive", "intel_pstate=passive counts"),
        ("rcupdate.rcu_normal_after_boot=1 rcupdate.rcu_expedited=1", "win over expedited"),
    ],
)
def test_what_may_be_meant_is_a_warning(text: str, words: str) -> None:
    assert any(
        words in problem.message and problem.severity is Gravity.WARNING
        for problem in lint_command_line(text, DEBIAN_12)
    )


def test_cores_are_counted_only_where_their_number_is_known() -> None:
    assert lint_command_line("nohz_full=8-15", ANY) == []
    assert "the last one is 7" in only("nohz_full=8-15", DEBIAN_12).message


def test_polling_for_callbacks_that_stay_is_inert() -> None:
    assert only("rcu_nocb_poll").kind is Kind.INERT
    assert lint_command_line("rcu_nocb_poll nohz_full=2", ANY) == []


def test_nohz_full_is_inert_without_its_option_in_the_kernel() -> None:
    without = replace(DEBIAN_12, config={"CPU_ISOLATION": "y"})

    problem = only("nohz_full=2-3", without)

    assert (problem.kind, problem.severity) == (Kind.INERT, Gravity.ERROR)
    assert "CONFIG_NO_HZ_FULL" in problem.message
    assert lint_command_line("nohz_full=2-3", DEBIAN_12) == []


def test_parameters_newer_than_the_kernel_are_inert() -> None:
    text = "rcutree.nohz_full_patience_delay=1000"

    assert lint_command_line(text, ANY) == []
    assert lint_command_line(text, KernelFacts(kernel=(6, 11))) == []
    problem = only(text, KernelFacts(kernel=(6, 10)))
    assert (problem.kind, problem.severity) == (Kind.INERT, Gravity.ERROR)
    assert "came with 6.11" in problem.message


def test_parameters_that_are_gone_are_deprecated() -> None:
    problem = only("cpu0_hotplug", KernelFacts(kernel=(6, 12)))

    assert problem.kind is Kind.DEPRECATED
    assert lint_command_line("cpu0_hotplug", KernelFacts(kernel=(6, 1))) == []


def test_isolcpus_for_scheduling_is_deprecated_and_managed_irq_is_not() -> None:
    assert only("isolcpus=2-3").kind is Kind.DEPRECATED
    assert "R24" in only("isolcpus=2-3").remedy
    assert only("isolcpus=domain,managed_irq,2-3").severity is Gravity.NOTE
    assert lint_command_line("isolcpus=managed_irq,2-3", ANY) == []


def test_kthread_cpus_is_said_to_be_of_another_kernel() -> None:
    problem = only("kthread_cpus=0-1")

    assert problem.kind is Kind.INERT
    assert "StarlingX" in problem.message


def test_a_sysctl_by_its_bare_name_is_sent_to_sysctl() -> None:
    assert only("vm.stat_interval=120").remedy.startswith("sysctl.vm.stat_interval=120")


def test_names_nobody_knows_are_a_warning_or_a_note() -> None:
    assert only("frobnicate=1").severity is Gravity.WARNING
    assert only("i915.enable_execlists=0").kind is Kind.UNKNOWN
    assert only("nvidia.NVreg_Something=1").severity is Gravity.NOTE


@pytest.mark.parametrize(
    ("text", "kernel", "words"),
    [
        ("mitigations=auto,no_user_kernel", (6, 12), "6.17"),
        ("preempt=lazy", (6, 12), "6.13"),
        ("amd_pstate=guided", (6, 3), "6.4"),
        ("amd_pstate=active", (6, 1), "6.3"),
    ],
)
def test_values_newer_than_the_kernel_are_inert(
    text: str, kernel: tuple[int, int], words: str
) -> None:
    problem = only(text, KernelFacts(kernel=kernel))

    assert (problem.kind, problem.severity) == (Kind.INERT, Gravity.ERROR)
    assert words in problem.message
    assert lint_command_line(text, KernelFacts(kernel=(6, 18))) == []


def test_rcu_nocbs_poll_is_worse_than_inert_on_kernels_that_take_rcu_nocbs_bare() -> None:
    messages = [problem.message for problem in lint_command_line("rcu_nocbs_poll", DEBIAN_12)]

    assert any("rcu_nocbs without a list" in message for message in messages)
    old = lint_command_line("rcu_nocbs_poll", KernelFacts(kernel=(4, 19)))
    assert [problem.kind for problem in old] == [Kind.MISSPELT]


RUNNING = KernelFacts(
    kernel=(6, 18),
    running="quiet frobnicate=1 vendor_switch=2 vendor.option=1 psi=1",
    modules={"vendor": frozenset(["option"])},
    ignored=frozenset(["frobnicate", "psi"]),
)


def test_of_its_own_command_line_the_kernels_word_counts() -> None:
    problems = found(RUNNING.running, RUNNING)

    assert set(problems) == {"frobnicate=1", "psi=1"}
    assert problems["frobnicate=1"][0].severity is Gravity.ERROR
    assert problems["psi=1"][0].kind is Kind.INERT


def test_a_kernel_that_takes_a_typo_for_a_shorter_name_is_silent_and_proves_nothing() -> None:
    # Linux compares names of __setup() by their beginning: rcu_nocbs_poll is not in its log.
    facts = KernelFacts(kernel=(6, 1), running="rcu_nocbs_poll", ignored=frozenset())

    assert worst("rcu_nocbs_poll", facts).kind is Kind.MISSPELT


def test_of_another_command_line_the_running_kernels_word_proves_nothing() -> None:
    assert only("vendor_switch=2", RUNNING).kind is Kind.UNKNOWN


def test_a_line_the_kernel_would_cut_is_said_to_be_too_long() -> None:
    text = "quiet " * 400

    assert "drop the rest" in worst(text).message


def test_what_is_worst_comes_first() -> None:
    gravities = [problem.severity for problem in lint_command_line(NFV_HOST, ANY)]

    order = list(Gravity)
    assert gravities == sorted(gravities, key=order.index, reverse=True)
    assert gravities[0] is Gravity.DANGER


_WORDS = st.sampled_from(
    [*NFV_HOST.split(), *DUCKED_TAILS.split(), "isolcpus=", "N", "all", "=", '"', "--", "1-7:1/2"]
)


@given(
    st.one_of(st.text(), st.lists(st.one_of(_WORDS, st.text(max_size=8))).map(" ".join)),
    st.sampled_from([ANY, DEBIAN_12, RUNNING]),
)
def test_no_text_makes_it_raise(text: str, facts: KernelFacts) -> None:
    for problem in lint_command_line(text, facts):
        assert problem.message


@given(st.sampled_from(["isolcpus", "nohz_full", "mce", "rdt", "hugepages"]), st.text(max_size=30))
def test_no_value_makes_it_raise(name: str, value: str) -> None:
    lint_command_line(f"{name}={value}", DEBIAN_12)


def test_a_long_line_of_unknown_names_is_judged_within_seconds() -> None:
    text = " ".join(f"unknownname{number:03}" for number in range(1000))

    # Of this process: others may have the core.
    start = time.process_time()
    lint_command_line(text, ANY)

    assert time.process_time() - start < 10
