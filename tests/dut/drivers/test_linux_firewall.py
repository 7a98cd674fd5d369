import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from forwarding import generate
from taut.dut.driver import DriverOptions, DutDriver
from taut.dut.drivers.linux_firewall import LinuxFirewallDriver, LinuxFirewallOptions
from taut.dut.drivers.taut_forward import TautForwardDriver
from taut.dut.forwarder import TautForwardOptions
from taut.dut.kernel_rules import read_rules, refused_by_nft
from taut.testbed import netlink
from taut.testbed.links import LINKS
from taut.testbed.scope import RunScope
from taut.testing.frames import LAST_CORE

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(
        shutil.which("nft") is None, reason="needs nft; devtools/setup.sh test installs it"
    ),
]
CHAIN = """add table inet edge
add chain inet edge forward { type filter hook forward priority 0; policy drop; }
"""
# Of four flows, from port 1024 on: one is dropped by a rule, one by the policy.
RULES = (
    CHAIN
    + """add rule inet edge forward udp sport 1025 drop comment "accept"
add rule inet edge forward iifname "port1" accept
add rule inet edge forward iifname "port0" udp sport 1024 accept
add rule inet edge forward ct state new,established udp sport 1026 counter accept
"""
)
ROUTER = Path(__file__).parents[3] / "examples/router"


def measured(
    driver: DutDriver, options: DriverOptions, scope: RunScope, folder: Path
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the generator counts of four flows in one direction, and what the device does."""
    reason = driver.missing(options)
    if reason is not None and "not supported" in reason:
        pytest.skip(f"no nf_tables in this kernel: {reason}")
    assert reason is None
    with (
        LINKS["veth"].open(scope, 2) as links,
        driver.running(links, LAST_CORE, options, folder, scope) as dut,
    ):
        ports = [link.generator_port for link in links]
        # So few that they fit into a ring of the port: all are sent, however late.
        arguments = [*ports, "--flows", "4", "--count", "400"]
        arguments += ["--core", str(min(os.sched_getaffinity(0)))]
        found = netlink.inside(
            str(links[0].generator_netns),
            lambda: generate(folder / "out", *arguments, deadline="10s"),
        )
        stats: Any = dut.stop()
        return dict(found["counters"]), stats.others


def without_bytes(counted: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """taut counts bytes of frames, the kernel of packets."""
    return [{k: v for k, v in rule.items() if k != "bytes"} for rule in counted]


def test_the_same_rules_have_the_same_verdicts_in_taut_and_in_the_kernel(
    scope: RunScope, tmp_path: Path
) -> None:
    rules = tmp_path / "fw.nft"
    rules.write_text(RULES)
    (tmp_path / "kernel").mkdir()
    (tmp_path / "taut").mkdir()
    router = f"router:routes={ROUTER}/routes,neighbours={ROUTER}/neighbours"
    nf = (f"firewall:rules={rules}", router)

    sent, kernels = measured(
        LinuxFirewallDriver(), LinuxFirewallOptions(rules=str(rules)), scope, tmp_path / "kernel"
    )
    sent_too, ours = measured(
        TautForwardDriver(), TautForwardOptions(nf=nf, eal=("--no-huge",)), scope, tmp_path / "taut"
    )

    n = sent["sent"]
    assert n == sent_too["sent"] > 0
    assert kernels["in"] == n
    assert kernels["out"] == sent["matched"] + sent["late"]
    assert kernels["dropped"] == n - kernels["out"] == sum(kernels["dropped_by"].values())
    told = without_bytes([*kernels["rules"], kernels["policy"]])
    firewall = ours["nfs"][0]
    assert told == without_bytes([*firewall["rules"], firewall["policy"]])
    # The flows take turns, so that each has a quarter.
    flows = [(n + 3 - i) // 4 for i in range(4)]
    assert [rule["packets"] for rule in told] == [flows[1], 0, flows[0], flows[2], flows[3]]
    reasons = {name: count for name, count in kernels["dropped_by"].items() if count}
    assert reasons == {"rule": flows[1], "policy": flows[3]}


def test_without_rules_every_packet_is_accepted(scope: RunScope, tmp_path: Path) -> None:
    sent, counted = measured(LinuxFirewallDriver(), LinuxFirewallOptions(), scope, tmp_path)

    assert counted["out"] == counted["in"] == sent["sent"] > 0
    assert (counted["rules"], counted["policy"]) == ([], None)


def test_it_starts_again_where_it_was_stopped(scope: RunScope, tmp_path: Path) -> None:
    driver, rules = LinuxFirewallDriver(), tmp_path / "fw.nft"
    rules.write_text(RULES)
    options = LinuxFirewallOptions(rules=str(rules))
    reason = refused_by_nft(rules, read_rules(rules, ["port0", "port1"]))
    if reason is not None and "not supported" in reason:
        pytest.skip(f"no nf_tables in this kernel: {reason}")
    assert reason is None

    with LINKS["veth"].open(scope, 2) as links:
        for _ in range(2):
            with driver.running(links, LAST_CORE, options, tmp_path, scope) as dut:
                counted: Any = dut.stop()
            told = without_bytes([*counted.others["rules"], counted.others["policy"]])
            assert [rule["packets"] for rule in told] == [0] * 5


def test_what_taut_or_nft_refuses_is_one_line_before_the_run(tmp_path: Path) -> None:
    driver, rules = LinuxFirewallDriver(), tmp_path / "fw.nft"
    options = LinuxFirewallOptions(rules=str(rules))

    rules.write_text(CHAIN + "add rule inet edge forward tcp dport 22 reject\n")
    by_taut = str(driver.missing(options))
    rules.write_text(CHAIN + "add rule inet edge forward iifname port2 drop\n")
    no_port = str(driver.missing(options))
    # A word that nft keeps for itself cannot be a table's name; taut has no such words.
    rules.write_text("add table inet ip\n")
    by_nft = str(driver.missing(options))

    assert f"{rules}:3:41: reject: " in by_taut
    assert f"{rules}:3: port2: no such port; " in no_port
    assert by_nft.startswith(f"{rules}: nft: ")
    assert "\n" not in by_taut + no_port + by_nft


def test_where_nft_is_not_installed_the_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ip").symlink_to(str(shutil.which("ip")))
    monkeypatch.setenv("PATH", str(tmp_path))

    missing = LinuxFirewallDriver().missing(LinuxFirewallOptions())

    assert missing == "nft: program not found; install nftables"


def test_rules_and_routes_are_seen_from_the_folder_of_the_experiment() -> None:
    given = {"rules": "fw.nft", "routes": "lab/routes"}

    seen = LinuxFirewallOptions.seen_from(Path("/x"), given)

    assert seen == {"rules": "/x/fw.nft", "routes": "/x/lab/routes"}
    assert LinuxFirewallOptions(**seen).files == (Path("/x/fw.nft"), Path("/x/lab/routes"))
