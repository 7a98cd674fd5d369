"""The spec is as far as bare metal goes, the comparison tells yes from no and not built."""

from itertools import product
from typing import Any

import pytest

from made_documents import made_variant
from taut.experiment.plan import make_plan
from taut.experiment.spec import parse_spec
from taut.reproduce.experiment import Section
from taut.reproduce.in_states import TRIMMED
from taut.reproduce.nfvi18 import DEVICES, NFVI18, RATES_PPS, SHALLOW

STATES = ("as found", "trimmed")
CONTAINED_L2 = ("L2 forward", "poll", "container")
MEDIANS_US = {
    "l2": 1,
    "l2_interrupt": 30,
    "l2_veth": 4,
    "bridge": 20,
    "firewall": 2,
    "firewall_interrupt": 31,
}


def row(device: str, state: str, pps: float, **changes: Any) -> dict[str, Any]:
    p50 = MEDIANS_US[device] * 1000
    worst = 4_500_000 if state == "as found" else 90_000
    latency = {"n": 1000, "min": p50 // 2, "mean": p50 * 1.1, "p50": p50, "max": worst}
    return {
        "dut": device,
        "host": state,
        "asked_pps": pps,
        "latency_ns": latency,
        "latency_without_void_ns": dict(latency),
        **changes,
    }


def as_published() -> list[dict[str, Any]]:
    return [row(*load) for load in product(MEDIANS_US, STATES, RATES_PPS)]


def compare(rows: list[dict[str, Any]]) -> list[Section]:
    """Published beside variants with these keys."""
    return NFVI18.compare([made_variant(**row) for row in rows])


def answers(shape: Section) -> list[str]:
    return [line[-1] for line in shape.rows]


@pytest.mark.parametrize("quick", [True, False])
def test_the_spec_has_every_device_in_both_states(quick: bool) -> None:
    plan = make_plan(parse_spec(NFVI18.spec_text(quick=quick)))

    found = {(t.device.name, t.host.name, t.offered_pps) for t in plan.trials}
    assert found >= set(product(DEVICES, STATES, RATES_PPS))


def test_without_root_there_is_what_polls_over_memory_as_found() -> None:
    without = [*NFVI18.optional_devices(), *NFVI18.optional_places(), *NFVI18.states]

    plan = make_plan(parse_spec(NFVI18.spec_text(quick=True, without=without)))

    assert {t.device.name for t in plan.trials} == {
        *("l2", "l2_interrupt", "firewall", "firewall_interrupt", "loopback_virtio")
    }
    assert not plan.spec.changes_host


def test_quick_is_quick() -> None:
    assert make_plan(parse_spec(NFVI18.spec_text(quick=True))).total_ns < 420e9


def test_what_taut_forward_does_is_measured_in_a_container_too() -> None:
    plan = make_plan(parse_spec(NFVI18.spec_text(quick=True)))
    without = make_plan(parse_spec(NFVI18.spec_text(quick=True, without=["container", "vm"])))

    contained = {t.device.name for t in plan.trials if t.place.name == "container"}
    assert contained == {"l2", "l2_interrupt", "firewall", "firewall_interrupt"}
    assert {t.place.name for t in without.trials} == {"bare"}


def test_a_run_like_the_paper_has_its_shape() -> None:
    table, _, shape, missing = compare(as_published())

    assert shape.outcome == "NFV-I 2018: 4 of 4 shapes as published"
    assert shape.rows[0][2] == "90 µs"
    assert shape.rows[1][1:3] == ("up to 98 %", "12 of 12, by up to 98 %")
    assert table.rows[0][-5:] == (
        *["0.5 / 1.1 / 4500"] * 2,
        *["0.5 / 1.1 / 90"] * 2,
        "memif, bare",
    )
    assert "tuned real-time kernel" in dict(missing.rows)


def test_what_was_not_run_is_said_in_its_row() -> None:
    table, *_ = compare(as_published())

    by_row = {(line[0], line[1], line[2]): set(line[4:8]) for line in table.rows}
    for function, place in product(("L2 forward", "firewall"), ("VM", "container")):
        assert by_row[function, "interrupt", place] == {"not run"}


@pytest.mark.parametrize(("quick", "n"), [(True, 2), (False, 4)])
def test_a_guest_polls_and_sleeps(quick: bool, n: int) -> None:
    plan = make_plan(parse_spec(NFVI18.spec_text(quick=quick)))

    guests = {t.device.name: t.device.options["wait"] for t in plan.trials if t.place.name == "vm"}
    assert len(guests) == n
    assert {name: "interrupt" in name for name in guests} == {
        name: wait == "interrupt" for name, wait in guests.items()
    }


def test_a_function_in_a_container_has_rows_of_its_own() -> None:
    contained = row("l2", "as found", 10_000.0, placement="container")

    table, *_ = compare([*as_published(), contained])

    [line] = [line for line in table.rows if line[:4] == (*CONTAINED_L2, "10 kpkt/s")]
    assert line[4:6] == ("0.5 / 1.1 / 4500",) * 2
    assert line[6:] == ("not run", "not run", "memif, container")


def test_the_maximum_is_told_by_how_deep_cores_may_sleep() -> None:
    shallow = row("l2_interrupt", SHALLOW, 10_000.0)
    shallow["latency_without_void_ns"] |= {"max": 61_500}

    _, depths, *_ = compare([*as_published(), shallow])

    assert depths.columns[-2:] == ("as deep as found", "C1 at most")
    by_row = {line[:3]: line[3:] for line in depths.rows}
    assert by_row["L2 forward", "interrupt", "10 kpkt/s"] == ("4500", "61.5")
    assert by_row["L2 forward", "interrupt", "100 kpkt/s"] == ("4500", "not run")


def test_the_depth_is_a_state_where_there_is_something_to_limit() -> None:
    here = make_plan(parse_spec(NFVI18.spec_text(quick=True)))
    guest = make_plan(parse_spec(NFVI18.spec_text(quick=True, without=[SHALLOW])))

    assert {t.host.name for t in here.trials} == {"as found", "trimmed", SHALLOW}
    assert {t.host.only for t in here.trials if t.host.name == SHALLOW} == {("R19-now",)}
    assert {t.host.name for t in guest.trials} == {"as found", "trimmed"}


def test_a_run_unlike_the_paper_says_so() -> None:
    rows = as_published()
    for changed in rows:
        if changed["host"] == TRIMMED:
            changed["latency_without_void_ns"] |= {"max": 5_000_000}
        if changed["dut"] not in ("l2", "l2_veth"):
            changed["latency_without_void_ns"] |= {"p50": 500}

    *_, shape, _ = compare(rows)

    assert answers(shape) == ["no"] * 4


def test_what_was_not_run_is_not_judged() -> None:
    table, _, shape, _ = compare([])

    assert answers(shape) == ["not run"] * 4
    assert {cell for line in table.rows for cell in line[4:8]} == {"not run"}


def test_a_row_of_an_emulated_guest_says_so() -> None:
    claim = "emulated: no latency claim"
    measured = {"p50": 2_000, "n": 10, "min": 1, "mean": 2.0, "max": 3}
    rows = [
        made_variant(
            dut="l2_vm (emulated)",
            host=state,
            placement="vm",
            asked_pps=1_000.0,
            latency_ns=measured,
            claim=claim,
            frame="64",
        )
        for state in STATES
    ]

    table, *_ = NFVI18.compare(rows)

    found = {line[2] for line in table.rows if line[4] != "not run"}
    assert found == {f"VM, {claim}"}
