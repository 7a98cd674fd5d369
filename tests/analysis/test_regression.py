"""Gates of a comparison where a device, or its numbers, cannot be judged."""

from dataclasses import replace
from pathlib import Path

import pytest

from made_documents import NOTHING, made_analysis, made_result, made_variant
from taut.analysis.compare import compare_runs
from taut.analysis.difference import Shown
from taut.analysis.proof import Verdict
from taut.analysis.regression import judge_gates, parse_fail_if, refuse_gates
from taut.core.errors import TautError
from taut.records.documents.rfc import RFC_FILE
from taut.records.documents.search import SEARCH_FILE
from taut.records.rundir import RunDirectory

REPETITIONS = 6
MET, NOT_MET, NOT_SHOWN, INVALID = (
    Verdict.MET,
    Verdict.NOT_MET,
    Verdict.NOT_SHOWN,
    Verdict.INVALID,
)
LOOPBACK = {"dut": "loopback", "driver": "loopback"}


def device(
    pps=100_000.0,
    n_failed=0,
    n=100_000,
    dut="eager",
    p99=3_000,
    n_runs=REPETITIONS,
    warm=None,
    **changes,
):
    """Give a device's row and its trials, of which the last ones failed.

    `warm`: packets of each trial after its warm-up.
    """
    identity = {"dut": dut, "asked_pps": pps, **changes}
    whole = [
        made_result(
            name=f"{dut}-{pps:g}-{at}",
            latency_ns={"n": n, "p99": p99 + 10 * at},
            warm=warm or {},
            **identity,
        )
        for at in range(n_runs - n_failed)
    ]
    failed = [
        made_result(name=f"{dut}-{pps:g}-failed-{at}", status="failed", sent=None, **identity)
        for at in range(n_failed)
    ]
    row = made_variant(
        trials=[trial.name for trial in whole],
        latency_ns={"n": n * len(whole)},
        is_floor=changes.get("driver") == "loopback",
        **identity,
    )
    return [row] if whole else [], [*whole, *failed]


def compared(a, b):
    """Compare two runs of such devices."""
    return compare_runs(
        *(
            (
                RunDirectory(Path(name)),
                made_analysis(
                    tuple(trial for _, trials in side for trial in trials),
                    tuple(row for rows, _ in side for row in rows),
                ),
            )
            for name, side in (("a", a), ("b", b))
        )
    )


def gates(a, b, **options):
    rule = parse_fail_if("p99 > +10%")
    return judge_gates(compared(a, b), [rule], without_void=False, **options)


@pytest.mark.parametrize(
    ("gone", "verdict", "why"),
    [
        (device(200_000.0, n=0), NOT_SHOWN, "no packet came back after the warm-up in B"),
        (device(200_000.0, n_failed=REPETITIONS), INVALID, "6 of 6 trials failed in B"),
    ],
)
def test_a_device_without_a_latency_in_one_run_does_not_pass(gone, verdict, why):
    found = gates([device(), device(200_000.0)], [device(), gone])

    assert [gate.verdict for gate in found] == [MET, verdict]
    assert found[1].said == f"eager at 200 kpkt/s, 64 B: p99 says nothing: {why}, +10 % allowed"
    with pytest.raises(TautError, match=why):
        refuse_gates(found)


def test_a_floor_that_failed_is_no_matter_of_a_device():
    sides = [device(), device(**LOOPBACK)], [device(), device(n_failed=REPETITIONS, **LOOPBACK)]

    assert [gate.verdict for gate in gates(*sides)] == [MET]
    assert "floor at 100 kpkt/s, 64 B: 6 of 6 trials failed in B" in compared(*sides).warnings


def test_of_floors_alone_one_that_failed_does_not_pass():
    both = [device(**LOOPBACK), device(200_000.0, **LOOPBACK)]
    failed = [both[0], device(200_000.0, n_failed=REPETITIONS, **LOOPBACK)]

    assert [gate.verdict for gate in gates(both, failed)] == [MET, INVALID]


