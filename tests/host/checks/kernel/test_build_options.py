import gzip
from pathlib import Path

from host_tree import POLL, judge, tree
from taut.host.check import State
from taut.host.checks.kernel.build_options import CHECK

GOOD = "CONFIG_NO_HZ_FULL=y\nCONFIG_RCU_NOCB_CPU=y\nCONFIG_CPUSETS=y\nCONFIG_CPU_ISOLATION=y\n"
RELEASE = {"/proc/sys/kernel/osrelease": "6.12.0-amd64\n"}
PATH = "/boot/config-6.12.0-amd64"


def test_a_kernel_with_all_options_passes(tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, RELEASE | {PATH: GOOD})

    assert finding.state is State.PASS
    assert "without EVENT_TRACING" in finding.observed


def test_a_missing_option_fails_and_takes_another_kernel(tmp_path: Path) -> None:
    off = GOOD.replace("CONFIG_NO_HZ_FULL=y", "# CONFIG_NO_HZ_FULL is not set")

    finding = judge(CHECK, tmp_path, RELEASE | {PATH: off})

    assert finding.state is State.FAIL
    assert "NO_HZ_FULL" in finding.observed
    assert [remedy.id for remedy in CHECK.propose(tree(tmp_path, {}), POLL)] == ["K02-by-hand"]


def test_a_packed_configuration_is_read(tmp_path: Path) -> None:
    packed = gzip.compress(GOOD.encode()).decode(errors="surrogateescape")

    assert judge(CHECK, tmp_path, {"/proc/config.gz": packed}).state is State.PASS


def test_without_a_configuration_a_kernel_that_lists_no_tickless_cores_fails(
    tmp_path: Path,
) -> None:
    finding = judge(CHECK, tmp_path, {"/sys/devices/system/cpu/online": "0-3\n"})

    assert finding.state is State.FAIL
    assert "nohz_full" in finding.observed


def test_the_kernels_own_complaint_counts(tmp_path: Path) -> None:
    said = "[0.0] Linux version 6\n[0.1] Housekeeping: nohz unsupported. Build with NO_HZ_FULL\n"

    assert judge(CHECK, tmp_path, {"/commands/dmesg": said}).state is State.FAIL


def test_nothing_readable_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.UNKNOWN


def test_a_malformed_configuration_is_none(tmp_path: Path) -> None:
    files = RELEASE | {"/proc/config.gz": "not packed", PATH: "\x00\x01"}

    assert judge(CHECK, tmp_path, files).state is State.UNKNOWN
