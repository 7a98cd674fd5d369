from configparser import ConfigParser
from dataclasses import replace
from pathlib import Path

from boot_wishes import CONTEXT, LINE, WISHES
from host_tree import put, tree
from taut.host.boot.tuned import profiles_besides, tuned_files

ACTIVE = "/etc/tuned/active_profile"
PATH = "/etc/tuned/taut/tuned.conf"


def parsed(text: str) -> ConfigParser:
    """As tuned reads it (tuned/utils/config_parser.py)."""
    config = ConfigParser(delimiters=("=",), inline_comment_prefixes=("#",), interpolation=None)
    config.optionxform = str  # type: ignore[assignment,method-assign]
    config.read_string(text)
    return config


def test_tuned_reads_back_what_was_wanted() -> None:
    config = parsed(tuned_files(WISHES, CONTEXT)[PATH])

    # What the plan lists and no more: nothing of another profile.
    assert "include" not in config["main"]
    assert config["bootloader"]["cmdline_taut"] == f"+{LINE}"
    assert dict(config["sysctl"]) == {"vm.stat_interval": "120"}
    assert dict(config["sysfs"]) == {"/sys/kernel/mm/ksm/run": "0"}
    assert dict(config["modules"]) == {"kvm": "halt_poll_ns=0 kvmclock_periodic_sync=0"}
    assert dict(config["service"]) == {
        "service.irqbalance": "stop,disable",
        "service.chrony": "start,enable",
    }


def test_sections_without_lines_are_left_out() -> None:
    config = parsed(tuned_files([], CONTEXT)[PATH])

    assert config.sections() == ["main"]


def test_newer_versions_look_in_another_folder() -> None:
    files = tuned_files([], replace(CONTEXT, tuned_folder="/etc/tuned/profiles"))

    assert list(files) == ["/etc/tuned/profiles/taut/tuned.conf"]


def test_the_profile_in_force_stays_below_ours_and_comes_back(tmp_path: Path) -> None:
    host = tree(tmp_path, {ACTIVE: "cpu-partitioning own\n"})
    below = profiles_besides(host)
    text = tuned_files(WISHES, replace(CONTEXT, tuned_profiles=below))[PATH]

    assert parsed(text)["main"]["include"] == "cpu-partitioning,own"
    assert "`tuned-adm profile cpu-partitioning own`" in text

    # Taken up: the next apply, and undo, find what was there before.
    put(tmp_path, PATH, text)
    put(tmp_path, ACTIVE, "taut\n")
    assert profiles_besides(host) == below


def test_without_a_profile_in_force_there_is_none_to_come_back(tmp_path: Path) -> None:
    host = tree(tmp_path, {PATH: tuned_files(WISHES, CONTEXT)[PATH], ACTIVE: "taut\n"})

    assert profiles_besides(host) == ()
    assert "`tuned-adm off`" in tuned_files(WISHES, CONTEXT)[PATH]
