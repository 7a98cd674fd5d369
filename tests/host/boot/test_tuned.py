from configparser import ConfigParser
from dataclasses import replace

from boot_wishes import CONTEXT, LINE, WISHES
from taut.host.boot.tuned import tuned_files

PATH = "/etc/tuned/taut/tuned.conf"


def parsed(text: str) -> ConfigParser:
    """As tuned reads it (tuned/utils/config_parser.py)."""
    config = ConfigParser(delimiters=("=",), inline_comment_prefixes=("#",), interpolation=None)
    config.optionxform = str  # type: ignore[assignment,method-assign]
    config.read_string(text)
    return config


def test_tuned_reads_back_what_was_wanted() -> None:
    config = parsed(tuned_files(WISHES, CONTEXT)[PATH])

    assert config["main"]["include"] == "network-latency"
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
