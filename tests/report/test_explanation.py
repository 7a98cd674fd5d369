from typing import Any

import pytest

from made_documents import made_result
from taut.explain.grades import GRADES
from taut.records.documents.explanation import ExplanationDocument
from taut.records.documents.json_form import parse
from taut.report import explanation


def trial(**more: Any) -> dict[str, Any]:
    total = {
        "cause": "tlb-shootdown",
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
        "worst": [{"line": "pkt 7 +15 µs ...", "cause": "tlb-shootdown"}],
        **more,
    }
    return {"explanation": explained}


def test_only_traced_trials_are_explained() -> None:
    traced = made_result(name="000", explanation=trial()["explanation"])
    others = [made_result(name="001"), made_result(name="002", explanation=None)]

    [found] = explanation.explained([traced, *others], {"000": "eager"})

    assert (found.name, found.heading) == ("000", "eager")


def of(trial: dict[str, Any]) -> ExplanationDocument:
    return parse(ExplanationDocument, trial["explanation"], "made up")


def test_a_trial_is_summed_up_in_a_line_without_shares_below_a_percent() -> None:
    found = trial(packets=40_000)
    [total] = found["explanation"]["causes"]
    small = {"cause": "timer", "tail_share": 0.009, "n_packets": 1, "n_by_grade": {"B": 1}}
    guess = {"cause": "throttled", "tail_share": 0.2, "n_packets": 8, "n_by_grade": {"D": 8}}
    found["explanation"]["causes"] += [total | guess, total | small]

    assert explanation.summary(of(found)) == (
        "40 of 40,000 packets above p99.9 (12 µs): a TLB shootdown 75 %, "
        "perhaps throttling (a guess) 20 %."
    )


def test_a_cause_has_its_share_grades_and_remedies() -> None:
    [row] = explanation.rows(of(trial()))

    assert len(row.numbers) + 2 == len(explanation.COLUMNS)
    assert row.title == "a TLB shootdown"
    assert "75 %" in row.numbers
    assert "A:30" in row.numbers
    assert [str(check) for check in row.checks] == ["A05", "R12"]
    assert (row.prediction, row.is_predicted) == ("", False)


def test_cause_and_audit_stand_together_the_failed_check_first() -> None:
    checks = [
        {"check": "A05", "title": "a", "audit": "PASS"},
        {"check": "R12", "title": "b", "audit": "FAIL"},
    ]
    found = trial()
    total = found["explanation"]["causes"][0]
    total |= {"checks": checks, "prediction": "predicted", "prediction_words": "..."}

    [row] = explanation.rows(of(found))

    assert [str(check) for check in row.checks] == ["R12 FAIL", "A05 PASS"]
    assert row.prediction == "the audit predicted this: R12 FAIL"
    assert row.is_predicted


def test_episodes_of_older_results_have_their_line() -> None:
    [found] = explanation.episodes(of(trial()))

    assert found.line == "pkt 7 +15 µs ..."
    assert not found.facts
    assert not found.parts


STORY: dict[str, Any] = {
    "line": "pkt 7 +15 µs ...",
    "cause": "tlb-shootdown",
    "direction": 0,
    "first_seq": 7,
    "start_ns": 1_000_000_000,
    "end_ns": 1_000_060_000,
    "n_packets": 5,
    "n_lost": 1,
    "n_void": 2,
    "worst_excess_ns": 15_000,
    "grade": "B",
    "n_by_relation": {"stalled": 1, "queued behind it": 4},
    "missing": ["who sent it: no event proves it"],
    "remedies": ["A05"],
    "gap": {
        "thread": "forwarder",
        "core": 1,
        "start_ns": 1_000_000_000,
        "end_ns": 1_000_040_000,
        "length_ns": 40_000,
        "cause": "tlb-shootdown",
        "grade": "B",
        "detail": 'by "telemetry"/4711 on cpu0',
        "shares": [
            {"label": "tlb-shootdown", "ns": 30_000, "detail": "8 pages", "share": 0.75},
            {"label": "entry and exit", "ns": 6_000, "detail": "", "share": 0.15},
            {"label": "residual", "ns": 4_000, "detail": "", "share": 0.1},
        ],
        "missing": [],
    },
}


