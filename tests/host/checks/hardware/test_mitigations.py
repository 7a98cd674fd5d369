from pathlib import Path

from host_tree import POLL, judge, tree
from taut.host.check import State
from taut.host.checks.hardware.mitigations import CHECK

FOLDER = "/sys/devices/system/cpu/vulnerabilities"


def test_they_are_reported_and_nothing_is_proposed(tmp_path: Path) -> None:
    files = {
        f"{FOLDER}/spectre_v2": "Mitigation: Retpolines\n",
        f"{FOLDER}/retbleed": "Vulnerable\n",
        f"{FOLDER}/mds": "Not affected\n",
    }

    finding = judge(CHECK, tmp_path, files)

    assert finding.state is State.PASS
    assert finding.observed == "mitigated: spectre_v2; vulnerable: retbleed; not affected: 1"
    assert CHECK.propose(tree(tmp_path, {}), POLL) == ()


def test_absent_is_not_judged(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE


def test_odd_contents_are_counted(tmp_path: Path) -> None:
    assert "not known: 1" in judge(CHECK, tmp_path, {f"{FOLDER}/mds": "\x00\n"}).observed
