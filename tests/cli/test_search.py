"""`taut search` as it is typed: what it refuses, and what a dry run says."""

import re

import pytest

from made_documents import made_search, made_search_document
from taut.cli.main import run_command
from taut.cli.search_job import _problems
from taut.cli.search_plan import chance, collapse, edge, expected_ns
from taut.core.binaries import find_binary_or_none
from taut.experiment.goals import goal_table
from taut.experiment.loads import goals_of, loads_of
from taut.experiment.spec import parse_spec
from taut.records.documents.search import Bound, GoalFound, LatencyAt

needs_programs = pytest.mark.skipif(
    find_binary_or_none("taut-generate") is None, reason="needs taut-generate: make build"
)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--goal", "x"], "goal x: says nothing; give loss, or within and share"),
        (["--goal", ""], "no name; write NAME[:key=value,...]"),
        (["--goal", "ndr:"], "unknown key ''"),
        (["--goal", "pdr:los=1%"], "unknown key 'los'; known are loss, within"),
        (["--goal", "pdr:loss="], "loss has no value"),
        (["--goal", "pdr:loss=much"], "share 'much': not from 0 to 100 %"),
        (["--goal", "pdr:loss=100%"], "less than 1"),
        (["--goal", "fast:within=1ms"], "within has no share; add share"),
        (["--goal", "fast:share=99%"], "add within"),
        (["--goal", "fast:within=1,share=99%"], "duration '1'"),
        (["--goal", "ndr", "--goal", "ndr"], "two of goal are called 'ndr'"),
        (["--goal", "ndr:trial=2s,sum=1s"], "sum is shorter than one trial"),
        (["--goal", "ndr:trial=1s,first_trial=2s"], "first_trial is longer than trial"),
        (["--goal", 'ndr:loss="'], "loss has no value"),
        (["--min", "30Mpps"], "min 30Mpps is not below max 20Mpps"),
        (["--min", "fast"], "rate 'fast'"),
        (["--max", "100Gpps"], "more than one packet a nanosecond"),
        (["--set", "search.repeat=3"], "did you mean 'repeats'?"),
        (["--resume"], "which run? give its directory with --out"),
    ],
)
def test_what_does_not_parse_is_refused_in_one_line(spec, words, said, capsys, tmp_path):
    assert run_command(["search", str(spec), *words]) == 2

    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""


def test_states_of_the_host_are_refused(spec, capsys):
    spec.write_text(spec.read_text() + '[[host]]\nname = "as found"\n')

    assert run_command(["search", str(spec), "--dry-run"]) == 2
    assert "take it out of the file" in capsys.readouterr().err


@needs_programs
def test_a_dry_run_says_how_long_it_may_take_and_measures_nothing(spec, capsys, tmp_path):
    words = ["--dry-run", "--goal", "ndr", "--goal", "fast:within=1ms,share=99.999%"]

    assert run_command(["search", str(spec), *words]) == 0

    shown = " ".join(capsys.readouterr().out.split())
    assert "ndr: lost: none of the packets; trials of 1 s, 21 s of them at a load" in shown
    assert "lost or later than 1 ms: 0.001 % of the packets (a late packet counts" in shown
    assert "loopback_memif, constant 64: " in shown
    assert "eager, constant 64: " in shown
    assert re.search(r"In all about .* where trials contradict each other.*; at most ", shown)
    assert [path.name for path in tmp_path.iterdir()] == ["typed.toml"]


@pytest.mark.parametrize(
    ("device", "kept"),
    [
        (edge, {0.9: 100, 1.0: 100, 1.1: 0}),
        (collapse, {0.9: 100, 1.0: 100, 1.1: 0}),
        (chance, {0.9: 100, 1.0: 100, 1.25: 50, 1.5: 0}),
    ],
)
def test_made_up_devices_carry_what_they_are_said_to(device, kept):
    measure = device(1e6)

    for load, n in kept.items():
        answers = [measure(10**9, load * 1e6).loss_ratio for _ in range(100)]
        n_kept = sum(answer == 0 for answer in answers)
        assert n_kept == n or (0 < n < 100 and abs(n_kept - n) < 15)


def test_trials_that_contradict_each_other_take_longer_to_search(spec):
    parsed = parse_spec(spec.read_text())
    [load] = loads_of(parsed)

    sure, busy = (
        expected_ns(parsed, load.subjects[0], goals_of(parsed), made_up)
        for made_up in (edge, chance)
    )

    assert max(busy) > 1.5 * max(sure)


def test_a_goal_is_the_table_that_a_file_would_have():
    assert goal_table("pdr") == '{ name = "pdr" }'
    assert goal_table("fast:within=1ms, share=99.9%") == (
        '{ name = "fast", within = "1ms", share = "99.9%" }'
    )


def test_problems_are_said_of_loopbacks_and_devices_and_name_a_remedy():
    fails, held_up, unbound = (
        GoalFound("ndr", None, None, None, why)
        for why in ("lowest load fails", "instrument limited", "loopback without a bound")
    )

    lowest = GoalFound("ndr", Bound(1e3, 10**9, 0), None, 1e3, None)

    said = _problems(
        made_search_document(
            made_search(("000-eager-r1",)),
            made_search(device="slow", found=(fails,), latency=()),
            made_search(device="busy", found=(held_up,), latency=()),
            made_search(device="alike", found=(unbound,), latency=()),
            made_search(device="late", latency=(LatencyAt(0.1, "pdr", 1e3, ()),)),
            made_search(device="dead", stopped="000-dead: it died"),
            made_search(device="slow floor", is_instrument=True, stopped="not done"),
            made_search(device="floor", is_instrument=True, found=(fails,), stopped="it failed"),
            made_search(device="weak", is_instrument=True, found=(lowest,), stopped="it died"),
        )
    )

    anew = "if its bound moves then, devices are searched anew"
    assert said == [
        "slow floor: not done; go on with --out and --resume; search.limit says for how long each "
        f"time; {anew}",
        "floor: it failed; go on with --out and --resume; search.limit says for how long each "
        f"time; {anew}",
        "weak: it died; go on with --out and --resume; search.limit says for how long each time; "
        f"{anew}",
        "slow: ndr: fails at 1,000 pkt/s already, the lowest load; lower it: --min",
        "busy: ndr: at 1,000 pkt/s already, the lowest load, the generator itself was held up; "
        "quieten the machine, or lower it: --min",
        "alike: ndr: fails at 1,000 pkt/s already, the lowest load, and the loopback has no bound "
        "either; quieten the machine, or lower it: --min",
        "late: no latency at 10 % of the bound: trials failed; their trial.json says why",
        "dead: 000-dead: it died; go on with --out and --resume; search.limit says for how long "
        "each time",
    ]
