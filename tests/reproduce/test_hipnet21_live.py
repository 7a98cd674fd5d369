"""Live the spec has what this machine has, and each table tells what was measured from what not."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from made_documents import made_variant
from taut.dut.drivers import DRIVERS
from taut.dut.inline import InlineOptions
from taut.experiment.plan import make_plan
from taut.experiment.spec import parse_spec
from taut.reproduce.experiment import Section
from taut.reproduce.hipnet21 import HIPNET21
from taut.reproduce.hipnet21.live import LABELS, OPTIONAL
from taut.reproduce.hipnet21.published import FIGURES
from taut.reproduce.in_states import STATES, data_file

MEDIANS_US = {"forwarder": 3, "bridge": 10, "suricata_forward": 15, "suricata_filter": 17}
RATES_PPS = (10_000.0, 40_000.0, 80_000.0, 120_000.0)
OVER_PPS = {"suricata_forward": 120_000.0, "suricata_filter": 80_000.0}


def row(device: str, state: str, pps: float, **changes: Any) -> dict[str, Any]:
    """A median as in the paper; from its first overload on a fifth is lost, and 30 ms wait."""
    is_over = pps >= OVER_PPS.get(device, 1e9)
    p50 = 30_000_000 if is_over else MEDIANS_US[device] * 1_000
    slow = 1.2 if state == "as found" else 1.1
    latency = {"n": 290_000, "p50": p50, "max": 2 * p50}
    latency |= dict.fromkeys(FIGURES[1:-1], int(p50 * slow))
    return {
        "dut": device,
        "driver": OPTIONAL.get(device, device),
        "host": state,
        "frame": "104",
        "asked_pps": pps,
        "achieved_pps": pps,
        "loss_ratio": 0.2 if is_over else 0.0,
        "latency_ns": latency,
        "latency_without_void_ns": dict(latency),
        "unsupported_percentiles": ["p99.9999"],
        "unsupported_percentiles_without_void": ["p99.9999"],
        **changes,
    }


def as_published() -> list[dict[str, Any]]:
    return [row(*load) for load in product(MEDIANS_US, STATES, RATES_PPS)]


def compare(rows: Sequence[dict[str, Any]]) -> dict[str, Section]:
    """Give the sections beside variants with these keys, by the end of their titles."""
    sections = HIPNET21.compare([made_variant(**row) for row in rows])
    return {section.title.partition(": ")[2]: section for section in sections}


def answers(section: Section) -> dict[str, str]:
    return {line[0]: line[-1] for line in section.rows}


@pytest.mark.parametrize("without", [[], ["l2fwd", "snort_forward", "snort_filter"]])
def test_the_spec_has_the_papers_rates(without: list[str]) -> None:
    plan = make_plan(parse_spec(HIPNET21.spec_text(quick=False, without=without)))

    trials = [t for t in plan.trials if t.traffic.name == "constant"]
    assert {t.rate for t in trials} == {f"{n}kpps" for n in range(10, 121, 10)}
    assert {t.duration_ns for t in plan.trials} == {30_000_000_000}
    assert {t.traffic.schedule for t in plan.trials} == {"constant"}
    found = {t.device.name for t in trials if not t.device.is_floor}
    assert found == LABELS.keys() - set(without)
    assert {t.place.kind_options.kernel for t in plan.trials if t.place.kind == "vm"} == {
        *("amd64", "rt")
    }


def test_quick_is_quick() -> None:
    assert make_plan(parse_spec(HIPNET21.spec_text(quick=True))).total_ns < 420e9


def test_who_is_not_root_and_has_no_guests_measures_the_forwarder() -> None:
    without = [*HIPNET21.optional_devices(), *HIPNET21.optional_places(), *HIPNET21.states]

    plan = make_plan(parse_spec(HIPNET21.spec_text(quick=True, without=without)))

    assert {t.device.name for t in plan.trials} == {"forwarder", "loopback_memif"}
    assert not plan.spec.changes_host


@pytest.mark.parametrize("program", ["suricata", "snort"])
def test_its_rules_are_read_where_the_program_is(program: str) -> None:
    driver = DRIVERS[program]
    if (reason := driver.missing(driver.options_type())) is not None:
        pytest.skip(reason)
    assert issubclass(driver.options_type, InlineOptions)

    rules = data_file("inspection.txt")

    assert driver.missing(driver.options_type(mode="filter", rules=rules)) is None
    assert sum(line.startswith("alert ") for line in Path(rules).read_text().splitlines()) == 100


def test_a_run_like_the_paper_has_its_shape() -> None:
    shape = compare(as_published())["the shape"]

    assert set(answers(shape).values()) == {"yes"}


def test_each_rate_stands_beside_the_paper_s() -> None:
    table = compare(as_published())["L2 forwarder"]

    rates = [line for line in table.rows if line[1] == "10 kpkt/s"]
    assert [line[:4] for line in rates] == [
        ("paper, DPDK's l2fwd", "10 kpkt/s", "", "3.17 µs"),
        ("taut-forward, memif", "10 kpkt/s", "as found", "3 µs"),
        ("taut-forward, memif", "10 kpkt/s", "trimmed", "3 µs"),
        ("the kernel's bridge, veth", "10 kpkt/s", "as found", "10 µs"),
        ("the kernel's bridge, veth", "10 kpkt/s", "trimmed", "10 µs"),
    ]
    assert rates[1][table.columns.index("p99.9999")] == "(3.60 µs)"


def test_what_the_kernel_s_bridge_holds_is_its_backlog() -> None:
    over = {"loss_ratio": 0.2}
    loads = product(MEDIANS_US, STATES, RATES_PPS)
    found = [row(*load, **(over if load[::2] == ("bridge", 120_000.0) else {})) for load in loads]

    table = compare(found)["overload is the size of a buffer"]

    by_device = {line[0]: line for line in table.rows}
    assert by_device["L2 forwarder, the kernel's bridge, veth"][-1] == "the kernel's backlog"


def test_what_trimming_saves_is_told_by_percentile_below_overload() -> None:
    table = compare(as_published())["relative improvement per percentile"]

    assert len(table.rows) == 4 + 4 + 3 + 2
    assert table.rows[0] == (
        *("L2 forwarder, taut-forward, memif", "10 kpkt/s", "as found, then trimmed"),
        *("+0 %", *["+8 %"] * 5, "", "+0 %"),
    )


def test_overload_is_told_as_packets_that_wait() -> None:
    table = compare(as_published())["overload is the size of a buffer"]

    by_device = {line[0]: line[2:] for line in table.rows}
    assert by_device["IPS filtering, Suricata, veth"] == (
        *("40 kpkt/s", "80 kpkt/s", "64 kpkt/s, 20 % lost", "30 ms", "1,920", "4,096 packets"),
    )
    assert by_device["L2 forwarder, taut-forward, memif"][:2] == ("120 kpkt/s", "none met")


def test_a_guest_that_was_emulated_says_so_in_its_rows() -> None:
    claim = "emulated: no latency claim"
    guests = [
        row("forwarder", "as found", 1_000.0, dut="forwarder_vm (emulated)", claim=claim, **place)
        for place in ({"placement": "vm"}, {"placement": "vm_rt"})
    ]

    sections = compare([*as_published(), *guests])

    lines = [line for line in sections["L2 forwarder"].rows if "VM" in line[0]]
    assert [line[0] for line in lines] == [
        f"taut-forward in a VM, kernel amd64, {claim}",
        f"taut-forward in a VM, kernel rt, {claim}",
    ]
    assert {*sections["relative improvement per percentile"].rows[-1][3:]} == {claim}


def test_an_ips_in_a_guest_is_said_not_to_be_run() -> None:
    for title in ("IPS forwarding", "IPS filtering"):
        assert compare(as_published())[title].rows[-1][-1] == "not run"


def test_a_run_unlike_the_paper_says_so() -> None:
    rows = as_published()
    for changed in rows:
        fast = {"p50": 1_000, "p99.9": 1_000}
        if changed["dut"] != "forwarder":
            changed["latency_without_void_ns"] |= fast
        if changed["host"] == "trimmed":
            changed["latency_without_void_ns"] |= {"p99": 9_000, "p99.9": 9_000}
        changed["lost"] = 3
    rows = [r for r in rows if r["dut"] != "suricata_filter" or r["asked_pps"] != 80_000.0]
    for changed in rows:
        if changed["dut"] == "suricata_forward" and changed["asked_pps"] == 80_000.0:
            changed["loss_ratio"] = 0.3

    shape = answers(compare(rows)["the shape"])

    assert {what for what, answer in shape.items() if answer == "yes"} == {
        "forwarder: the median is flat over the rate: within 1.25 x",
        "forwarder: p99.99 is at most 2 x the median",
        "forwarder: max is at most 3 x the median",
    }


def test_stalls_of_the_instrument_and_percentiles_without_support_do_not_decide() -> None:
    rows = as_published()
    for changed in rows:
        changed["unsupported_percentiles_without_void"] = ["p99.99", "p99.999", "p99.9999"]
        changed["latency_without_void_ns"]["p99.99"] = 900_000_000
    rows[0]["latency_ns"]["p99.9"] = 900_000

    shape = answers(compare(rows)["the shape"])

    assert shape["forwarder: p99.9 is at most 1.5 x the median"] == "yes"
    assert shape["forwarder: p99.99 is at most 2 x the median"] == "not run"


def test_a_figure_without_void_packets_has_the_support_of_those_that_are_left() -> None:
    few = {"unsupported_percentiles": [], "unsupported_percentiles_without_void": ["p99.9"]}

    sections = compare([r | few for r in as_published()])

    table = sections["L2 forwarder"]
    [cell, *_] = [line[table.columns.index("p99.9")] for line in table.rows if "memif" in line[0]]
    saved = sections["relative improvement per percentile"]
    shape = answers(sections["the shape"])
    assert cell == "(3.60 µs)"
    assert {line[saved.columns.index("p99.9")] for line in saved.rows} == {""}
    assert shape["forwarder: p99.9 is at most 1.5 x the median"] == "not run"
    assert shape["trimmed, p99.9 is lower, of most loads"] == "not run"


def test_where_no_packet_was_on_time_the_support_is_that_of_all() -> None:
    none_left = {"latency_without_void_ns": {"n": 0}, "unsupported_percentiles_without_void": []}

    sections = compare([r | none_left for r in as_published()])

    table = sections["L2 forwarder"]
    assert table.rows[2][table.columns.index("p99.9999")] == "(3.60 µs)"


def test_overload_is_neither_the_forwarder_s_shape_nor_what_trimming_does() -> None:
    rows = as_published()
    for changed in rows:
        if changed["dut"] != "forwarder" or changed["asked_pps"] == 120_000.0:
            changed["loss_ratio"] = 0.2
            tail = 90_000_000 if changed["host"] == "trimmed" else 40_000_000
            changed["latency_without_void_ns"] |= {"p50": 30_000_000, "p99.9": tail}

    sections = compare(rows)

    shape = answers(sections["the shape"])
    assert shape["forwarder: the median is flat over the rate: within 1.25 x"] == "yes"
    assert shape["forwarder: p99.9 is at most 1.5 x the median"] == "yes"
    assert shape["trimmed, p99.9 is lower, of most loads"] == "yes"


def test_what_is_overloaded_in_one_state_alone_says_nothing_of_trimming() -> None:
    rows = as_published()
    for changed in rows:
        changed["loss_ratio"] = 0.2 if changed["host"] == "trimmed" else 0.0

    sections = compare(rows)

    assert sections["relative improvement per percentile"].rows == ()
    assert answers(sections["the shape"])["trimmed, p99.9 is lower, of most loads"] == "not run"


def test_nothing_measured_is_judged_as_nothing() -> None:
    sections = compare([])

    assert set(answers(sections["the shape"]).values()) == {"not run"}
    assert [len(sections[of].rows) for of in ("L2 forwarder", "IPS filtering")] == [1, 2]
