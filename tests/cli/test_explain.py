import json
from pathlib import Path

import pytest

from made_packets import packet, write_packets
from made_trace import CORE, FLUSH, OTHER_CORE, MadeTrace, held, normal, write_trial
from taut.cli.main import run_command


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing-here"], "no such folder"),
        (["{empty}"], "no whole trial"),
    ],
)
def test_what_is_no_run_is_said_in_one_line(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled = [argument.format(empty=tmp_path) for argument in arguments]

    assert run_command(["explain", *filled]) == 2

    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1


MS = 1_000_000


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """One shootdown, on a host whose audit failed A05; its sender is known."""
    start, end = 10 * MS, 10 * MS + 60_000
    trace = MadeTrace().call(start + 1_000, end - 2_000, FLUSH, sent_at=start)
    rows = held(normal(3_000), start, end)
    meta = {"status": "whole"}
    write_trial(tmp_path, rows, [(start, end, "forwarder")], trace, meta)
    row = {"id": "A05", "title": "automatic NUMA balancing", "state": "FAIL"}
    (tmp_path / "manifest.json").write_text(json.dumps({"audit": {"checks": [row]}}))
    return tmp_path


def test_the_audit_stands_beside_the_cause_it_predicted(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")

    assert run_command(["explain", str(run)]) == 0

    out = capsys.readouterr().out
    [row] = [line for line in out.splitlines() if line.startswith("A TLB shootdown")]
    assert "A05 FAIL, " in row
    assert "(100 %)" in row
    assert "the audit predicted this" not in out

    assert run_command(["explain", str(run), "--details"]) == 0

    out = capsys.readouterr().out
    assert "a TLB shootdown: the audit predicted this: A05 FAIL" in out
    assert "function calls from other cores: 1, sender known 1 (100 %)" in out


def test_the_document_has_cause_and_audit_together(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["explain", str(run), "--json"]) == 0

    [trial] = json.loads(capsys.readouterr().out)["trials"]
    [cause] = trial["causes"]
    assert cause["remedies"][0] == "A05"
    assert cause["checks"][0] == {
        "check": "A05",
        "title": "automatic NUMA balancing",
        "audit": "FAIL",
    }
    assert cause["prediction"] == "predicted"
    assert trial["function_calls"] == {"n": 1, "sender_known": 1}


def test_what_was_drawn_for_perfetto_is_said_beside_the_document(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.pftrace"

    assert run_command(["explain", str(run), "--perfetto", str(path), "--json"]) == 0

    out, err = capsys.readouterr()
    json.loads(out)
    assert path.stat().st_size > 0
    assert f"{path}: " in err
    assert "1 gaps, " in err


def add_trial(run: Path, name: str, rows: list[dict[str, object]] | None, **meta: object) -> None:
    """One more trial of a run; rows None: no packets were recorded."""
    trial = run / "trials" / name
    trial.mkdir()
    if rows is not None:
        write_packets(trial / "packets.parquet", rows)
    cores = {"generator": OTHER_CORE, "device": CORE}
    document = {"name": name, "status": "whole", "cores": cores, **meta}
    (trial / "trial.json").write_text(json.dumps(document))


@pytest.fixture
def mixed(run: Path) -> Path:
    """The run above with trials that cannot be explained, or only in part."""
    # As a run leaves it: its table of packets is there, and empty.
    add_trial(run, "001-unrecorded", [], traffic={"record": "none"})
    add_trial(run, "002-silent", [packet(s, None) for s in range(5)])
    add_trial(run, "003-slow-only", normal(50), traffic={"record": "tail"})
    add_trial(run, "004-failed", None, status="failed", failure={"reason": "the device died"})
    waiting = [packet(s, 2 * MS if s % 10 else None) for s in range(1_000)]
    add_trial(run, "005-overload", waiting)
    add_trial(run, "006-damaged", None)
    (run / "trials" / "006-damaged" / "packets.parquet").write_bytes(b"PAR1 and no more")
    add_trial(run, "007-left-out", None, traffic={"record": "tail"})
    (run / "trials" / "007-left-out" / "histogram.parquet").touch()
    return run


WHY = {
    "001-unrecorded": "no packets were recorded; run it with record = 'all'",
    "002-silent": "no packet came back; no latency to explain",
    "003-slow-only": "only its slow packets were recorded",
    "004-failed": "the trial failed (the device died)",
    "006-damaged": "packets.parquet: damaged (",
    "007-left-out": "packets.parquet is not there; `taut pack --without-records` leaves it out",
}


def test_every_trial_has_its_section_and_what_can_be_explained_is(
    mixed: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")

    assert run_command(["explain", str(mixed)]) == 0

    out = capsys.readouterr().out
    for name, why in WHY.items():
        [line] = [line for line in out.splitlines() if line.startswith(f"{name}: ")]
        assert line.startswith(f"{name}: not explained: ")
        assert why in line
    assert "a TLB shootdown" in out
    assert "\n005-overload\n" in out
    assert "! overload: 100 of 1,000 packets were lost or refused" in out
    sections = ("Device's core", "000-eager", "001-", "004-", "005-")
    assert sorted(sections, key=out.index) == list(sections)


def test_the_document_has_the_reasons_beside_the_explanations(
    mixed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["explain", str(mixed), "--json"]) == 0

    document = json.loads(capsys.readouterr().out)
    assert [trial["name"] for trial in document["trials"]] == ["000-eager", "005-overload"]
    for of, (name, why) in zip(document["not_explained"], WHY.items(), strict=True):
        assert of["trial"] == name
        assert why in of["why"]


@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_where_nothing_can_be_explained_that_is_an_error_in_one_line(
    mixed: Path, capsys: pytest.CaptureFixture[str], as_json: list[str]
) -> None:
    assert run_command(["explain", str(mixed), "--trial", "00[1-4]*", *as_json]) == 2

    assert "none of 4 trials could be explained" in capsys.readouterr().err

    assert run_command(["explain", str(mixed), "--trial", "001*", *as_json]) == 2
    assert f"001-unrecorded: not explained: {WHY['001-unrecorded']}" in capsys.readouterr().err


def test_a_wrong_threshold_is_the_users_and_no_trials(
    mixed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["explain", str(mixed), "--over", "p101"]) == 2

    out, err = capsys.readouterr()
    assert "--over p101: not a percentile" in err
    assert out == ""


def test_a_guess_is_told_as_one_and_the_legend_says_what_grades_mean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    start, end = 10 * MS, 15 * MS
    # Fit to run, and the core idles; its group was throttled, but for a part of that time only.
    trace = MadeTrace().switch(start + 100, 100, 0).switch(end - 100, 0, 100)
    throttled = [{"threads": {"100": {"cgroups": {"/x": {"throttled_us": us}}}}} for us in (1, 9)]
    counters = dict(zip(("before", "after"), throttled, strict=True))
    rows, gaps = held(normal(3_000), start, end), [(start, end, "forwarder")]
    write_trial(tmp_path, rows, gaps, trace, {"status": "whole"}, counters=counters)

    assert run_command(["explain", str(tmp_path), "--details"]) == 0

    out = capsys.readouterr().out
    assert "Perhaps throttling (a guess)" in out
    assert "late: perhaps core 1 stood still for 5 ms, its thread throttled (a guess; " in out
    assert "maybe the thread was throttled" in out
    assert "A: seen and confirmed: " in out
    assert "D: maybe: a guess" in out


def test_a_trial_takes_ten_lines_at_most_before_the_fold(
    mixed: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    assert run_command(["explain", str(mixed)]) == 0

    _, *sections = capsys.readouterr().out.split("\n\n")
    assert len(sections) > len(WHY)
    assert all(len(section.splitlines()) <= 10 for section in sections)


def test_a_drawing_for_a_folder_that_is_not_there_is_refused_at_once(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "drawings" / "x.pftrace"

    assert run_command(["explain", str(run), "--perfetto", str(path)]) == 2

    assert capsys.readouterr() == ("", f"taut: --perfetto {path}: no such folder; make it first\n")


@pytest.mark.parametrize("name", ["runs/4242", "²"])
def test_a_run_that_is_not_there_is_no_process(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["explain", name]) == 2

    assert capsys.readouterr().err == f"taut: {name}: no such folder; name a run directory\n"
