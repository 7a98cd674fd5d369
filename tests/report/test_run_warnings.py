import json
from types import SimpleNamespace

import pytest

from made_documents import made_analysis, made_result, made_variant
from taut.records.documents.trial import CHANGES_NOTHING
from taut.records.rundir import RunDirectory
from taut.report.run_warnings import MOST_LINES, Warned, folded, lines_of, warnings_of


def device(label="eager", **changes):
    row = {
        "traffic": "constant",
        "schedule": "constant",
        "frame": "64",
        "both": False,
        "asked_pps": 100_000.0,
        "sums_reconcile": True,
        "instrument_limited": False,
        "void_share": 0.0,
        "rate_ok": True,
        "unsent": 0,
        "achieved_pps": 99_000.0,
        "offered_pps": 100_000.0,
        "two_bands": False,
        "p50_of_repetitions": [900, 1_500],
    }
    return SimpleNamespace(label=label, row=made_variant(**row | changes))


def trial(name, **changes):
    row = {"name": name, "dut": name, "status": "whole", "cores": {}, "warnings": []}
    row |= {"asked_pps": None, "repetition": None}
    return made_result(**row | {"failure": None} | changes)


@pytest.fixture
def run(tmp_path):
    def with_trials(*trials, variants=()):
        return [(RunDirectory(tmp_path), made_analysis(trials, variants))]

    return with_trials


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"instrument_limited": True, "void_share": 0.27}, "late in the row, with up to 27 % of"),
        ({"two_bands": True}, "eager at 100 kpkt/s, 64 B has medians of 900 ns, 1.50 µs."),
        ({"rate_ok": False, "unsent": 7}, "64 B had 99 % of it, 7 packets unsent."),
        (
            {"rate_ok": False, "achieved_pps": 99_999.9, "unsent": 1},
            "64 B had 99.9999 % of it, 1 packet unsent.",
        ),
        (
            {"rate_ok": False, "achieved_pps": 1e5, "warm_up": {"unsent": 3}},
            "64 B had 100 % of it, 3 packets unsent in the warm-up.",
        ),
        ({"sums_reconcile": False}, "The sums do not come out in the row"),
    ],
)
def test_each_weakness_of_a_row_is_a_kind(run, change, said):
    assert warnings_of([device()], run()) == []

    [found] = warnings_of([device(**change)], run())

    assert said in found.line


def test_rows_of_one_kind_are_one_line_with_the_worst():
    rows = [
        device(label, instrument_limited=True, void_share=share)
        for label, share in (("eager", 0.02), ("single", 0.27), ("buffered", 0.05))
    ]

    [found] = warnings_of([*rows, device("floor")], [])

    assert "late in 3 of 4 rows, with up to 27 % of the packets (single at" in found.line
    assert len(found.details) == 3
    assert found.details[0] == (
        "eager at 100 kpkt/s, 64 B: the generator was late with 2 % of the packets"
    )


def test_medians_of_many_repetitions_are_told_as_a_range():
    medians = [900, 1_500, 700, None, 800, 950]

    [found] = warnings_of([device(two_bands=True, p50_of_repetitions=medians)], [])

    assert "medians of 700 ns to 1.50 µs in 5 repetitions" in found.line


def test_failed_trials_come_first_and_are_named_by_their_device(run):
    failed = trial("eager", status="failed", failure={"reason": "killed by SIGSEGV"})
    rows = [device(instrument_limited=True, void_share=0.5)]

    found = warnings_of(rows, run(failed, trial("other")))

    assert found[0].line == "1 of 2 trials failed: eager failed: killed by SIGSEGV."
    assert "The generator itself was late" in found[1].line


def test_trials_whose_state_was_taken_back_are_named(run):
    kept, lost = trial("a"), trial("b", not_kept=["kernel.watchdog", "/proc/irq/24"])

    [warned] = warnings_of([], run(kept, lost))

    assert warned.line == (
        "In 1 of 2 trials somebody else changed the state of the host, so nothing said of states "
        "rests on them; the rows have them: b: kernel.watchdog, /proc/irq/24."
    )


def test_what_many_trials_say_is_said_once(run):
    trials = [trial(name, warnings=["9 gaps were not logged", "rate: 1 of 2"]) for name in "abc"]

    [found] = warnings_of([], run(*trials))

    assert found.line == "9 gaps were not logged (a and 2 more)."
    assert len(found.details) == 3


def test_three_lines_stand_before_the_fold_and_nothing_is_lost():
    kinds = [Warned(f"kind {n}", [f"{n} a", f"{n} b"]) for n in range(5)]

    assert MOST_LINES == 3
    assert lines_of(kinds) == ["kind 0", "kind 1", "kind 2"]
    assert [line for line in folded(kinds) if line.startswith("kind")] == ["kind 3", "kind 4"]
    assert sum(" a" in line or " b" in line for line in folded(kinds)) == 10
    assert folded([Warned("alone", ["it alone"])]) == []


def test_a_state_that_changes_nothing_is_told_and_the_run_s_other_warnings_are_not(run, tmp_path):
    said = f"host 'c1' {CHANGES_NOTHING}: no idle states (cpuidle): nothing to limit"
    document = {"warnings": ["only 2 cores", said]}
    (tmp_path / "manifest.json").write_text(json.dumps(document))

    assert [warned.line for warned in warnings_of([], run())] == [said]


@pytest.mark.parametrize(("matched", "when"), [(0, ""), (9, " after the warm-up")])
def test_a_device_without_packets_is_told_with_the_state_of_the_host(run, matched, when):
    packets = {"n": 9, "p50": 900}
    warm_up = {"matched": matched}
    rows = [
        made_variant(dut="eager", host=host, latency_ns=packets | {"n": n}, warm_up=warm_up)
        for host, n in (("as found", 9), ("trimmed", 0))
    ]

    [found] = warnings_of([], run(variants=rows))

    assert found.line == (
        f"No row of 1: eager, trimmed at 100 kpkt/s, 64 B: no packet came back{when}."
    )


@pytest.mark.parametrize(("n", "said"), [(0, 0), (1000, 1)])
def test_a_repetition_without_packets_is_told_unless_its_row_is(run, n, said):
    empty = trial("a-r1", warnings=["no packet came back"])
    row = made_variant(dut="a", asked_pps=1e5, latency_ns={"n": n}, trials=["a-r1", "a-r2"])

    found = warnings_of([device()], run(empty, trial("a-r2"), variants=(row,)))

    lines = [warned.line for warned in found]
    assert sum("no packet came back (" in line for line in lines) == said
    assert sum(line.startswith("No row of 1") for line in lines) == 1 - said


def test_what_numbers_of_an_emulated_guest_are_not_is_said(run):
    found = warnings_of(
        [], run(trial("l2 (emulated)", claim="emulated: no latency claim"), trial("bare"))
    )

    assert [warned.line for warned in found] == ["l2 (emulated): emulated: no latency claim."]
