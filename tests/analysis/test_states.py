"""A run over states of the host, told by pairs of runs."""

from typing import Any

import pytest

from made_documents import made_result
from taut.analysis import states
from taut.analysis.claims import Evidence
from taut.analysis.runs import ratio_evidence, share_gone
from taut.records.documents.results import WITHOUT_VOID

ENOUGH = 6
"""Pairs of runs in which one device's median and tail can be claimed."""


def found_of_states(rows: list[dict[str, Any]]) -> states.FoundOfStates | None:
    return states.found_of_states([made_result(**row) for row in rows])


def result(host: str, repetition: int, p50: int, **changes: Any) -> dict[str, Any]:
    figures = {"n": 100_000, "p50": p50, "p99": 3 * p50, "p99.9": 9 * p50}
    row = {
        "status": "whole",
        "driver": "linux_bridge",
        "dut": "bridge",
        "host": host,
        "repetition": repetition,
        "index": 2 * repetition + (host == "as found"),
        "asked_pps": 10_000.0,
        "frame": "64",
        "warm": {"due": 100_000, "sent": 100_000, "matched": 100_000},
        "latency_without_void_ns": figures,
    }
    return row | changes


def in_turn(n: int, found: int = 24_000, trimmed: int = 8_000) -> list[dict[str, Any]]:
    return [
        result(host, repetition, p50 + 10 * repetition)
        for repetition in range(1, n + 1)
        for host, p50 in (("trimmed", trimmed), ("as found", found))
    ]


def lose(rows: list[dict[str, Any]], host: str, n_lost: int, **warm: int) -> None:
    """In one state so many of 100,000 packets do not come back."""
    for row in rows:
        if row["host"] == host:
            row["warm"] = {"due": 100_000, "sent": 100_000, "lost": n_lost, **warm}
            row["latency_without_void_ns"]["n"] = 100_000 - n_lost


def test_a_run_in_one_state_has_nothing_to_say():
    assert found_of_states([result("as found", 1, 1000)]) is None


def test_few_runs_are_told_and_nothing_is_claimed():
    found = found_of_states(in_turn(3))
    assert found is not None
    said = found.sentence

    assert said == (
        "Trimmed beside as found: bridge median 24.0 µs → 8.02 µs, p99.9 216 µs → 72.2 µs "
        "(medians of runs)."
    )
    assert found.few == "3 runs each are too few for a claim (`taut trim` makes one)"


def test_enough_pairs_are_a_claim_with_its_interval():
    found = found_of_states(in_turn(ENOUGH))
    assert found is not None
    said = found.sentence

    assert "2.99 times shorter, 95 % interval 2.99 to 3" in said
    assert found.few == ""


@pytest.mark.parametrize("n", [4, 5])
def test_states_that_were_not_taken_in_turn_are_two_groups_of_runs(n):
    """All of one state, then all of the other: as pairs so few runs could show nothing."""
    results = [
        {**row, "index": row["repetition"] + 100 * (row["host"] == "as found")}
        for row in in_turn(n)
    ]

    found = found_of_states(results)
    assert found is not None
    said = found.sentence

    assert "times shorter, 95 % interval" in said


def started(rows: list[dict[str, Any]], *, is_resumed: bool) -> list[dict[str, Any]]:
    """Say when trials started; where it was resumed, those as found a day after all others."""
    late = is_resumed and "as found"
    return [
        {**row, "started_utc": f"2026-01-0{1 + (row['host'] == late)}T00:00:{row['index']:02d}.000"}
        for row in rows
    ]


def test_what_a_resumed_run_measured_a_day_later_is_no_pair():
    """Its trials keep their numbers, by which five pairs of states were taken in turn."""
    resumed = found_of_states(started(in_turn(5), is_resumed=True))
    at_once = found_of_states(started(in_turn(5), is_resumed=False))
    assert resumed is not None
    assert at_once is not None

    assert "times shorter, 95 % interval" in resumed.sentence
    assert "95 % interval" not in at_once.sentence


def test_the_last_trial_of_all_resumed_a_day_later_is_no_pair():
    rows = started(in_turn(5), is_resumed=False)
    rows[-1]["started_utc"] = rows[-1]["started_utc"].replace("-01T", "-02T")

    found = found_of_states(rows)

    assert found is not None
    assert "times shorter, 95 % interval" in found.sentence


def evidence_of(rows: list[dict[str, Any]]) -> Evidence:
    sides = [
        [made_result(**row) for row in rows if row["host"] == host]
        for host in ("as found", "trimmed")
    ]
    found = ratio_evidence(*sides, "p50", WITHOUT_VOID)
    assert found is not None
    return found


def broken_off(n: int, between: int) -> list[dict[str, Any]]:
    """Break a run off between the trials of a pair, whose second is resumed a day later.

    So are all that follow.
    """
    rows = started(in_turn(n), is_resumed=False)
    last = next(i for i, row in enumerate(rows) if row["repetition"] == between)
    for row in rows[last + 1 :]:
        row["started_utc"] = row["started_utc"].replace("-01T", "-02T")
    return rows


@pytest.mark.parametrize("between", [1, 4, ENOUGH + 2])
def test_a_pair_that_a_break_tore_apart_is_left_out(between: int) -> None:
    """Drift of the machine in that day does not hit both."""
    rows = broken_off(ENOUGH + 2, between)
    others = [row for row in rows if row["repetition"] != between]

    found = evidence_of(rows)

    assert found.n_runs == (ENOUGH + 1, ENOUGH + 1)
    assert found == evidence_of(others)


