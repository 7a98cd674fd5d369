import json
from dataclasses import replace

import pytest

from made_run import VARIANTS, make_run
from taut.analysis.pairing import read_analysis
from taut.cli.main import run_command
from taut.records.documents.results import WITH_VOID, WITHOUT_VOID
from taut.records.rundir import RunDirectory
from taut.report import comparison as words


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    faster = replace(VARIANTS[1], name="tuned", trial=replace(VARIANTS[1].trial, base_ns=600))
    return (
        make_run(folder / "a", VARIANTS[1:2], repetitions=1),
        make_run(folder / "b", (faster,), repetitions=1),
        make_run(folder / "other", VARIANTS[1:2], rates_pps=(10_000.0,), repetitions=1),
    )


def test_compare_prints_the_verdict_first(runs, capsys):
    assert run_command(["compare", str(runs[0]), str(runs[1])]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Nothing is claimed of one run each."
    assert "eager → tuned at 100 kpkt/s, 64 B" in lines
    assert any("a claim is made from repeated runs" in line for line in lines)


def test_json_is_one_document_and_out_a_report(runs, tmp_path, capsys):
    page = tmp_path / "c.html"

    assert run_command(["compare", *map(str, runs[:2]), "--json", "--out", str(page)]) == 0

    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == "Nothing is claimed of one run each."
    assert {f["shown"] for f in document["pairs"][0]["figures"]} == {
        "too few runs",
        "too few packets to say",
    }
    assert document["report"] == str(page)
    assert document["differing_conditions"] == [
        {"name": "path", "a": "eager: memif, made up", "b": "tuned: memif, made up"},
    ]
    assert '<figure id="improvement">' in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("version", "differing"),
    [("0.9", [{"name": "device eager", "a": "0.9", "b": "made"}]), (None, [])],
    ids=["another", "not noted then"],
)
def test_a_device_of_another_version_is_told_where_both_are_known(
    tmp_path, version, differing, capsys
):
    runs = [make_run(tmp_path / name, VARIANTS[1:2], repetitions=1) for name in "ab"]
    for path in runs[0].glob("trials/*/trial.json"):
        document = json.loads(path.read_text())
        document["dut"]["version"] = version
        path.write_text(json.dumps(document))

    assert run_command(["compare", *map(str, runs), "--json"]) == 0

    assert json.loads(capsys.readouterr().out)["differing_conditions"] == differing


@pytest.mark.parametrize("more", [(), ("--without-void",)])
def test_packets_that_are_left_out_are_told_wherever_the_comparison_is(
    runs, tmp_path, more, capsys
):
    page = tmp_path / "c.html"
    command = ["compare", *map(str, runs[:2]), *more, "--out", str(page)]

    assert run_command(command) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert run_command([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)

    left_out = bool(more)
    assert document["without_void"] is left_out
    assert (words.WITHOUT_VOID in printed) is left_out
    assert (words.WITHOUT_VOID in page.read_text(encoding="utf-8")) is left_out
    [row] = read_analysis(RunDirectory(runs[0])).variants
    n = {of: row.metrics.latency(of).n for of in (WITH_VOID, WITHOUT_VOID)}
    assert n[WITH_VOID] > n[WITHOUT_VOID]
    assert document["pairs"][0]["a"]["n"] == n[WITHOUT_VOID if left_out else WITH_VOID]


@pytest.mark.parametrize(
    ("other", "said"),
    [("other", "not comparable: no load in common"), ("nowhere", "no such run directory")],
)
def test_what_cannot_be_compared_is_one_line_and_2(runs, other, said, capsys):
    assert run_command(["compare", str(runs[0]), str(runs[0].parent / other)]) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1


def test_a_folder_without_trials_is_no_run(runs, tmp_path, capsys):
    assert run_command(["compare", str(runs[0]), str(tmp_path)]) == 2
    assert "no trials" in capsys.readouterr().err


def test_a_regression_fails_where_it_is_shown(tmp_path, capsys):
    slow = replace(VARIANTS[1], trial=replace(VARIANTS[1].trial, base_ns=1_500))
    runs = [
        str(make_run(tmp_path / name, (variant,), repetitions=5))
        for name, variant in (("a", VARIANTS[1]), ("b", slow))
    ]

    def status(*rule):
        return run_command(["compare", *runs, "--fail-if", *rule])

    assert status("p50 > +10%") == 3
    assert "p50 +5" in capsys.readouterr().err
    assert status("p50 > +100%") == 0
    assert run_command(["compare", *reversed(runs), "--fail-if", "p50 > +10%"]) == 0
    # Of 5 runs a side one gate in twenty would fail by luck; of seven gates none can.
    several = [word for share in range(7) for word in ("--fail-if", f"p50 > +1{share}%")]
    assert run_command(["compare", *runs, *several]) == 1
    assert (
        "rests on 5 repetitions a side with enough packets; 6 can fail" in capsys.readouterr().err
    )
    capsys.readouterr()
    for wrong in ("p50 > 10%", "max > +10%"):
        assert status(wrong) == 2
        assert capsys.readouterr().err.startswith(f"taut: --fail-if {wrong!r}: ")


@pytest.mark.parametrize(
    ("gap", "repetitions", "more", "said"),
    [
        (None, 1, (), "rests on 1 repetitions a side with enough packets; 4 can fail"),
        ((0, 10**9), 5, (), "invalid: eager, 100 kpkt/s, 64 B: p50 says nothing: in A the "),
        ((0, 10**9), 5, ("--without-void",), "p50 rests on too few packets"),
    ],
)
def test_where_nothing_can_be_shown_a_gate_is_not_passed(
    tmp_path, capsys, gap, repetitions, more, said
):
    variant = replace(VARIANTS[1], trial=replace(VARIANTS[1].trial, generator_gap=gap))
    runs = [
        str(make_run(tmp_path / name, (variant,), repetitions=repetitions)) for name in ("a", "b")
    ]

    assert run_command(["compare", *runs, *more, "--fail-if", "p50 > +10%"]) == 1

    assert said in capsys.readouterr().err
