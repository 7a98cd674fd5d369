"""Debian's kernel and its -rt kernel boot with taut's parameters, which work; taut traces in them.

Each kernel boots twice: as it comes, where taut's audit in the guest finds the rows that only a
boot can mend, and proposes parameters; then with these parameters, where the same audit passes
them, and taut-trace records known disturbances that explain then has to name. Emulation serves for
function, not for latency, and nothing here measures latency.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc
import pytest

from acceptance import guest, guest_trace
from acceptance.guest import Boot, Kernel
from acceptance.guest_trace import MANY, Traced
from acceptance_run import TAUT
from taut.explain.tell.gaps import tell_gap
from taut.host.checks import CHECKS

# The command line, the kernel's own masks and threads: no write can change what these rows read.
BOOT_ONLY = ("K04", "K05", "K06", "K08", "K12")
POLL_CORE = "1"
ISOLATING = ("isolcpus=", "nohz_full=", "rcu_nocbs=", "irqaffinity=")
FLAVOURS = ("amd64", "rt-amd64")
MODULES = ("taut.cli.host.audit", "taut.cli.host.cmdline")
COMMANDS = {
    "audit": f"python3 -m {TAUT[-1]} host audit --role kvm-guest --cores {POLL_CORE} --json",
    "cmdline": f"python3 -m {TAUT[-1]} host cmdline --role kvm-guest --cores {POLL_CORE} --json",
    "kernel": "cat /sys/devices/system/cpu/isolated /sys/devices/system/cpu/nohz_full",
    "trace": guest_trace.command(POLL_CORE),
}
CALLS = "functions and initiators of function-call IPIs are unknown"
SENDERS = "initiators of IPIs are unknown"
# Came with Linux 6.4 and 6.5; everything else taut-trace asks for, 6.1 has.
NOT_IN_6_1 = {
    "csd/csd_queue_cpu": CALLS,
    "csd/csd_function_entry": CALLS,
    "csd/csd_function_exit": CALLS,
    "ipi/ipi_send_cpu": SENDERS,
    "ipi/ipi_send_cpumask": SENDERS,
}
DETAILS = {
    "tlb-shootdown": "page",
    "membarrier": "",
    "page-fault": "at 0x",
    "preemption": '"taut-inject"',
}

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.guest,
    pytest.mark.alone,
    pytest.mark.root,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(guest.missing_programs() is not None, reason=str(guest.missing_programs())),
]


@dataclass(frozen=True)
class Proof:
    """One kernel, before and after."""

    kernel: Kernel
    plain: Boot
    tuned: Boot
    traced: Mapping[str, Traced]


@pytest.fixture(scope="module", params=FLAVOURS)
def proof(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Proof:
    folder = tmp_path_factory.mktemp("guest")
    kernel = guest.fetch_kernel(request.param)
    programs = guest_trace.programs()
    initramfs = guest.make_initramfs(kernel, COMMANDS, MODULES, programs, folder)
    accelerator = guest.find_accelerator(kernel, initramfs, folder / "kvm")
    plain = guest.boot(kernel, initramfs, "", folder / "plain", accelerator=accelerator)
    parameters = json.loads(said(plain, "cmdline"))["cmdline"]
    tuned = guest.boot(kernel, initramfs, parameters, folder / "tuned", accelerator=accelerator)
    said(tuned, "trace")
    traced = {
        cause: guest_trace.explain(tuned, cause, folder / cause) for cause in guest_trace.CAUSES
    }
    proof = Proof(kernel, plain, tuned, traced)
    show(request, proof)
    return proof


def said(boot: Boot, command: str) -> str:
    result = boot.results[command]
    assert result.status == 0, result.err
    return result.out


def rows(boot: Boot) -> dict[str, Any]:
    return {row["id"]: row for row in json.loads(said(boot, "audit"))["checks"]}


def show(request: pytest.FixtureRequest, proof: Proof) -> None:
    """Print it past pytest's capture: the proof is for people to read."""
    plain, tuned = rows(proof.plain), rows(proof.tuned)
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print(f"\n\n{proof.kernel.release}, {proof.plain.accelerator}", file=sys.stderr)
        for name, boot in (("plain", proof.plain), ("tuned", proof.tuned)):
            print(
                f"  {name}: init after {boot.to_init_s:.1f} s"
                f" ({boot.guest_init_s:.1f} s by the guest's clock),"
                f" off after {boot.total_s:.1f} s; parameters: {boot.parameters or 'none'};"
                f" boots that stood still before: {boot.n_stalled}",
                file=sys.stderr,
            )
        for check in (check for check in plain if plain[check]["state"] != tuned[check]["state"]):
            before, after = plain[check], tuned[check]
            print(
                f"  {check} {before['title']}: {before['state']} ({before['observed']})"
                f" -> {after['state']} ({after['observed']})",
                file=sys.stderr,
            )
        for traced in proof.traced.values():
            print(f"  traced {traced}", file=sys.stderr)