def test_an_episode_tells_what_happened_and_what_is_missing() -> None:
    [found] = explanation.episodes(of(trial(worst=[STORY])))

    facts = dict(found.facts)
    assert facts["packets"] == "5 (1 stalled, 4 queued behind it)"
    assert (facts["lost"], facts["generator late"]) == ("1", "with 2")
    assert "could not be sent" not in facts
    assert facts["first"] == "packet 7 of direction 0"
    assert facts["time in the trial"] == "from 1.000000 s, for 60 µs"
    assert facts["worst"] == "15 µs"
    assert facts["grade"] == f"B: {GRADES['B']}"
    assert facts["missing evidence"] == "who sent it: no event proves it"
    assert "telemetry" in facts["in detail"]


def test_packets_that_could_not_be_sent_are_not_among_the_lost() -> None:
    [found] = explanation.episodes(of(trial(worst=[{**STORY, "n_unsent": 3}])))

    facts = dict(found.facts)
    assert (facts["lost"], facts["could not be sent"]) == ("1", "3")


@pytest.mark.parametrize(
    ("base_ns", "words"),
    [
        (1_050, "15 µs above the median (1.05 µs)"),
        (900, "15 µs above 900 ns"),
        (0, "15 µs above zero (overload)"),
    ],
)
def test_what_lateness_counts_from_is_said(base_ns: int, words: str) -> None:
    [found] = explanation.episodes(of(trial(worst=[STORY], p50_ns=1_050, base_ns=base_ns)))

    assert dict(found.facts)["worst"] == words


def test_parts_of_a_gap_lie_side_by_side_over_its_whole_length() -> None:
    [found] = explanation.episodes(of(trial(worst=[STORY])))

    assert found.total == "40 µs"
    assert [(p.name, p.time, p.share) for p in found.parts] == [
        ("a TLB shootdown", "30 µs", "75 %"),
        ("entry and exit", "6 µs", "15 %"),
        ("residual", "4 µs", "10 %"),
    ]
    assert [(p.left, p.width) for p in found.parts] == [
        ("0.000%", "75.000%"),
        ("75.000%", "15.000%"),
        ("90.000%", "10.000%"),
    ]


@pytest.mark.parametrize(
    ("thread", "words"),
    [
        ("forwarder", "The forwarder on core 1 did not poll"),
        ("hop 2", "Hop 2 on core 1 did not poll"),
        ("kernel", "The device on core 1 did not run"),
        ("softirq", "The device on core 1 held packets"),
    ],
)
def test_a_gap_says_who_stood_still(thread: str, words: str) -> None:
    gap = {**STORY["gap"], "thread": thread}

    [found] = explanation.episodes(of(trial(worst=[{**STORY, "gap": gap}])))

    assert found.gap == f"{words} for 40 µs, from 1.000000 s"


def test_a_share_too_small_to_matter_is_not_a_row_of_digits() -> None:
    shares = [
        {"label": "timer", "ns": 0, "detail": "", "share": 0.0},
        {"label": "syscall", "ns": 1, "detail": "", "share": 1 / 40_000},
        {"label": "residual", "ns": 39_999, "detail": "", "share": 39_999 / 40_000},
    ]

    [found] = explanation.episodes(
        of(trial(worst=[{**STORY, "gap": STORY["gap"] | {"shares": shares}}]))
    )

    assert [(p.name, p.share) for p in found.parts] == [
        ("a system call", "< 0.01 %"),
        ("residual", "99.9 %"),
    ]