@pytest.mark.parametrize(
    ("b", "why"),
    [
        (device(n_failed=2), "2 of 6 trials failed"),
        (device(sums_reconcile=False), "the sums of its packets do not come out"),
        (
            device(instrument_limited=True, void_share=0.003),
            "the generator itself was late in a repetition with over 1 % of the packets, 0.3 % in "
            "all: give it a core of its own, or judge without them (--without-void)",
        ),
    ],
)
def test_numbers_that_are_not_to_be_trusted_do_not_pass(b, why):
    [gate] = gates([device()], [b])

    assert gate.verdict is INVALID
    assert gate.said == f"eager, 100 kpkt/s, 64 B: p99 says nothing: in B {why}, +10 % allowed"


def test_a_rate_that_was_not_reached_is_no_reason_not_to_pass():
    slow = device(rate_ok=False, achieved_pps=60_000.0, unsent=40_000)

    assert [gate.verdict for gate in gates([device()], [slow])] == [MET]


def test_of_too_few_repetitions_all_rules_count_for_how_many_it_takes():
    figures = ("mean", "p50", "p90", "p99", "p99.9", "p99.99")
    rules = [parse_fail_if(f"{figure} > +10%") for figure in figures]
    once = compared([device(n_runs=1)], [device(n_runs=1)])

    found = judge_gates(once, rules, without_void=False)

    assert {gate.verdict for gate in found} == {NOT_SHOWN}
    # Of four a side one gate in thirty-five fails by luck, of five one in 126.
    assert all("rests on 1 repetitions a side" in gate.said for gate in found)
    assert all("5 can fail" in gate.said for gate in found)


@pytest.mark.parametrize(
    ("which", "shares"), [(0, "6 % in A, 0 % in B"), (1, "0 % in A, 6 % in B")]
)
@pytest.mark.parametrize("fate", ["lost", "unsent"])
def test_what_came_back_of_a_device_that_lost_the_rest_does_not_pass(fate, which, shares):
    gone = {"due": 100_000, fate: 6_000}

    def sides(**changes):
        return [[device(warm=gone, **changes)] if at == which else [device()] for at in range(2)]

    [gate] = gates(*sides())

    assert gate.verdict is NOT_SHOWN
    assert gate.said == (
        f"eager, 100 kpkt/s, 64 B: p99 says nothing: lost or not sent {shares}, +10 % allowed"
    )
    both = compared(*sides(p99=30))
    assert both.verdict == "Nothing is claimed: one side lost, or could not send, more packets."


def with_p50(values_ns):
    """Give a device's row and its trials, of these medians."""
    n = 100_000
    trials = [
        made_result(name=f"eager-{at}", latency_ns={"n": n, "p50": value})
        for at, value in enumerate(values_ns)
    ]
    names = [trial.name for trial in trials]
    return [made_variant(trials=names, latency_ns={"n": n * len(trials)})], trials


@pytest.mark.parametrize(
    ("rule", "verdict", "said"),
    [
        # Runs of B spread as much more as they are longer: so do those of A, as much longer.
        ("p50 > +100%", MET, "p50 +43 to +324 %, +100 % allowed"),
        ("p50 > +40%", NOT_MET, "p50 +43 to +324 %, +40 % allowed"),
    ],
)
def test_a_share_is_allowed_of_every_run(rule, verdict, said):
    a = with_p50([1_427, 558, 728, 1_775, 749, 663])
    b = with_p50([2_354, 2_547, 3_168, 2_695, 1_638, 1_620])

    [gate] = judge_gates(compared([a], [b]), [parse_fail_if(rule)], without_void=False)

    assert gate.verdict is verdict
    assert gate.said.endswith(said)


