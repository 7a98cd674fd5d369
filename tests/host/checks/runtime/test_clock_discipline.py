from dataclasses import replace
from pathlib import Path

import pytest

from host_tree import POLL, judge
from taut.host.check import State
from taut.host.checks.runtime.clock_discipline import CHECK
from taut.host.situation import Role

CONF = "/etc/chrony/chrony.conf"


def daemon(name: str, *argv: str) -> dict[str, str]:
    return {"/proc/50/comm": f"{name}\n", "/proc/50/cmdline": "\0".join((name, *argv)) + "\0"}


GOOD = {
    "chrony steps at its start only": daemon("chronyd") | {CONF: "# x\nmakestep 1 3\n"},
    "chrony never steps": daemon("chronyd"),
    "ntpd slews": daemon("ntpd", "-g", "-x"),
    "ntpd is told not to step": daemon("ntpd") | {"/etc/ntp.conf": "tinker panic 0 step 0\n"},
    "phc2sys by default": daemon("phc2sys", "-s", "eth0"),
    "ptp4l by default": daemon("ptp4l", "-f", "/etc/ptp.conf")
    | {"/etc/ptp.conf": "[global]\nstep_threshold 0.0\n"},
}
BAD = {
    "makestep 1 -1": daemon("chronyd") | {CONF: "makestep 1 -1\n"},
    "other.conf": daemon("chronyd", "-f", "/etc/other.conf")
    | {"/etc/other.conf": "MakeStep 0.1 -1\n"},
    "conf.d/a.conf": daemon("chronyd") | {"/etc/chrony/conf.d/a.conf": "makestep 1 -1\n"},
    "0.128 s": daemon("ntpd", "-g"),
    "0.4 s": daemon("systemd-timesyn"),
    "-S 0.001": daemon("phc2sys", "-S", "0.001"),
    "step_threshold 1.0": daemon("ptp4l", "-f", "/etc/ptp.conf")
    | {"/etc/ptp.conf": "step_threshold 1.0\n"},
}


@pytest.mark.parametrize("what", GOOD)
def test_a_daemon_that_slews_is_good(what: str, tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, GOOD[what]).state is State.PASS


@pytest.mark.parametrize("words", BAD)
def test_a_daemon_that_steps_is_named_with_the_reason(words: str, tmp_path: Path) -> None:
    finding = judge(CHECK, tmp_path, BAD[words])

    assert finding.state is State.FAIL
    assert words in finding.observed


def test_without_a_daemon_nobody_steps(tmp_path: Path) -> None:
    assert judge(CHECK, tmp_path, {}).state is State.PASS
    container = replace(POLL, role=Role.CONTAINER)
    assert judge(CHECK, tmp_path, {}, container).state is State.UNKNOWN


def test_configuration_that_makes_no_sense_says_nothing(tmp_path: Path) -> None:
    odd = daemon("chronyd", "-f") | {CONF: "makestep\n\0\nmakestep 1\n"}

    assert judge(CHECK, tmp_path, odd).state is State.PASS
