"""Effect: pairs of made-up trials in, claims with intervals out."""

import json
import random
import re
from dataclasses import replace
from math import inf
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from host_tree import POLL, TreeWriter, tree
from made_run import MadeTrial, MadeVariant, make_run
from taut.analysis.results import analyse_run
from taut.core.errors import InputError, TautError
from taut.experiment.spec import parse_spec
from taut.host.checks import CHECKS
from taut.host.knob import Knob, KnobSet, find_set
from taut.host.state import HostState, HostStates
from taut.records.convert import GAP_SCHEMA
from taut.records.documents.json_form import parse, plain
from taut.records.documents.results import WITHOUT_VOID
from taut.records.documents.trial import TrialDocument
from taut.records.rundir import AS_FOUND, RunDirectory, TrialDirectory
from taut.trim.effect import (
    CONFIDENCE,
    STOLEN,
    Measured,
    Scale,
    SetEffect,
    Shown,
    check_repetitions,
    confidence_of,
    judge,
    n_claims_of,
)
from taut.trim.effect_document import as_document, sentence
from taut.trim.effect_run import percentiles_of, read_trials, stolen_share, try_sets

CELL = "eager, 100 kpkt/s, 64 B"
PERCENTILES = ("p50", "p99.9")
R24 = KnobSet(HostState("R24", only=("R24",)), (Knob("R24", "move threads", only="R24"),), ())


def trial(state: str, repetition: int, p50: int, p999: int, *, stolen: float | None = 0.05):
    return Measured(
        state, repetition, CELL, {"p50": p50, "p99.9": p999}, stolen, 1000, 0, void_share=0.0
    )


def trials(factor: float, n: int = 8, *, stolen: float | None = 0.01) -> list[Measured]:
    """On, p99.9 is about `factor` times as long; p50 is what it was, give or take."""
    chance = random.Random(2)
    found = []
    for repetition in range(1, n + 1):
        drift = chance.uniform(0.5, 2)  # of both of a pair alike
        p50 = round(900 * drift)
        p999 = round(100_000 * drift)
        found.append(trial(AS_FOUND, repetition, p50, p999, stolen=stolen and 0.05))
        noisy = round(factor * p999 * chance.uniform(0.9, 1.1))
        found.append(trial("R24", repetition, p50 + (-1) ** repetition, noisy, stolen=stolen))
    return found


def by_name(one: SetEffect):
    return {figure.name: figure for figure in one.figures}


def test_a_percentile_that_becomes_shorter_is_shown_with_its_interval():
    (one,) = judge(trials(1 / 10), ["R24"], PERCENTILES)
    found = by_name(one)

    claim = found["p99.9"].claim
    assert found["p99.9"].shown is Shown.LESS
    assert 0.08 < claim.low < claim.estimate < claim.high < 0.12
    assert (claim.n_pairs, claim.p_value) == (8, 2 / 2**8)
    assert found["p50"].shown is Shown.NOTHING


def test_one_that_becomes_longer_is_shown_too():
    (one,) = judge(trials(3), ["R24"], PERCENTILES)

    assert by_name(one)["p99.9"].shown is Shown.MORE
    assert sentence(one).startswith("R24: p99.9 3")
    assert "times longer" in sentence(one)


def test_what_becomes_longer_beside_it_has_its_interval_too():
    measured = [
        replace(t, percentiles={**t.percentiles, "p50": 2 * t.percentiles["p50"]})
        if t.state == "R24"
        else t
        for t in trials(1 / 10)
    ]
    (one,) = judge(measured, ["R24"], PERCENTILES)

    assert re.fullmatch(
        r"R24: p99.9 \S+ times shorter \(95 % interval .*\); but p50 2.00 times longer "
        r"\(95 % interval 2.00 to 2.00; 8 pairs, p = 0.0078\)\.",
        sentence(one),
    )


def test_the_time_stolen_is_a_difference_of_shares():
    (one,) = judge(trials(1), ["R24"], PERCENTILES)
    stolen = by_name(one)[STOLEN]

    assert stolen.scale is Scale.DIFFERENCE
    assert stolen.claim.estimate == pytest.approx(-0.04)
    assert stolen.shown is Shown.LESS
    assert "no effect on packets shown, but less time stolen" in sentence(one)


