import json
from pathlib import Path

import pytest

from made_trace import FLUSH, MadeTrace, held, normal, write_trial
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
    assert "a TLB shootdown: the audit predicted this: A05 FAIL" in out
    [row] = [line for line in out.splitlines() if line.strip().startswith("a TLB") and "%" in line]
    assert "A05 FAIL, " in row
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
