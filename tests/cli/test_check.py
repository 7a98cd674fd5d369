import json
import shutil
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from made_calm import CALM
from made_run import VARIANTS, MadeVariant, fail_trial, make_run
from made_soak import row
from made_soak_run import make_soak_run
from taut.cli.main import run_command
from taut.cli.run_job import check_required
from taut.core.errors import RequirementNotMet
from taut.records.rundir import RunDirectory


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checked") / "run"
    return str(make_run(folder, (MadeVariant("eager", "taut_forward", CALM),)))


@pytest.mark.parametrize(
    ("asked", "status", "verdict"),
    [
        (["--require", "p99 < 25us", "--require", "loss = 0"], 0, "PASS: 2 pass of 2"),
        (["--require", "p99 < 1us", "--require", "loss = 0"], 3, "FAIL: 1 pass, 1 fail of 2"),
        (["--profile", "urllc"], 1, "INCONCLUSIVE: 1 inconclusive of 1"),
        (["--profile", "urllc:share=99%"], 0, "PASS: 1 pass of 1"),
        (["--profile", "cps"], 0, "PASS: 1 pass of 1"),
        (["--profile", "cps:survival=1ns,interval=1us"], 3, "FAIL: 1 fail of 1"),
        (["--profile", "tsn-isochronous"], 0, "PASS: 2 pass of 2"),
        (["--profile", "tsn-isochronous:period=1us"], 3, "FAIL: 1 pass, 1 fail of 2"),
        (["--profile", "ecpri"], 1, "INCONCLUSIVE: 1 inconclusive of 1"),
        (["--profile", "ecpri:within=1us,share=99%"], 3, "FAIL: 1 fail of 1"),
        (["--profile", "oran:latest=100us,earliest=500ns"], 0, "PASS: 1 pass of 1"),
        (["--profile", "oran:latest=100us,earliest=1us"], 3, "FAIL: 1 fail of 1"),
        (["--profile", "ran-host"], 1, "INCONCLUSIVE: 1 pass, 1 inconclusive of 2"),
        (["--profile", "ran-host:within=1us"], 3, "FAIL: 1 pass, 1 fail of 2"),
    ],
)
def test_the_verdict_is_the_first_line_and_the_exit_status(run, asked, status, verdict, capsys):
    assert run_command(["check", run, *asked]) == status

    assert capsys.readouterr().out.splitlines()[0] == f"{verdict} requirements."


def test_a_host_of_a_radio_unit_that_loses_packets_fails(tmp_path, capsys):
    made = MadeVariant("eager", "taut_forward", replace(CALM, n_lost=200))
    run = str(make_run(tmp_path / "run", (made,)))

    assert run_command(["check", run, "--profile", "ran-host:within=10ms,length=1ms"]) == 3

    assert capsys.readouterr().out.splitlines()[0] == "FAIL: 1 pass, 1 fail of 2 requirements."


def test_a_reader_of_junit_finds_each_requirement(run, tmp_path, capsys):
    file = tmp_path / "check.xml"
    asked = ["--require", "p99 < 1us", "--require", "loss = 0", "--profile", "urllc"]

    assert run_command(["check", run, *asked, "--junit", str(file)]) == 3

    suite = ET.parse(file).getroot().find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    found = {case.get("name"): [part.tag for part in case] for case in suite.findall("testcase")}
    assert found == {
        "within(1ms) >= 99.999%": ["error", "system-out"],
        "p99 < 1us": ["failure", "system-out"],
        "loss = 0": ["system-out"],
    }
    assert all(case.get("classname") == "eager, 100 kpkt/s, 64 B" for case in suite)
    capsys.readouterr()


def test_the_folder_of_a_junit_file_is_made(run, tmp_path, capsys):
    file = tmp_path / "reports" / "today" / "check.xml"

    assert run_command(["check", run, "--require", "loss = 0", "--junit", str(file)]) == 0

    assert ET.parse(file).getroot().tag == "testsuites"
    capsys.readouterr()


@pytest.mark.parametrize("name", ["file/check.xml", "file/reports/check.xml"])
def test_a_junit_file_that_cannot_be_is_one_line_below_the_verdict(run, tmp_path, name, capsys):
    (tmp_path / "file").touch()
    asked = ["--require", "p99 < 1us", "--junit", str(tmp_path / name)]

    assert run_command(["check", run, *asked]) == 2

    out, err = capsys.readouterr()
    assert out.startswith("FAIL: 1 fail of 1 requirements.")
    assert err.startswith(f"taut: {tmp_path}")
    assert err.endswith("; name another place\n")
    assert err.count("\n") == 1