def test_the_audit_in_the_guest_has_every_row(proof: Proof) -> None:
    for boot in (proof.plain, proof.tuned):
        assert set(rows(boot)) == {check.id for check in CHECKS}


@pytest.mark.parametrize("check", BOOT_ONLY)
def test_a_row_that_only_a_boot_mends_turns_from_fail_to_pass(proof: Proof, check: str) -> None:
    before, after = rows(proof.plain)[check], rows(proof.tuned)[check]

    assert before["state"] == "FAIL", before
    assert after["state"] == "PASS", after


def test_parameters_make_nothing_worse(proof: Proof) -> None:
    plain, tuned = rows(proof.plain), rows(proof.tuned)

    spoilt = [
        tuned[check]
        for check in plain
        if tuned[check]["state"] == "FAIL" and plain[check]["state"] != "FAIL"
    ]
    assert spoilt == []


def test_the_kernel_itself_says_that_the_core_is_taken_away(proof: Proof) -> None:
    assert said(proof.tuned, "kernel").split() == [POLL_CORE, POLL_CORE]
    assert POLL_CORE not in said(proof.plain, "kernel").split()


def test_the_kernel_knows_every_parameter(proof: Proof) -> None:
    assert "Unknown kernel command line parameters" not in proof.tuned.dmesg
    assert "Housekeeping:" not in proof.tuned.dmesg


def test_the_tuned_guest_keeps_what_it_was_booted_with(proof: Proof) -> None:
    first = proof.tuned.parameters.split()
    again = json.loads(said(proof.tuned, "cmdline"))["cmdline"].split()

    isolating = [word for word in first if word.startswith(ISOLATING)]
    assert len(isolating) == len(ISOLATING)
    assert set(isolating) <= set(again)
    # How many hugepages it can afford depends on the memory a boot leaves.
    assert {word for word in again if not word.startswith("hugepages=")} <= set(first)


def test_the_trace_says_what_6_1_lacks_and_what_that_costs(proof: Proof) -> None:
    for traced in proof.traced.values():
        assert {row.event: row.costs for row in traced.trace.missing} == NOT_IN_6_1
        assert traced.explanation.missing == tuple(NOT_IN_6_1.items())


@pytest.mark.parametrize("cause", guest_trace.CAUSES)
def test_what_disturbed_the_guests_core_is_named(proof: Proof, cause: str) -> None:
    traced = proof.traced[cause]
    named = traced.explanation.gaps.filter(pc.field("cause") == guest_trace.CALLED[cause])

    # Verdicts are not counted: the host stops virtual CPUs whenever it likes, longer than any act.
    assert traced.n_found >= MANY, str(traced)
    assert traced.n_found >= 0.8 * traced.n_sent, str(traced)
    assert traced.trace.lost == ()
    # The kernel has threads of its own that preempt.
    assert sum(DETAILS[cause] in detail for detail in named["detail"].to_pylist()) >= MANY / 2


def test_shares_and_residual_are_all_of_a_gap(proof: Proof) -> None:
    for traced in proof.traced.values():
        gaps = traced.explanation.gaps
        parts = [gaps[name].to_numpy() for name in ("net_ns", "model_ns", "work_ns", "residual_ns")]
        assert (sum(parts) == gaps["end_ns"].to_numpy() - gaps["start_ns"].to_numpy()).all()


def test_a_shootdown_without_csd_events_has_no_sender_and_says_so(proof: Proof) -> None:
    explanation = proof.traced["tlb-shootdown"].explanation
    (verdicts,) = explanation.source.verdicts

    rows = enumerate(explanation.gaps.to_pylist())
    flushed = {gap: row["by"] for gap, row in rows if row["cause"] == "tlb-shootdown"}

    assert set(flushed.values()) == {None}
    for gap in flushed:
        assert "who sent it: no event proves it" in tell_gap(verdicts, gap).missing
    assert explanation.calls == (0, 0)