def test_a_device_without_a_log_has_no_stolen_time_and_the_rest_is_judged():
    (one,) = judge(trials(1 / 10, stolen=None), ["R24"], PERCENTILES)
    found = by_name(one)

    assert (found[STOLEN].shown, found[STOLEN].claim) == (Shown.NOT_LOGGED, None)
    assert found["p99.9"].shown is Shown.LESS


def test_a_failed_trial_costs_its_pair_and_too_few_pairs_claim_nothing():
    left = [t for t in trials(1 / 10) if (t.state, t.repetition) != (AS_FOUND, 3)]
    (one,) = judge(left, ["R24"], PERCENTILES)
    assert by_name(one)["p99.9"].claim.n_pairs == 7

    without = [
        replace(t, percentiles={"p50": t.percentiles["p50"]}) if t.repetition == 5 else t
        for t in left
    ]
    (one,) = judge(without, ["R24"], PERCENTILES)
    assert by_name(one)["p99.9"].shown is Shown.TOO_FEW
    assert by_name(one)["p50"].claim.n_pairs == 7

    with pytest.raises(TautError, match="too many trials failed, or did not keep their state"):
        judge(left[:6], ["R24"], PERCENTILES)


def test_a_run_whose_state_was_taken_back_meanwhile_costs_its_pair():
    made = trials(1 / 10, n=9)
    made = [replace(t, n_not_kept=int((t.state, t.repetition) == ("R24", 3))) for t in made]

    (one,) = judge(made, ["R24"], PERCENTILES)

    assert by_name(one)["p99.9"].claim.n_pairs == 8
    assert one.sent == (9000, 8000)


def test_several_cells_count_as_one_number_a_repetition():
    both = trials(1 / 4)
    both += [replace(t, cell="other", percentiles={"p50": 10, "p99.9": 1000}) for t in both]
    (one,) = judge(both, ["R24"], PERCENTILES)

    claim = by_name(one)["p99.9"].claim
    assert claim.n_pairs == 8
    # The geometric mean of a quarter and of no effect.
    assert claim.estimate == pytest.approx(1 / 2, rel=0.1)


def test_a_pair_in_which_a_device_failed_is_not_judged_by_the_others():
    both = trials(1 / 4, n=9)
    both += [replace(t, cell="other", percentiles={"p50": 10, "p99.9": 1000}) for t in both]
    failed = [t for t in both if (t.state, t.repetition, t.cell) != ("R24", 3, "other")]

    (one,) = judge(failed, ["R24"], PERCENTILES)

    assert by_name(one)["p99.9"].claim.n_pairs == 8


def test_what_is_lost_instead_of_late_is_no_effect():
    measured = [
        replace(t, gone=0.004, percentiles={**t.percentiles, "p99.9": inf})
        if t.state == "R24"
        else t
        for t in trials(1 / 10)
    ]
    (one,) = judge(measured, ["R24"], PERCENTILES)
    found = by_name(one)

    assert (found["p99.9"].shown, found["p99.9"].claim) == (Shown.LOSSES, None)
    # Of as few nothing shows in the median.
    assert found["p50"].shown is Shown.NOTHING
    losses = f"{CELL}: lost or not sent 0 % as found, 0.4 % R24 (medians)"
    note = f"R24: {losses}: what is lost has no latency, so nothing is claimed of p99.9."
    assert note in document([one], measured)["notes"]
    tail = document([one], measured)["sets"][0]["figures"][1]
    assert (tail["on"], tail["on_of_repetitions"]) == (None, [None] * 8)

    (one,) = judge(measured, ["R24"], ["p99.9"])

    assert sentence(one) == f"R24: not shown: {losses}; what is lost has no latency."


def test_a_device_that_loses_off_and_fails_on_beside_a_whole_one_is_no_crash():
    off = [replace(t, cell="a") for t in trials(1) if t.state == AS_FOUND]
    off = [replace(t, gone=0.2, percentiles={**t.percentiles, "p99.9": inf}) for t in off]

    [one] = judge([*trials(1 / 2), *off], ["R24"], ["p99.9"])

    losses = "a: lost or not sent 20 % as found, no run R24 (medians)"
    assert sentence(one) == f"R24: not shown: {losses}; what is lost has no latency."