def test_where_no_check_helps_the_episode_says_what_to_look_at() -> None:
    [found] = explanation.episodes(of(trial(worst=[{**STORY, "cause": "stopped", "remedies": []}])))

    assert "SIGSTOP" in dict(found.facts)["remedy"]


def test_what_held_the_measurer_up_is_said() -> None:
    story = {**STORY, "cause": "measurer"}

    [found] = explanation.episodes(of(trial(worst=[story])))

    assert dict(found.facts)["what held it up"] == "a TLB shootdown"


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        ({}, ""),
        ({"function_calls": {"n": 0, "sender_known": 0}}, ""),
        ({"function_calls": {"n": 642, "sender_known": 642}}, "642, sender known 642 (100 %)"),
        (
            {"function_calls": {"n": 9_999, "sender_known": 9_998}},
            "9,999, sender known 9,998 (99.9 %)",
        ),
    ],
)
def test_calls_with_a_sender_are_counted(calls: dict[str, Any], words: str) -> None:
    assert explanation.calls(of(trial(**calls))).endswith(words)


GUESSED = {**STORY["gap"], "cause": "throttled", "grade": "D"} | {
    "shares": [
        {"label": "throttled", "ns": 30_000, "detail": "", "share": 0.75},
        {"label": "timer", "ns": 10_000, "detail": "", "share": 0.25},
    ]
}


@pytest.mark.parametrize(
    ("n_by_grade", "title", "is_guess"),
    [
        ({"A": 30}, "a TLB shootdown", False),
        ({"A": 10, "D": 20}, "a TLB shootdown (20 of 30: maybe)", False),
        ({"D": 30}, "maybe a TLB shootdown", True),
    ],
)
def test_the_table_says_which_causes_are_guesses(
    n_by_grade: dict[str, int], title: str, is_guess: bool
) -> None:
    found = trial()
    found["explanation"]["causes"][0]["n_by_grade"] = n_by_grade

    [row] = explanation.rows(of(found))

    assert (row.title, row.is_guess) == (title, is_guess)


def test_what_is_unknown_is_no_guess() -> None:
    found = trial()
    unknown = {"cause": "unknown", "title": "unknown", "n_by_grade": {"D": 30}}
    found["explanation"]["causes"][0] |= unknown

    [row] = explanation.rows(of(found))

    assert (row.title, row.is_guess) == ("unknown", False)


def test_a_guess_looks_like_one_in_its_episode_and_in_the_bar() -> None:
    story = {**STORY, "cause": "throttled", "grade": "D", "gap": GUESSED}

    [found] = explanation.episodes(of(trial(worst=[story])))

    facts = dict(found.facts)
    assert facts["cause"].startswith("maybe the thread was throttled: ")
    assert facts["grade"].startswith("D: maybe")
    named = [(part.name, part.is_guess) for part in found.parts]
    assert named == [("maybe the thread was throttled", True), ("a timer interrupt", False)]


def test_what_held_the_measurer_up_may_be_a_guess() -> None:
    story = {**STORY, "cause": "measurer", "gap": GUESSED}

    [found] = explanation.episodes(of(trial(worst=[story])))

    assert dict(found.facts)["what held it up"] == "maybe the thread was throttled"


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((0, 0, 0), "no stall was vetoed: no packet passed while one is said to have lasted"),
        ((1, 0, 0), "vetoed, because packets passed meanwhile: 1 stall of the device"),
        (
            (12, 2, 1),
            "vetoed, because packets passed meanwhile: 12 stalls of the device, 2 stalls of the"
            " generator, the blame of 1 late packet",
        ),
    ],
)
def test_what_packets_spoke_against_is_counted(counts: tuple[int, ...], words: str) -> None:
    names = ("device_stalls", "generator_stalls", "packets")

    found = explanation.vetoed(of(trial(vetoed=dict(zip(names, counts, strict=True)))))

    assert found == words
    assert explanation.vetoed(of(trial())) == ""
