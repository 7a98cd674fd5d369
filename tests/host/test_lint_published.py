"""Lint, tried on published command lines."""

import pytest

from linted import (
    ANY,
    DEBIAN_12,
    DUCKED_TAILS,
    EMBEDDED_BUILD,
    KERNEL_EXAMPLE,
    NFV_GUEST,
    NFV_HOST,
    RT_MAIL,
    found,
    worst,
)
from taut.host.lint import Gravity, KernelFacts, Kind, lint_command_line


@pytest.mark.parametrize("facts", [ANY, DEBIAN_12])
def test_nothing_is_wrong_with_the_kernels_own_example(facts: KernelFacts) -> None:
    assert lint_command_line(KERNEL_EXAMPLE, facts) == []


def test_ducked_tails_two_typos_are_found_and_corrected() -> None:
    problems = found(DUCKED_TAILS, DEBIAN_12)

    for written, meant in (("rcu_nocbs_poll", "rcu_nocb_poll"), ("nosoftlookup", "nosoftlockup")):
        problem = problems[written][0]
        assert (problem.kind, problem.severity) == (Kind.MISSPELT, Gravity.ERROR)
        assert problem.remedy == f"did you mean {meant}?"


def test_ducked_tails_misunderstandings_are_explained() -> None:
    problems = found(DUCKED_TAILS, DEBIAN_12)

    kinds = {
        parameter: [problem.kind for problem in those]
        for parameter, those in problems.items()
        if any(problem.severity is Gravity.WARNING for problem in those)
    }
    assert kinds["intel_idle.max_cstate=0"][0] is Kind.MISUNDERSTOOD
    assert kinds["intel_pstate=disable"] == [Kind.MISUNDERSTOOD]
    assert kinds["idle=poll"] == [Kind.DANGEROUS]
    assert {problem.kind for problem in problems["audit=0"]} == {Kind.DANGEROUS}
    assert "acpi_idle" in problems["intel_idle.max_cstate=0"][0].message


def test_the_singular_isolcpu_of_ducked_tails_text_is_found() -> None:
    assert worst("isolcpu=1-3").remedy == "did you mean isolcpus=1-3?"


def test_the_nfv_guides_typo_and_dangers_are_found() -> None:
    problems = found(NFV_HOST)

    assert problems["pcie_asmp=off"][0].remedy == "did you mean pcie_aspm=off?"
    assert problems["mce=off"][0].severity is Gravity.DANGER
    assert "mce=ignore_ce" in problems["mce=off"][0].remedy
    assert problems["idle=poll"][0].kind is Kind.DANGEROUS
    assert problems["tsc=reliable"][0].kind is Kind.DANGEROUS
    assert problems["intel_pstate=disable"][0].kind is Kind.MISUNDERSTOOD
    assert problems["hugepagesz=1G"][0].kind is Kind.INERT


def test_the_nfv_guides_guest_is_told_of_its_dangers() -> None:
    problems = found(NFV_GUEST)

    assert problems["mce=off"][0].severity is Gravity.DANGER
    assert "host's cores" in problems["idle=poll"][0].message


def test_what_is_right_in_published_lines_is_left_alone() -> None:
    good = {
        "nohz_full=1-7",
        "rcu_nocbs=1-7",
        "irqaffinity=0",
        "skew_tick=1",
        "transparent_hugepage=never",
        "nosmt",
        "nohz=on",
        "iommu=pt",
        "intel_iommu=on",
        "default_hugepagesz=1G",
        "root=/dev/mapper/rl-root",
        "rd.lvm.lv=rl/root",
        "BOOT_IMAGE=/vmlinuz-6.16.3-custom-rt",
        "cpufreq.default_governor=performance",
        "rcu_nocb_poll",
        "rcupdate.rcu_normal_after_boot=1",
        "crashkernel=2G-64G:256M,64G-:512M",
        "acpi_irq_nobalance",
        "console=tty1",
    }

    for text in (DUCKED_TAILS, NFV_HOST, RT_MAIL, EMBEDDED_BUILD):
        assert good.isdisjoint(found(text))


def test_an_otherwise_careful_line_has_one_typo_and_one_danger() -> None:
    wrong = [problem.parameter for problem in lint_command_line(RT_MAIL, ANY) if problem.is_wrong]

    assert wrong == ["mitigations=off", "nosoftlookup"]


def test_names_of_modules_that_do_not_exist_are_corrected() -> None:
    problems = found(EMBEDDED_BUILD)

    assert problems["intel.max_cstate=0"][0].remedy == "did you mean intel_idle.max_cstate=0?"
    assert "processor.max_cstate=0?" in problems["processor_idle.max_cstate=0"][0].remedy
    assert problems["nohalt"][0].kind is Kind.INERT
    assert problems["nosmap"][0].severity is Gravity.DANGER
