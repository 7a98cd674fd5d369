"""Published experiments (acceptance 7 of issue 15, 6 of 16), quick, from command to page."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from acceptance_run import TAUT
from taut.dut.drivers import DRIVERS
from taut.dut.drivers.suricata import SuricataOptions
from taut.host.host import Host
from taut.host.journal import Journal
from taut.testbed.placements.container import ContainerOptions, ContainerPlacement
from taut.testbed.placements.vm import VmOptions, VmPlacement

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.long,
    pytest.mark.root,
    pytest.mark.timeout(900),
]

# Shorter than --quick, and fewer loads: what --quick takes is a test of its plan.
SHORT = ("--set", "duration=200ms", "--set", "warm_up=100ms")


def reproduced(folder: Path, name: str, *more: str) -> list[dict[str, Any]]:
    """Run a published experiment to its end; give its tables."""
    if Journal(Host()).is_there:
        pytest.skip("an apply made by hand is in force")
    argv = [*TAUT, "reproduce", name, "--quick", "--wait", "--out", str(folder / "run")]

    done = subprocess.run([*argv, *SHORT, *more], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr[-3000:]
    assert not Journal(Host()).is_there
    assert "shapes as published" in " ".join(done.stdout.split())
    tables = json.loads((folder / "run/published.json").read_text())
    page = (folder / "run/report.html").read_text(encoding="utf-8")
    assert all(table["title"] in page for table in tables)
    return tables


def test_6_hipnet21_live_has_each_function_in_both_states(tmp_path: Path) -> None:
    # nfvi18 has guests and floors; here is neither.
    has_ips = DRIVERS["suricata"].missing(SuricataOptions()) is None
    inspecting = ["suricata_forward", "suricata_filter"] if has_ips else []
    fewer = [
        "floor=false",
        f"traffic.constant.devices={','.join(['forwarder', *inspecting])}",
        "traffic.constant.rates=10kpps",
        "traffic.overload.devices=bridge",
        "traffic.overload.rates=10kpps",
    ]
    if VmPlacement().missing(VmOptions()) is None:
        fewer.append("traffic.in_guests.devices=forwarder")
    options = [word for setting in fewer for word in ("--set", setting)]

    tables = reproduced(tmp_path, "hipnet21", "--live", *options)

    by_title = {table["title"].partition(": ")[2]: table["rows"] for table in tables}
    wanted = {"L2 forwarder": 2} | ({"IPS forwarding": 1, "IPS filtering": 1} if has_ips else {})
    for title, n_devices in wanted.items():
        at_10 = [r for r in by_title[title] if r[1] == "10 kpkt/s" and "paper" not in r[0]]
        assert [row[2] for row in at_10] == ["as found", "trimmed"] * n_devices
        assert all(row[3] for row in at_10)
    assert set(judged(tables).values()) <= {"yes", "no", "not run"}


def judged(tables: list[dict[str, Any]]) -> dict[str, str]:
    [shape] = [table for table in tables if table["columns"][-1] == "did it?"]
    return {row[0]: row[-1] for row in shape["rows"]}


def test_7_nfvi5g_has_router_and_skeleton_both_ways_in_both_states(tmp_path: Path) -> None:
    tables = reproduced(tmp_path, "nfvi5g", "--set", "traffic.both.frames=64,imix")

    [table] = [table for table in tables if table["title"].endswith(": one way")]
    measured = [row for row in table["rows"] if row[1] in ("64 B", "imix")]
    assert len(measured) == 8
    assert all(cell.count(" / ") == 2 for row in measured for cell in row[4:])
    answers = judged(tables)
    assert set(answers.values()) <= {"yes", "no"}
    assert answers["trimmed, nothing is out of sequence"] == "yes"


def test_7_nfvi18_has_each_placement_and_says_what_is_not_measured(tmp_path: Path) -> None:
    fewer = ["--set", "traffic.constant.rates=10kpps"]
    if VmPlacement().missing(VmOptions()) is None:
        fewer += ["--set", "traffic.in_guests.devices=l2_vm"]  # each boots a guest a state

    tables = reproduced(tmp_path, "nfvi18", *fewer)

    rows: dict[tuple[str, str], list[list[str]]] = {}
    left_out = [row for row in tables[0]["rows"] if row[3] == "100 kpkt/s"]
    assert {cell for row in left_out for cell in row[4:8]} == {"not run"}
    for row in tables[0]["rows"]:
        if row not in left_out:
            rows.setdefault((row[0], row[2]), []).append(row[4:8])
    built = rows["L2 forward", "bare metal"] + rows["firewall", "bare metal"]
    assert len(built) == 6
    if ContainerPlacement().missing(ContainerOptions()) is None:
        built += rows["L2 forward", "container"] + rows["firewall", "container"]
        assert len(built) == 10
    guests = [cells for (_, place), found in rows.items() if place[:2] == "VM" for cells in found]
    measured = [cells for cells in guests if cells[0].count(" / ") == 2]
    if VmPlacement().missing(VmOptions()) is None:
        assert len(measured) == 1
        built += measured
    assert len(guests) == 4
    assert all(cell.count(" / ") == 2 for cells in built for cell in cells)
    assert set(judged(tables).values()) <= {"yes", "no"}