def test_where_too_few_pairs_are_left_the_runs_are_two_groups() -> None:
    rows = broken_off(ENOUGH, 3)
    groups = [{**row, "index": None} for row in rows]

    assert evidence_of(rows) == evidence_of(groups)
    assert evidence_of(rows).n_runs == (ENOUGH, ENOUGH)


def test_pairs_that_were_measured_later_as_a_whole_are_pairs():
    rows = started(in_turn(ENOUGH), is_resumed=False)
    for row in rows:
        if row["repetition"] == 2:
            row["started_utc"] = row["started_utc"].replace("-01T", "-02T")

    assert found_of_states(rows) == found_of_states(in_turn(ENOUGH))


def test_a_run_whose_state_was_taken_back_meanwhile_is_of_no_state():
    rows = in_turn(ENOUGH)
    rows[0]["not_kept"] = ["kernel.watchdog"]
    assert found_of_states(rows) == found_of_states(rows[1:])

    for row in rows:
        row["not_kept"] = ["kernel.watchdog"] if row["host"] == "trimmed" else None
    assert found_of_states(rows).sentence == ("Trimmed beside as found: nothing can be compared.")


def test_what_is_no_different_is_not_claimed():
    results = in_turn(ENOUGH, trimmed=24_000)
    for row in results:
        row["latency_without_void_ns"]["p50"] += (
            500 * (row["repetition"] % 2) * (1 if row["host"] == "trimmed" else -1)
        )

    found = found_of_states(results)
    assert found is not None
    said = found.sentence

    assert "no difference shown" in said


@pytest.mark.parametrize(("n", "told"), [(10_000, "p99.9"), (9_000, "p99"), (900, None)])
def test_a_tail_the_runs_do_not_support_is_not_told(n: int, told: str | None):
    rows = in_turn(3)
    for row in rows:
        row["latency_without_void_ns"] = row["latency_without_void_ns"] | {"n": n}

    found = found_of_states(rows)
    assert found is not None
    said = found.sentence

    assert ("p99" in said) is (told is not None)
    assert ("p99.9" in said) is (told == "p99.9")


def test_a_tail_that_fewer_runs_support_than_another_is_not_told():
    rows = in_turn(ENOUGH)
    for row in rows[:-2]:
        row["latency_without_void_ns"] = row["latency_without_void_ns"] | {"n": 9_000}

    found = found_of_states(rows)
    assert found is not None

    assert "p99 72.1 µs → 24.1 µs (2.99 times shorter" in found.sentence
    assert "p99.9" not in found.sentence
    assert found.few == ""


def test_floors_and_failed_trials_are_left_out():
    results = [
        *in_turn(3),
        result("trimmed", 4, 1, driver="loopback"),
        {**result("trimmed", 5, 1), "status": "failed", "sent": None},
    ]

    found = found_of_states(results)
    assert found is not None
    said = found.sentence

    assert "8.02 µs" in said


def test_runs_under_another_load_of_the_same_rate_are_no_repetitions():
    burst = {"traffic": "burst", "schedule": "burst", "schedule_options": {"size": 32}}
    rows = [*in_turn(3), *(row | burst for row in in_turn(3, found=90_000, trimmed=80_000))]

    found = found_of_states(rows)
    assert found is not None

    assert found.sentence == (
        "Trimmed beside as found: bridge at 10 kpkt/s, 64 B median 24.0 µs → 8.02 µs, p99.9 216 µs "
        "→ 72.2 µs; bridge at 10 kpkt/s, 64 B (burst, size=32) median 90.0 µs → 80.0 µs, p99.9 810 "
        "µs → 720 µs (medians of runs)."
    )


def test_rates_alone_tell_loads_apart():
    rows = [*in_turn(3), *(row | {"asked_pps": 20_000.0} for row in in_turn(3))]

    found = found_of_states(rows)
    assert found is not None

    assert "bridge at 10 kpkt/s median" in found.sentence
    assert "; bridge at 20 kpkt/s median" in found.sentence


@pytest.mark.parametrize(("host", "shares"), [("as found", ("5", "0")), ("trimmed", ("0", "5"))])
@pytest.mark.parametrize(("n_lost", "is_claimed"), [(5_000, False), (8, True)])
def test_nothing_is_claimed_of_the_tail_where_one_state_loses_it(
    n_lost: int, is_claimed: bool, host: str, shares: tuple[str, str]
):
    rows = in_turn(ENOUGH)
    lose(rows, host, n_lost)

    found = found_of_states(rows)
    assert found is not None

    tail = found.sentence.partition("p99.9 ")[2]
    said = "not shown: {} % lost or not sent before, {} % after".format(*shares)
    assert ("times shorter" in tail) is is_claimed
    assert (said in tail) is not is_claimed


@pytest.mark.parametrize("host", ["as found", "trimmed"])
def test_what_gaps_of_the_generator_lost_is_no_loss_of_a_state(host: str):
    rows = in_turn(ENOUGH)
    lose(rows, host, 5_000, void=5_000, lost_void=5_000)

    found = found_of_states(rows)

    assert found is not None
    assert found.sentence.count("times shorter") == 2


def test_what_a_held_up_generator_did_not_send_is_no_loss_of_a_device():
    warm = {"due": 100_000, "sent": 99_500, "unsent": 500, "matched": 99_500}
    for n_void, gone in ((0, 500), (500, 0), (700, 0)):
        came = {"n": 100_000 - n_void - gone}
        one = made_result(warm=warm | {"void": n_void}, latency_without_void_ns=came)

        assert (share_gone(one), share_gone(one, WITHOUT_VOID)) == (0.005, gone / 100_000)