@pytest.mark.parametrize("n_lost", [1, 4])
def test_runs_off_that_lose_packets_are_slower_by_no_number(n_lost: int):
    measured = [
        replace(t, percentiles={**t.percentiles, "p99.9": inf})
        if t.state == AS_FOUND and t.repetition <= n_lost
        else t
        for t in trials(1 / 2, n=10)
    ]

    [one] = judge(measured, ["R24"], ["p99.9"])
    claim = by_name(one)["p99.9"].claim

    if n_lost == 4:
        assert (by_name(one)["p99.9"].shown, claim) == (Shown.LOSSES, None)
        losses = "the figure is a lost packet in 4 of 10 runs as found, 0 of 10 runs R24"
        assert sentence(one) == f"R24: not shown: {CELL}: {losses}; what is lost has no latency."
    else:
        assert by_name(one)["p99.9"].shown is Shown.LESS
        assert (claim.low, claim.estimate) == (None, pytest.approx(0.5, rel=0.1))
        assert re.search(r"times shorter \(95 % interval 1\.\d\d or more; 10 pairs", sentence(one))
        assert document([one], measured)["sets"][0]["figures"][0]["effect"]["low"] is None


def test_what_does_nothing_shows_nothing_about_as_often_as_it_says():
    chance = random.Random(7)
    n_wrong = 0
    for _ in range(200):
        made = [
            trial(
                state,
                repetition,
                round(900 * chance.lognormvariate(0, 0.2)),
                round(90_000 * chance.lognormvariate(0, 1)),
                stolen=chance.random(),
            )
            for repetition in range(1, 11)
            for state in (AS_FOUND, "a", "b")
        ]
        found = judge(made, ["a", "b"], PERCENTILES)
        n_wrong += any(f.shown is not Shown.NOTHING for one in found for f in one.figures)

    assert n_wrong <= 20  # 5 % of 200 are 10


def test_claims_share_the_error_and_few_pairs_are_refused_before_anything_is_measured():
    n_claims = n_claims_of(2, PERCENTILES)
    assert n_claims == 6
    assert confidence_of(n_claims) == pytest.approx(1 - (1 - CONFIDENCE) / 6)

    check_repetitions(8, n_claims)
    with pytest.raises(InputError, match="8 or more"):
        check_repetitions(7, n_claims)


def spec(duration: str, rate: str = "100kpps"):
    text = '[[device]]\ndriver = "taut_forward"\n[[traffic]]\nrates = ["{}"]\n'
    return parse_spec(f'name = "e"\nduration = "{duration}"\n' + text.format(rate))


@pytest.mark.parametrize(
    ("duration", "percentiles"),
    [
        ("2s", ("p50", "p99", "p99.9", "p99.99")),
        ("300ms", ("p50", "p99", "p99.9")),
        ("1ms", ("p50",)),
    ],
)
def test_percentiles_need_ten_packets_above(duration: str, percentiles: tuple[str, ...]):
    assert percentiles_of(spec(duration)) == percentiles


def test_a_trial_of_a_few_packets_is_refused():
    with pytest.raises(InputError, match="has 10 packets"):
        percentiles_of(spec("100us"))


def made_trial(folder: Path, gaps: list[tuple[int, int, str]], stats: dict) -> TrialDirectory:
    starts, ends, threads = zip(*gaps, strict=True)
    table = pa.table([starts, ends, threads, [0] * len(gaps)], schema=GAP_SCHEMA)
    pq.write_table(table, folder / "gaps.parquet")
    traffic = {"warm_up_ns": 1000, "duration_ns": 10_000}
    return TrialDirectory(
        folder, parse(TrialDocument, {"dut": {"stats": stats}, "traffic": traffic}, "made")
    )


def test_the_time_stolen_is_what_the_devices_gaps_have_of_the_measured_time(tmp_path: Path):
    gaps = [
        (0, 500, "forwarder"),  # warm-up
        (900, 1100, "forwarder"),  # half of it in the warm-up
        (2000, 2300, "forwarder"),
        (3000, 9000, "generator"),
        (10_900, 20_000, "forwarder"),  # the end of it after the end
    ]

    assert stolen_share(made_trial(tmp_path, gaps, {"gaps": {}})) == pytest.approx(0.05)
    assert stolen_share(made_trial(tmp_path, gaps, {})) is None