def test_json_is_one_document(run, capsys):
    assert run_command(["check", run, "--require", "p99 < 25us", "--json"]) == 0

    document = json.loads(capsys.readouterr().out)
    assert document["format"] == 1
    assert document["verdict"] == "pass"
    [one] = document["requirements"]
    assert (one["requirement"], one["verdict"], one["n"]) == ("p99 < 25us", "pass", 38_000)


def test_a_device_that_failed_is_no_pass_of_its_floor(tmp_path, capsys):
    run = make_run(tmp_path / "run", VARIANTS[:2], repetitions=1)
    fail_trial(next(run.glob("trials/*-eager-*")))

    assert run_command(["check", str(run), "--require", "loss = 0"]) == 1

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "INVALID: 1 invalid of 1 requirements."
    assert lines[1] == "eager, 100 kpkt/s, 64 B"


@pytest.mark.parametrize(
    ("n_slow", "status", "verdict"), [(3, 3, "FAIL: 1 fail"), (0, 0, "PASS: 1 pass")]
)
def test_a_soak_without_a_finished_trial_is_judged(n_slow, status, verdict, tmp_path, capsys):
    run = make_soak_run(tmp_path / "soak", [row(above={"1000000": n_slow})])
    shutil.rmtree(run / "trials")

    assert run_command(["check", str(run), "--require", "max < 1ms"]) == status

    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [f"{verdict} of 1 requirements.", "eager"]
    assert not (run / "results.json").exists()  # Its first trial may still be running.


def test_a_soak_is_as_long_as_it_measured(tmp_path, capsys):
    run = make_soak_run(tmp_path / "soak", [row(n) for n in range(2)])
    asked = ["--profile", "ran-host", "--without-void"]

    assert run_command(["check", str(run), *asked]) == 1

    out = capsys.readouterr().out
    assert out.startswith("INCONCLUSIVE: 1 pass, 1 inconclusive of 2 requirements.")


def test_a_latency_that_the_run_took_for_a_loss_is_not_judged(tmp_path, capsys):
    run = make_run(tmp_path / "run", VARIANTS[:2], repetitions=1)
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["spec"]["resolved"] = {"deadline": 100_000}
    (run / "manifest.json").write_text(json.dumps(manifest))

    assert run_command(["check", str(run), "--require", "max < 1ms"]) == 2

    said = capsys.readouterr().err
    assert "what takes longer than the deadline of 100 µs counts as lost" in said
    assert run_command(["check", str(run), "--require", "max < 100us"]) in (0, 1, 3)
    capsys.readouterr()


def test_a_run_is_judged_by_what_its_plan_requires_not_its_first_manifest(run, capsys):
    check_required(RunDirectory(Path(run)), ["p99 < 25us"], as_json=False)

    assert capsys.readouterr().out.startswith("PASS: 1 pass of 1 requirements.")
    with pytest.raises(RequirementNotMet, match="1 of 1 requirements"):
        check_required(RunDirectory(Path(run)), ["p99 < 1us"], as_json=True)


def test_what_nobody_asked_is_not_judged(run, capsys):
    assert run_command(["check", run]) == 2

    assert "nothing is required; give --require or --profile" in capsys.readouterr().err


def test_a_run_that_is_none_is_one_line(tmp_path, capsys):
    assert run_command(["check", str(tmp_path / "no"), "--require", "loss = 0"]) == 2

    assert capsys.readouterr().err.count("\n") == 1


def test_that_packets_are_left_out_is_said(run, capsys):
    left_out = "Packets that the generator itself held up are left out (--without-void)."
    for options in ([], ["--without-void"]):
        assert run_command(["check", run, "--require", "loss = 0", *options]) == 0
        assert (capsys.readouterr().out.splitlines()[-1] == left_out) is bool(options)


def test_where_the_generator_held_up_all_packets_none_is_said_to_be_lost(tmp_path, capsys):
    void = replace(CALM, generator_gap=(0, 300_000_000))
    made = make_run(tmp_path / "run", (MadeVariant("eager", "taut_forward", void),), repetitions=1)

    assert run_command(["check", str(made), "--require", "p50 < 1s", "--without-void"]) == 1

    said = "no packet of those that the generator did not hold up came back"
    assert said in " ".join(capsys.readouterr().out.split())
