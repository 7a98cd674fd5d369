"""Debian's kernel and its -rt kernel boot with taut's parameters, which work.

Each kernel boots twice: as it comes, where taut's audit in the guest finds the rows that only a
boot can mend, and proposes parameters; then with these parameters, where the same audit passes
them. Emulation serves for function, not for latency, and nothing here measures latency.
"""

import json
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from acceptance import guest
from acceptance.guest import Boot, Kernel
from acceptance_run import TAUT
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
}

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.guest,
    pytest.mark.root,
    pytest.mark.timeout(900),
    pytest.mark.skipif(guest.missing_programs() is not None, reason=str(guest.missing_programs())),
]


@dataclass(frozen=True)
class Proof:
    """One kernel, before and after."""

    kernel: Kernel
    plain: Boot
    tuned: Boot


@pytest.fixture(scope="module", params=FLAVOURS)
def proof(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Proof:
    folder = tmp_path_factory.mktemp("guest")
    kernel = guest.fetch_kernel(request.param)
    initramfs = guest.make_initramfs(kernel, COMMANDS, MODULES, folder)
    accelerator = guest.find_accelerator(kernel, initramfs, folder / "kvm")
    plain = guest.boot(kernel, initramfs, "", folder / "plain", accelerator=accelerator)
    parameters = json.loads(said(plain, "cmdline"))["cmdline"]
    tuned = guest.boot(kernel, initramfs, parameters, folder / "tuned", accelerator=accelerator)
    proof = Proof(kernel, plain, tuned)
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
                f" off after {boot.total_s:.1f} s; parameters: {boot.parameters or 'none'}",
                file=sys.stderr,
            )
        for check in (check for check in plain if plain[check]["state"] != tuned[check]["state"]):
            before, after = plain[check], tuned[check]
            print(
                f"  {check} {before['title']}: {before['state']} ({before['observed']})"
                f" -> {after['state']} ({after['observed']})",
                file=sys.stderr,
            )


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
