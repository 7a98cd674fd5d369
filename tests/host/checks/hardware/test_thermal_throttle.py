from dataclasses import replace
from pathlib import Path

from host_tree import POLL, judge, tree
from taut.host.check import State
from taut.host.checks.hardware.thermal_throttle import CHECK
from taut.host.situation import Role, Watched

FOLDER = "/sys/devices/system/cpu/cpu{}/thermal_throttle"
CORE_2 = FOLDER.format(2) + "/core_throttle_count"
CORE_0 = FOLDER.format(0) + "/core_throttle_count"


def test_never_throttled_passes(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {CORE_2: "0\n"}).state is State.PASS


def test_throttled_once_upon_a_time_needs_a_watch(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {CORE_2: "7\n"}).needs == "watch a while: --watch 5s"

    quiet = replace(POLL, watched=Watched(5.0, {CORE_2: "7"}, {CORE_2: "7"}))
    assert judge(CHECK, tmp_path, {}, quiet).state is State.PASS


def test_throttling_while_watched_fails_for_its_core(tmp_path: Path) -> None:
    hot = replace(POLL, watched=Watched(5.0, {CORE_2: "7"}, {CORE_2: "9"}))

    finding = judge(CHECK, tmp_path, {CORE_2: "9\n"}, hot)

    assert finding.state is State.FAIL
    assert finding.observed == "throttled 2 times in 5 s"
    assert finding.cores == (2,)
    assert CHECK.propose(tree(tmp_path, {}), hot)[0].by_hand


def test_a_housekeeping_core_may_be_hot(tmp_path: Path) -> None:
    hot = replace(POLL, watched=Watched(5.0, {CORE_0: "7"}, {CORE_0: "9"}))

    assert judge(CHECK, tmp_path, {CORE_0: "9\n", CORE_2: "0\n"}, hot).state is State.PASS


def test_absent_is_not_judged_and_odd_is_unknown(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.NOT_APPLICABLE
    assert judge(CHECK, tmp_path, {CORE_2: "hot\n"}).state is State.UNKNOWN


def test_a_guest_is_not_asked(tmp_path: Path) -> None:
    guest = replace(POLL, role=Role.KVM_GUEST)

    assert judge(CHECK, tmp_path, {CORE_2: "7\n"}, guest).state is State.NOT_APPLICABLE
