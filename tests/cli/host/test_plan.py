import json
from pathlib import Path

import pytest

from host_tree import snapshot, tree
from taut.cli.main import run_command
from taut.host.situation import Role
from terminal import Terminal

FILES = {"/sys/devices/system/cpu/online": "0-3\n", "/proc/sys/vm/stat_interval": "1\n"}


def options(root: Path, *more: str) -> list[str]:
    named = ["--role", "poll-core", "--cores", "2-3", "--root", str(root)]
    return ["host", "plan", *named, *more]


def test_a_plan_is_printed_and_nothing_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree(tmp_path, FILES)
    before = snapshot(tmp_path)

    assert run_command(options(tmp_path)) == 0

    assert "/proc/sys/vm/stat_interval: 1 -> 120" in capsys.readouterr().out
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("role", Role)
def test_no_word_is_broken_at_any_width(tmp_path: Path, terminal: Terminal, role: Role) -> None:
    tree(tmp_path, FILES)
    plan = ["host", "plan", "--role", role, "--cores", "2-3", "--root", str(tmp_path)]

    terminal.assert_no_word_is_broken(lambda: run_command([*plan, "--all", "--profile", "extreme"]))


def test_a_plan_is_one_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree(tmp_path, FILES)

    assert run_command(options(tmp_path, "--json", "--only", "R06-now")) == 0

    document = json.loads(capsys.readouterr().out)
    taken = [step["remedy"] for step in document["steps"] if step["choice"] == "take"]
    assert taken == ["R06-now"]


@pytest.mark.parametrize(
    ("more", "word"),
    [
        (["--profile", "reckless"], "no profile 'reckless'"),
        (["--only", "R99"], "R99"),
        (["--cores", "0-3"], "housekeeping"),
        (["--cores", "8"], "not online"),
        (["--boot"], "--out"),
        (["--boot", "--out", "/tmp", "--form", "lilo"], "lilo"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], word: str
) -> None:
    tree(tmp_path, FILES)

    assert run_command(options(tmp_path, *more)) == 2

    said = capsys.readouterr().err
    assert word in said
    assert said.count("\n") == 1


def test_boot_configuration_is_written_where_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree(tmp_path / "host", FILES)
    out = tmp_path / "out"

    assert (
        run_command(options(tmp_path / "host", "--boot", "--out", str(out), "--form", "systemd"))
        == 0
    )

    conf = out / "systemd/etc/sysctl.d/90-taut.conf"
    assert "vm.stat_interval = 120" in conf.read_text()
    assert f"wrote {out}" in capsys.readouterr().out


def test_the_device_says_whether_a_packet_has_to_wake_its_core(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    haltpoll = "/sys/module/haltpoll/parameters/guest_halt_poll_ns"
    governor = "/sys/devices/system/cpu/cpuidle/current_governor"
    tree(tmp_path, FILES | {haltpoll: "0\n", governor: "haltpoll\n"})
    guest = ["host", "plan", "--role", "kvm-guest", "--cores", "2-3", "--root", str(tmp_path)]

    def taken(*more: str) -> list[str]:
        assert run_command([*guest, "--json", *more]) == 0
        steps = json.loads(capsys.readouterr().out)["steps"]
        return [step["remedy"] for step in steps if step["choice"] == "take"]

    assert "G05-now" not in taken()
    assert "G05-now" not in taken("--device", "testpmd")
    assert "G05-now" in taken("--device", "linux_bridge")
    assert "G05-now" in taken("--device", "command")
    assert "G05-now" in taken("--device", "sleeps")
    assert "G05-now" in taken("--device", "testpmd,linux_bridge")
    for wrong in ("router", "sleeps,", ""):
        assert run_command([*guest, "--device", wrong]) == 2
        assert "linux_bridge" in capsys.readouterr().err
