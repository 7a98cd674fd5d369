from typing import Any

from taut.report import explanation


def trial(**more: Any) -> dict[str, Any]:
    total = {
        "title": "a TLB shootdown",
        "tail_share": 0.75,
        "n_episodes": 3,
        "n_packets": 30,
        "total_ns": 400_000,
        "worst_ns": 15_000,
        "n_by_grade": {"A": 30, "B": 0},
        "remedies": ["A05", "R12"],
        "ask": "",
    }
    explained = {
        "over": "p99.9",
        "threshold_ns": 12_000,
        "tail_packets": 40,
        "unknown_share": 0.25,
        "hypervisor_or_hardware_share": 0.0,
        "trace_lost_share": 0.0,
        "causes": [total],
        "worst": [{"line": "pkt 7 +15 us ...", "cause": "tlb-shootdown"}],
        **more,
    }
    return {"name": "000-eager", "explanation": explained}


def test_only_traced_trials_are_explained() -> None:
    others = [{"name": "001"}, {"name": "002", "explanation": None}]

    assert explanation.explained([trial(), *others]) == [trial()]


def test_what_is_unknown_is_said_first() -> None:
    text = explanation.summary(trial())

    assert "40 packets above p99.9" in text
    assert "unknown 25.0%" in text


def test_a_cause_has_its_share_grades_and_remedies() -> None:
    [row] = explanation.rows(trial())

    assert len(row) == len(explanation.COLUMNS)
    assert row[0] == "a TLB shootdown"
    assert "75.0%" in row
    assert "A:30" in row
    assert row[-1] == "A05 R12"


def test_the_worst_are_told_in_a_line_each() -> None:
    assert explanation.stories(trial()) == ["pkt 7 +15 us ..."]