@pytest.mark.parametrize("share", [0, 100, 900])
def test_a_shorter_latency_passes(share):
    rule = parse_fail_if(f"p50 > +{share}%")
    sides = [with_p50(range(1_000, 1_006))], [with_p50(range(500, 506))]

    [gate] = judge_gates(compared(*sides), [rule], without_void=False)

    assert gate.verdict is MET


def test_what_rounding_of_stamps_may_explain_is_no_growth():
    a = with_p50([1_000] * 6)

    for grown, verdict in ((2, MET), (3, NOT_MET)):
        sides = [a], [with_p50([1_000 + grown] * 6)]
        [gate] = judge_gates(compared(*sides), [parse_fail_if("p50 > +0%")], without_void=False)
        assert gate.verdict is verdict


def test_a_latency_below_zero_has_no_share_to_grow_by():
    sides = [with_p50(range(-1_006, -1_000))], [with_p50(range(-506, -500))]

    [gate] = judge_gates(compared(*sides), [parse_fail_if("p50 > +10%")], without_void=False)

    assert gate.verdict is NOT_SHOWN
    assert gate.said.endswith("p50 says nothing: it is not above zero in A, +10 % allowed")


def with_silent(of, n_silent):
    """Give a device's row and trials, and as many trials more of which no packet came back."""
    [row], trials = of
    more = [
        made_result(name=f"silent-{at}", latency_ns=NOTHING, warm={"due": 10_000, "lost": 10_000})
        for at in range(n_silent)
    ]
    names = tuple(trial.name for trial in (*trials, *more))
    of_each = (*row.p50_of_repetitions, *[None] * n_silent)
    return [replace(row, trials=names, p50_of_repetitions=of_each)], [*trials, *more]


@pytest.mark.parametrize(
    ("n_whole", "n_silent", "shown", "verdict"),
    [(4, 6, Shown.LOSSES, NOT_SHOWN), (6, 4, Shown.FASTER, MET)],
)
def test_repetitions_of_which_nothing_came_back_count_as_lost(n_whole, n_silent, shown, verdict):
    sides = [device(n_runs=10)], [with_silent(device(n_runs=n_whole, p99=2_000), n_silent)]

    [pair] = compared(*sides).pairs
    assert next(one.shown for one in pair.differences if one.name == "p99") is shown
    assert [gate.verdict for gate in gates(*sides)] == [verdict]
    assert (
        f"eager at 100 kpkt/s, 64 B: no packet came back in {n_silent} of 10 trials of B: the "
        "others alone are compared"
    ) in compared(*sides).warnings


def test_a_load_that_the_first_run_alone_has_does_not_pass():
    found = gates([device(), device(200_000.0)], [device()])

    assert [gate.verdict for gate in found] == [MET, NOT_SHOWN]
    assert found[1].said == (
        "eager at 200 kpkt/s, 64 B: p99 says nothing: only in A, +10 % allowed"
    )


@pytest.mark.parametrize(
    ("more", "where"),
    [
        (device(200_000.0), "eager at 200 kpkt/s, 64 B"),
        (device(dut="new"), "new at 100 kpkt/s, 64 B"),
    ],
)
def test_what_the_second_run_alone_has_is_a_warning(more, where):
    sides = [device()], [device(), more]

    assert [gate.verdict for gate in gates(*sides)] == [MET]
    assert f"only in B: {where}" in compared(*sides).warnings


@pytest.mark.parametrize("name", [SEARCH_FILE, RFC_FILE])
def test_loads_that_a_search_chose_need_not_be_in_the_second_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / name).touch()

    found = gates([device(), device(200_000.0)], [device(), device(300_000.0)])

    assert [gate.verdict for gate in found] == [MET]
    # Its devices need to be.
    found = gates([device(), device(300_000.0, dut="gone")], [device()])
    assert [gate.verdict for gate in found] == [MET, NOT_SHOWN]


def test_a_floor_that_one_run_alone_has_is_no_matter_of_a_device():
    assert [gate.verdict for gate in gates([device(), device(**LOOPBACK)], [device()])] == [MET]
