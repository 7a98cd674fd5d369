"""A10: whether polling threads use AVX-512 where it costs clock rate."""

from collections.abc import Sequence

from taut.host.check import (
    Check,
    Finding,
    Remedy,
    Severity,
    failed,
    not_applicable,
    passed,
    unknown,
)
from taut.host.checks.application._pollers import no_poller, polling_threads
from taut.host.host import Host
from taut.host.situation import Situation
from taut.host.threads import read_of_thread, some, status_field

_WANTED = "no AVX-512 on processors that lower their clock for it"
# Skylake-SP, Cascade Lake and Cooper Lake (85), Cannon Lake, Knights Landing and Knights Mill.
_LOWERS_CLOCK = frozenset({85, 102, 87, 133})


class WideVectors(Check):
    """The kernel notes it when it switches threads: what it did not see proves little."""

    id = "A10"
    title = "AVX-512"
    fault = "Polling threads use AVX-512"
    severity = Severity.MINOR
    why = (
        "processors of the Skylake generation stop for 10 to 20 µs to change their power licence, "
        "then run slower for 0.7 ms; later ones hardly do"
    )
    source = "Intel optimization manual; filesystems/proc.rst (arch_status)"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Ask the processor first, then each thread's arch_status."""
        found = no_poller(host, situation)
        if found is not None:
            return found
        machine = situation.machine
        if "avx512f" not in machine.flags:
            return not_applicable("the processor has no AVX-512")
        if machine.vendor != "intel" or machine.family != 6 or machine.model not in _LOWERS_CLOCK:
            return passed("this processor hardly lowers its clock for it", _WANTED)
        used, is_seen = [], False
        for thread in polling_threads(host, situation):
            text = read_of_thread(host, thread.pid, thread.tid, "arch_status") or ""
            elapsed = status_field(text, "AVX512_elapsed_ms") or ""
            is_seen |= elapsed.lstrip("-").isdecimal()
            if elapsed.isdecimal():
                used.append(f"{thread} used it {elapsed} ms ago")
        if used:
            return failed(some(used), _WANTED, situation.cores)
        if not is_seen:
            return unknown(
                "no AVX512_elapsed_ms in arch_status",
                "Linux 5.2 or newer; or perf stat -e core_power.lvl2_turbo_license on the host",
                _WANTED,
            )
        return passed("not seen when threads were switched", _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """In the build."""
        return (
            Remedy(
                "A10-by-hand",
                "build and run the program without AVX-512",
                by_hand="-mprefer-vector-width=256; DPDK: --force-max-simd-bitwidth=256; glibc: "
                "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX512VL",
                cost="throughput of wide code",
            ),
        )


CHECK = WideVectors()
