import shutil
import subprocess
from configparser import ConfigParser
from dataclasses import replace
from pathlib import Path

import pytest

from boot_wishes import CONTEXT, WISHES
from taut.core.errors import InputError
from taut.host.boot.item import UnitState
from taut.host.boot.systemd import (
    MODPROBE,
    SYSCTL,
    TMPFILES,
    hold_back_path,
    systemd_files,
)
from taut.host.boot.wish import BootWish
from taut.host.situation import Waiting

UNITS = "/etc/systemd/system"
HOLD, APPLY = f"{UNITS}/taut-host-hold.service", f"{UNITS}/taut-host-apply.service"
TARGET = f"{UNITS}/multi-user.target.d/90-taut.conf"
HOLDING = replace(CONTEXT, hold_us=2)


def unit(text: str) -> ConfigParser:
    config = ConfigParser(interpolation=None, delimiters=("=",))
    config.optionxform = str  # type: ignore[assignment,method-assign]
    config.read_string(text)
    return config


def statements(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_apply_runs_taut_with_this_role_and_cores_on_a_housekeeping_core() -> None:
    service = unit(systemd_files(WISHES, CONTEXT)[APPLY])["Service"]

    assert service["ExecStart"] == (
        "/opt/taut/bin/taut host apply --role poll-core --cores 2-3 --profile recommended --yes"
    )
    assert service["CPUAffinity"] == "0-1"


def test_apply_keeps_to_what_alone_was_asked_for() -> None:
    context = replace(CONTEXT, only=("R06", "K23-now"))

    service = unit(systemd_files(WISHES, context)[APPLY])["Service"]

    assert service["ExecStart"].endswith("--profile recommended --only R06,K23-now --yes")


def test_apply_is_told_that_the_device_sleeps() -> None:
    context = replace(CONTEXT, waiting=frozenset({Waiting.SLEEPS, Waiting.POLLS}))

    service = unit(systemd_files(WISHES, context)[APPLY])["Service"]

    assert "--cores 2-3 --device polls,sleeps --profile" in service["ExecStart"]


def test_stopping_apply_takes_nothing_back_since_every_shutdown_stops_it() -> None:
    service = unit(systemd_files(WISHES, CONTEXT)[APPLY])["Service"]

    assert not [key for key in service if key.startswith("ExecStop")]


def test_a_latency_is_held_by_a_service_of_its_own_where_one_is_wanted() -> None:
    service = unit(systemd_files(WISHES, HOLDING)[HOLD])["Service"]

    assert service["ExecStart"] == "/opt/taut/bin/taut host hold --latency 2"
    assert HOLD not in systemd_files(WISHES, CONTEXT)


def test_the_target_starts_our_units_and_those_that_are_wanted() -> None:
    files = systemd_files(WISHES, HOLDING)

    assert unit(files[TARGET])["Unit"]["Wants"].split() == [
        "taut-host-apply.service",
        "taut-host-hold.service",
        "chrony.service",
    ]


def test_a_unit_that_shall_not_start_is_held_back_by_a_condition() -> None:
    files = systemd_files(WISHES, CONTEXT)

    text = files[hold_back_path("irqbalance.service")]
    assert unit(text)["Unit"]["ConditionPathExists"] == "!/"
    assert text.startswith("# moves interrupts\n")


def test_fragments_hold_one_statement_per_item() -> None:
    files = systemd_files(WISHES, CONTEXT)

    assert statements(files[SYSCTL]) == ["vm.stat_interval = 120"]
    assert statements(files[TMPFILES]) == ["w /sys/kernel/mm/ksm/run - - - - 0"]
    assert statements(files[MODPROBE]) == [
        "options kvm halt_poll_ns=0",
        "options kvm kvmclock_periodic_sync=0",
    ]


def test_fragments_without_items_are_left_out() -> None:
    assert set(systemd_files([], CONTEXT)) == {APPLY, TARGET}


@pytest.mark.parametrize("mark", ['"', "'", "\\", "\n"])
def test_a_path_that_systemd_refuses_is_refused_before(mark: str) -> None:
    with pytest.raises(InputError, match="systemd starts no program with a quote"):
        systemd_files(WISHES, replace(CONTEXT, program=f"/opt/a{mark}b/taut"))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
@pytest.mark.parametrize("folder", ["bin", "my code", "100%nix", "$HOME ${x}=y"])
def test_systemd_finds_nothing_wrong_with_the_units(tmp_path: Path, folder: str) -> None:
    program, units = tmp_path / folder / "taut", tmp_path / "units"
    for made in (program.parent, units):
        made.mkdir()
    shutil.copy("/bin/true", program)
    files = systemd_files(
        [BootWish(UnitState("chrony.service", is_enabled=True), "time")],
        replace(HOLDING, program=str(program)),
    )
    for path in (HOLD, APPLY):
        (units / Path(path).name).write_text(files[path])

    ended = subprocess.run(
        ["systemd-analyze", "verify", *map(str, units.iterdir())],
        capture_output=True,
        text=True,
        check=False,
    )

    assert "taut-host" not in ended.stderr
