"""A rules file as nft is told it: the same but for the names of ports and for counters."""

from pathlib import Path

import pytest

from taut.dut.kernel_rules import NO_RULES, Count, Counted, Rule, Rules, read_rules

HEAD = "add table inet drop\nadd chain inet drop accept { type filter hook forward priority 0; "


def told(folder: Path, *rules: str, policy: str = "policy drop; }") -> Rules:
    path = folder / "fw.nft"
    path.write_text(
        HEAD + policy + "\n" + "".join(f"add rule inet drop accept {r}\n" for r in rules)
    )
    return read_rules(path, ["ttd0", "ttd1"])


@pytest.mark.parametrize(
    ("rule", "as_told"),
    [
        ("drop", " counter drop"),
        ("tcp dport 22 accept", "tcp dport 22  counter accept"),
        ("udp dport { 53, 80 }accept # names", "udp dport { 53, 80 } counter accept"),
        ("counter drop", " counter drop"),
        (
            'ip saddr 192.0.2.1 counter accept comment "counter drop"',
            'ip saddr 192.0.2.1  counter accept comment "counter drop"',
        ),
        ('iifname "port0" drop', 'iifname "ttd0"  counter drop'),
        (
            "tcp sport != 53 tcp dport != 2 drop",
            "tcp sport { 0-52, 54-65535 } tcp dport != 2 counter drop",
        ),
        (
            "th dport != 2 th sport !={ 53 } drop",
            "th dport != 2 th sport { 0-52, 54-65535 } counter drop",
        ),
        ("udp sport != 0 drop", "udp sport { 1-65535 } counter drop"),
        ("udp sport != 1 drop", "udp sport { 0, 2-65535 } counter drop"),
        ("udp sport != 65534 drop", "udp sport { 0-65533, 65535 } counter drop"),
        ("udp sport != 65535 drop", "udp sport { 0-65534 } counter drop"),
        ("udp sport != 53-80 drop", "udp sport != 53-80 counter drop"),
        ("udp sport != { 53, 80 } drop", "udp sport != { 53, 80 } counter drop"),
        ("iifname != port1 drop", 'iifname != "ttd1"  counter drop'),
        ('iifname == "port0" drop', 'iifname == "ttd0"  counter drop'),
        ('iifname == { "port0" } drop', 'iifname == { "ttd0" }  counter drop'),
        (
            'iifname { "port0", "port1", "port2" } drop comment "iifname port0"',
            'iifname { "ttd0", "ttd1", "port2" }  counter drop comment "iifname port0"',
        ),
    ],
)
def test_a_rule_counts_and_knows_the_links(tmp_path: Path, rule: str, as_told: str) -> None:
    line = told(tmp_path, rule).text.splitlines()[2]

    assert line.split() == f"add rule inet drop accept {as_told}".split()


def test_what_no_rule_fits_is_counted_behind_them(tmp_path: Path) -> None:
    rules = told(tmp_path, "tcp dport 22 accept", "udp dport 9 drop")

    assert rules.rules == (Rule(3, "accept"), Rule(4, "drop"))
    assert (rules.table, rules.chain, rules.policy) == ("drop", "accept", "drop")
    assert rules.text.splitlines()[-1] == "add rule inet drop accept counter"
    assert told(tmp_path, policy="}").policy == "accept"


def test_a_file_without_a_chain_accepts(tmp_path: Path) -> None:
    path = tmp_path / "fw.nft"
    path.write_text("add table inet t\n")

    rules = read_rules(path, ["ttd0", "ttd1"])

    assert (rules.chain, rules.policy) == (NO_RULES.chain, NO_RULES.policy) == ("", "accept")


def test_what_is_dropped_is_told_by_rule_and_policy() -> None:
    rules = (Count("drop", 3, 180, 3), Count("accept", 5, 300, 4), Count("drop", 4, 240, 5))

    assert Counted(rules, Count("drop", 9, 540)).dropped_by == {"rule": 7, "policy": 9}
    assert Counted(rules, Count("accept", 9, 540)).dropped_by == {"rule": 7, "policy": 0}
    assert Counted(()).dropped_by == {"rule": 0, "policy": 0}


def test_counts_are_told_as_taut_s_firewall_tells_them() -> None:
    told = Counted((Count("drop", 3, 180, 7),), Count("accept", 9, 540)).document

    assert told == {
        "rules": [{"line": 7, "verdict": "drop", "packets": 3, "bytes": 180}],
        "policy": {"verdict": "accept", "packets": 9, "bytes": 540},
    }
