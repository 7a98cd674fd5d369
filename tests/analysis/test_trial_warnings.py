"""What results.json warns of in a trial, by its counters."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from made_run import VARIANTS, MadeTrial, MadeVariant, make_run
from taut.analysis.results import analyse_run
from taut.records.rundir import RunDirectory


def test_gaps_that_a_hop_of_a_chain_only_counted_are_told_by_its_name(tmp_path: Path) -> None:
    run = RunDirectory(make_run(tmp_path, VARIANTS[1:2], repetitions=1))
    [path] = tmp_path.glob("trials/*/trial.json")
    document = json.loads(path.read_text())
    full, whole = ({"gaps": {"n": 9, "not_logged": n}} for n in (7, 0))
    document["dut"] |= {
        "stats": None,
        "hops": [
            {"name": "hop1", "core": 1, "stats": whole},
            {"name": "hop2", "core": 2, "stats": full},
            {"name": "hop3", "core": 3, "stats": None},
        ],
    }
    path.write_text(json.dumps(document))

    [trial] = analyse_run(run).trials

    assert [line for line in trial.warnings if "gaps of" in line] == [
        "7 gaps of hop2 were not logged, only counted"
    ]


@pytest.mark.parametrize(
    ("n_lost", "foreign", "is_told"),
    [(19_000, 19_500, True), (250, 250, True), (250, 9, False), (9, 19_500, False)],
)
def test_a_device_that_moves_the_probes_is_told_beside_what_it_loses(
    tmp_path: Path, n_lost: int, foreign: int, is_told: bool
) -> None:
    """A tunnel, say: its frames come back, and none is known. A few are others' (of IPv6)."""
    made = replace(VARIANTS[1].trial, n_lost=n_lost, n_duplicates=0, device_stall=None)
    made = replace(made, generator_gap=None)
    run = RunDirectory(make_run(tmp_path, (replace(VARIANTS[1], trial=made),), repetitions=1))
    [path] = tmp_path.glob("trials/*/trial.json")
    document = json.loads(path.read_text())
    document["generator"]["counters"]["foreign"] = foreign
    path.write_text(json.dumps(document))

    [trial] = analyse_run(run).trials

    told = [line for line in trial.warnings if "no probes" in line]
    assert bool(told) == is_told
    if told:
        assert told[0].startswith(f"{foreign} frames came back that are no probes")
        assert "taut analyze" in told[0]


def test_sums_that_do_not_come_out_are_told_and_are_not_called_right(tmp_path: Path) -> None:
    run = RunDirectory(make_run(tmp_path, VARIANTS[1:2], repetitions=2))
    path, _ = sorted(tmp_path.glob("trials/*/trial.json"))
    document = json.loads(path.read_text())
    document["generator"]["counters"]["duplicates"] += 1
    path.write_text(json.dumps(document))

    result = analyse_run(run)

    assert [trial.measured.sums_reconcile for trial in result.trials] == [False, True]
    assert result.trials[0].warnings[0].startswith("sums do not reconcile: total: ")
    assert not result.variants[0].sums_reconcile


@pytest.mark.parametrize(
    ("deadline_ns", "n_lost", "capacity", "is_told"),
    [
        (10_000_000_000, 9, 1 << 10, True),
        (10_000_000_000, 0, 1 << 10, False),
        (500_000_000, 9, 1 << 9, False),
        (10**12, 9, 1 << 17, False),  # more than was sent
    ],
)
def test_a_deadline_that_is_longer_than_what_is_kept_is_told_where_packets_are_lost(
    tmp_path: Path, deadline_ns: int, n_lost: int, capacity: int, is_told: bool
) -> None:
    made = replace(VARIANTS[1].trial, n_lost=n_lost)
    run = RunDirectory(make_run(tmp_path, (replace(VARIANTS[1], trial=made),), repetitions=1))
    [path] = tmp_path.glob("trials/*/trial.json")
    document = json.loads(path.read_text())
    document["generator"] |= {"achieved_pps": 1e3, "offered_pps": 1e3}
    document["generator"]["in_flight"] = {"capacity": capacity, "deadline_ns": deadline_ns}
    path.write_text(json.dumps(document))

    [trial] = analyse_run(run).trials

    told = [line for line in trial.warnings if "counts as lost" in line]
    words = (
        "what was not back within 1.02 s counts as lost: of 1 kpkt/s no more is kept, and the "
        "deadline of 10 s is longer; ask for a shorter one, or a lower rate"
    )
    assert told == [words] * is_told


def test_a_latency_below_zero_is_told(tmp_path: Path) -> None:
    early = MadeVariant("eager", "taut_forward", MadeTrial(base_ns=-100))
    run = RunDirectory(make_run(tmp_path, (early,), repetitions=1))

    [trial] = analyse_run(run).trials

    assert f"negative latency: {trial.latency().min_ns} ns; the clock or the stamps are wrong" in (
        trial.warnings
    )
    assert trial.latency().min_ns < 0
