import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from inline_lab import DROPS_THE_FIRST, assert_lost_is_dropped, skip_without, through
from taut.dut.drivers.suricata import (
    SuricataDriver,
    SuricataOptions,
    dropped_by,
    read_counters,
    why_refused,
)
from taut.host.situation import Waiting
from taut.testbed.scope import RunScope

DRIVER = SuricataDriver()
COUNTERS = (
    '{"stats": {"decoder": {"pkts": 7}, "ips": {}}}\n'
    '{"stats": {"capture": {"kernel_packets": 45, "kernel_drops": 5, '
    '"afpacket": {"send_errors": 2}}, "decoder": {"pkts": 40}, "ips": {"accepted": 29, '
    '"blocked": 11, "drop_reason": {"rules": 1, "flow_drop": 9, "decode_error": 0}}}}\n'
)


def test_its_last_counters_say_why_packets_were_dropped() -> None:
    told = read_counters(COUNTERS)

    assert told is not None
    assert told["packets"] == 40
    reasons = {name: n for name, n in dropped_by(told).items() if n}
    assert reasons == {
        "rules": 1,
        "flow_drop": 9,
        "blocked_otherwise": 1,
        "ring_full": 5,
        "send_errors": 2,
    }


def test_one_that_was_killed_has_no_counters() -> None:
    assert read_counters("") is None


def test_a_refused_rule_is_one_line_with_its_place() -> None:
    said = (
        "i: suricata: This is Suricata\n"
        'E: detect-parse: protocol "upd" cannot be used in a signature.\n'
        'E: detect: error parsing signature "drop upd ..." from file my.rules at line 2\n'
        "E: suricata: Loading signatures failed.\n"
    )

    assert why_refused(Path("my.rules"), said) == (
        'my.rules:2: protocol "upd" cannot be used in a signature; correct the rule or leave it out'
    )


def test_rules_without_a_filter_are_refused() -> None:
    with pytest.raises(ValidationError, match="write mode = filter"):
        SuricataOptions(rules="x")


def test_rules_are_found_from_the_experiment_s_folder(tmp_path: Path) -> None:
    given = SuricataOptions.seen_from(tmp_path, {"mode": "filter", "rules": "a/b"})

    assert SuricataOptions(**given).files == (tmp_path / "a/b",)


def test_its_device_sleeps() -> None:
    assert DRIVER.waits(SuricataOptions()) is Waiting.SLEEPS


@pytest.mark.alone
@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, ": no such file of rules"),
        ("drop upd any 1 -> any any (sid:2;)", ':1: protocol "upd" cannot be used'),
        ("drop udp any 1 -> any any", ":1: "),
    ],
)
def test_a_bad_rules_file_is_told_before_the_run(
    tmp_path: Path, text: str | None, said: str
) -> None:
    skip_without(DRIVER)
    rules = tmp_path / "my.rules"
    if text is not None:
        rules.write_text(f"{text}\n")

    reason = DRIVER.missing(SuricataOptions(mode="filter", rules=str(rules)))

    assert reason is not None
    assert f"{rules}{said}" in reason
    assert "\n" not in reason


@pytest.mark.alone
@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")
def test_rules_are_read_with_the_arguments_of_the_run(tmp_path: Path) -> None:
    skip_without(DRIVER)
    rules = tmp_path / "my.rules"
    rules.write_text("drop udp $LAB any -> any any (sid:1;)\n")
    given = SuricataOptions(mode="filter", rules=str(rules))
    lab = ("--set", "vars.address-groups.LAB=[10.0.0.0/8]")

    assert "my.rules:1: " in str(DRIVER.missing(given))
    verbose = given.model_copy(update={"arguments": ("-v",)})
    assert "my.rules:1: " in str(DRIVER.missing(verbose))
    assert DRIVER.missing(given.model_copy(update={"arguments": lab})) is None


@pytest.mark.alone
@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--nope",), "unrecognized option '--nope'"),
        (("--set", "x"), "Invalid argument for --set, must be key=val"),
        (("--set", "detect.profile=x"), "invalid value for detect.profile: 'x'. Valid options: "),
    ],
)
def test_what_is_wrong_with_the_arguments_is_not_told_of_the_rules(
    tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    skip_without(DRIVER)
    rules = tmp_path / "my.rules"
    rules.write_text("drop udp any any -> any any (sid:1;)\n")

    given = SuricataOptions(mode="filter", rules=str(rules), arguments=arguments)

    reason = str(DRIVER.missing(given))

    assert f"arguments {' '.join(arguments)}: {said}" in reason
    assert reason.endswith("; correct them or leave them out")
    assert "\n" not in reason


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")
def test_what_a_rule_drops_and_the_generator_misses_is_the_same(
    scope: RunScope, tmp_path: Path
) -> None:
    skip_without(DRIVER)
    rules = tmp_path / "my.rules"
    rules.write_text(DROPS_THE_FIRST)

    counters, counted = through(
        DRIVER, SuricataOptions(mode="filter", rules=str(rules)), scope, tmp_path
    )

    reasons = counted.others["dropped_by"]
    assert counted.others["in"] == counters["sent"] > 0
    assert counted.others["dropped"] == sum(reasons.values())
    assert_lost_is_dropped(counters, counted)
    # Each packet of the flow that was taken from the ring, and nothing is unaccounted for.
    by_rules = reasons["rules"] + reasons.get("flow_drop", 0)
    assert 0 < by_rules <= counters["sent"] / 4 <= by_rules + reasons.get("ring_full", 0)
    assert reasons["other"] == 0


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")
def test_as_a_wire_it_drops_nothing_by_rules(scope: RunScope, tmp_path: Path) -> None:
    skip_without(DRIVER)

    counters, counted = through(DRIVER, SuricataOptions(), scope, tmp_path)

    assert counted.others["in"] == counters["sent"] > 0
    assert "rules" not in counted.others["dropped_by"]
    assert counted.others["told"]["ips"]["blocked"] == 0
