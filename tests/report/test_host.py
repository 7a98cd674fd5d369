from typing import Any

from taut.records.documents.audit import AuditDocument
from taut.records.documents.json_form import parse
from taut.report import host


def row(check_id: str, state: str, severity: str, **more: Any) -> dict[str, Any]:
    return {
        "id": check_id,
        "title": f"title of {check_id}",
        "state": state,
        "severity": severity,
        "remedies": [],
        **more,
    }


def audit(*rows: dict[str, Any]) -> AuditDocument:
    states = ("PASS", "FAIL", "UNKNOWN", "NOT_APPLICABLE")
    counts = {state: sum(r["state"] == state for r in rows) for state in states}
    document = {"role": "poll-core", "cores": "2-3", "counts": counts, "checks": rows}
    return parse(AuditDocument, document, "made up")


def test_a_failure_that_costs_tens_of_microseconds_stands_on_top() -> None:
    found = host.warnings(audit(row("K06", "FAIL", "major"), row("R21", "FAIL", "note")))

    assert len(found) == 1
    assert "1 check fails" in found[0]
    assert "K06 title of K06" in found[0]
    assert "R21" not in found[0]


def test_many_failures_are_one_line() -> None:
    [line] = host.warnings(audit(*(row(f"K0{n}", "FAIL", "critical") for n in range(1, 8))))

    assert "7 checks fail" in line
    assert "and 3 more" in line


def test_nothing_stands_on_top_where_nothing_of_weight_fails_or_nobody_audited() -> None:
    assert host.warnings(audit(row("K06", "PASS", "major"), row("R21", "FAIL", "note"))) == []
    assert host.warnings(None) == []


def test_the_worst_failure_comes_first_with_its_remedy() -> None:
    by_hand = {"id": "HW03-by-hand", "by_hand": "in the BIOS: off", "summary": "change it"}
    by_hand |= {"profile": "minimal", "measure": ""}
    rows = host.failed_rows(
        audit(
            row("R21", "FAIL", "note"),
            row("HW03", "FAIL", "critical", remedies=[by_hand]),
            row("K01", "UNKNOWN", "major"),
        )
    )

    assert [r.check.id for r in rows] == ["HW03", "R21"]
    assert rows[0].remedy == "in the BIOS: off"
    assert rows[1].remedy == ""


def test_every_state_is_counted_in_words() -> None:
    text = host.summary(audit(row("A", "PASS", "note"), row("B", "UNKNOWN", "note")))

    assert "2 checks, 1 pass, 0 fail, 1 unknown, 0 do not apply" in text