def document(found: list[SetEffect], measured: list[Measured]):
    return json.loads(
        json.dumps(
            plain(
                as_document(
                    found,
                    [R24],
                    measured,
                    percentiles=PERCENTILES,
                    n_claims=3,
                    repetitions=8,
                    duration_ns=10**9,
                    cores=(1,),
                )
            )
        )
    )


def test_the_document_has_every_repetition_and_the_sentence():
    measured = trials(1 / 10)
    found = document(judge(measured, ["R24"], PERCENTILES), measured)

    (one,) = found["sets"]
    tail = one["figures"][1]
    assert (tail["name"], tail["unit"], tail["scale"]) == ("p99.9", "ns", "ratio")
    assert len(tail["off_of_repetitions"]) == len(tail["on_of_repetitions"]) == 8
    assert one["sentence"].startswith("R24: p99.9 9.96 times shorter")
    assert one["sentence"].endswith("8 pairs, p = 0.0078).")
    assert found["cells"] == [CELL]
    assert any("p99, p99.99" in note for note in found["notes"])


def test_figures_of_repetitions_stay_in_pairs_where_one_is_lost_or_missing():
    measured = [t for t in trials(1 / 10, n=9) if (t.state, t.repetition) != (AS_FOUND, 5)]
    measured = [
        replace(t, percentiles={**t.percentiles, "p99.9": inf})
        if (t.state, t.repetition) == ("R24", 2)
        else t
        for t in measured
    ]

    tail = document(judge(measured, ["R24"], PERCENTILES), measured)["sets"][0]["figures"][1]

    assert [n for n in range(9) if tail["off_of_repetitions"][n] is None] == [4]
    assert [n for n in range(9) if tail["on_of_repetitions"][n] is None] == [1]


def test_notes_tell_what_the_figures_hide():
    measured = [replace(t, void_share=0.2, n_not_kept=t.repetition // 9) for t in trials(1, n=9)]
    measured[0] = replace(measured[0], lost=7)
    said = " ".join(document(judge(measured, ["R24"], PERCENTILES), measured)["notes"])

    assert "In 18 of 18 runs the generator" in said
    assert "In 2 of 18 runs somebody else took back settings meanwhile: they do not count." in said
    assert "lost has no latency" in said


@pytest.mark.parametrize("n_lost", [0, 200])
def test_percentiles_are_of_what_was_due_and_a_lost_packet_is_slower_than_any(
    tmp_path: Path, n_lost: int
):
    made = MadeVariant("eager", "taut_forward", MadeTrial(n_lost=n_lost))
    run = RunDirectory(make_run(tmp_path / "run", (made,), repetitions=1))
    [result] = analyse_run(run).trials

    [one] = read_trials(run, [result])

    came = result.latency(WITHOUT_VOID).percentiles_ns
    if n_lost:
        # Of 19,000 packets 190 lie above p99.
        assert [one.percentiles[name] for name in ("p99", "p99.9")] == [inf, inf]
        assert one.percentiles["p50"] >= came["p50"]
    else:
        assert one.percentiles == {name: came[name] for name in ("p50", "p99", "p99.9")}


IRQ = "/proc/irq/24/smp_affinity_list"
WATCHDOG = "/proc/sys/kernel/watchdog"


def test_every_set_is_tried_and_taken_back_before_anything_is_measured(tmp_path: Path):
    files = {"/etc/machine-id": "m\n", "/proc/sys/kernel/random/boot_id": "b\n"}
    host = tree(tmp_path, {**files, IRQ: "0-3\n", WATCHDOG: "1\n"})
    can = find_set(f"{IRQ}=0,kernel.watchdog=0", 1, host, POLL, CHECKS)
    cannot = find_set(f"{IRQ}=0", 2, host, POLL, CHECKS)
    # An interrupt its driver manages.
    writer = TreeWriter(host, {IRQ: 5})

    with HostStates(host, writer, lambda: POLL, "test") as states:
        try_sets(states, [can])
        assert host.read(WATCHDOG) == "1"
        with pytest.raises(InputError, match="set 2: nothing to turn: every change is unmovable"):
            try_sets(states, [can, cannot])

    assert (host.read(WATCHDOG), host.read(IRQ)) == ("1", "0-3")
