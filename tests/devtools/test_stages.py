"""Every test is in one stage of `make test`, and in the right one."""

from itertools import combinations

import pytest

from stages import STAGES, Part, comes_first, company_of, hand_of, may_hold, stage_of


@pytest.mark.parametrize(
    ("marks", "stage"),
    [
        ((), "beside"),
        (("parametrize", "timeout"), "beside"),
        (("smoke",), "alone"),
        (("root",), "alone"),
        (("acceptance", "timeout"), "alone"),
        (("guest",), "alone"),
        (("alone",), "alone"),
        (("timing",), "alone"),
        (("smoke", "beside", "timing"), "alone"),
        (("smoke", "root", "long"), "long"),
        (("alone", "long"), "long"),
        (("long",), "beside"),
        (("acceptance", "beside", "long"), "beside"),
        (("acceptance", "beside"), "beside"),
    ],
)
def test_what_touches_the_machine_runs_alone(marks: tuple[str, ...], stage: str) -> None:
    assert stage_of(marks) == stage


def test_whatever_its_marks_a_test_is_in_a_stage() -> None:
    names = ("smoke", "root", "acceptance", "guest", "alone", "beside", "timing", "long", "timeout")
    for n in range(len(names) + 1):
        assert {stage_of(marks) for marks in combinations(names, n)} <= set(STAGES)


@pytest.mark.parametrize(
    ("mark", "stages"),
    [
        ("", {"beside"}),
        ("@pytest.mark.parametrize", {"beside"}),
        ("@pytest.mark.root", {"beside", "alone"}),
        ("pytestmark = pytest.mark.alone", {"beside", "alone"}),
        ("marks=pytest.mark.long", {"beside", "long"}),
    ],
)
def test_a_file_is_read_for_the_stages_that_its_marks_name(mark: str, stages: set[str]) -> None:
    source = f"{mark}\ndef test_a() -> None: ...\n"

    assert {stage for stage in STAGES if may_hold(source, stage)} == stages


@pytest.mark.parametrize(
    ("nodeid", "company"),
    [
        ("tests/storage/test_engines.py::test_a_name[duckdb]", "tests/storage/test_engines.py"),
        ("tests/storage/test_engines.py::test_a_name[postgres]", "postgres"),
        ("tests/storage/test_servers.py::test_spark_asks_for_a_secret", "spark"),
        ("tests/acceptance/test_captures.py::test_every_engine[native-spark]", "spark"),
        ("tests/analysis/test_load.py::test_rates[spark plug]", "tests/analysis/test_load.py"),
        ("tests/report/figures/test_conformance.py::test_it_draws[tail]", "tests/report"),
        ("tests/acceptance/test_guest.py::test_a[amd64]", "tests/acceptance/test_guest.py amd64"),
        ("tests/x.py::test_a[rt-amd64-K04]", "tests/x.py rt-amd64"),
        ("tests/smoke/test_soak.py::test_a", "runs"),
        ("tests/core/test_units.py::test_units", "tests/core/test_units.py"),
    ],
)
def test_who_shares_what_takes_long_stays_in_one_process(nodeid: str, company: str) -> None:
    assert company_of(nodeid) == company


@pytest.mark.parametrize(
    ("nodeid", "first"),
    [
        ("tests/storage/test_engines.py::test_a_name[spark]", True),
        ("tests/smoke/test_soak.py::test_a", True),
        ("tests/acceptance/test_guest.py::test_a[amd64]", False),
        ("tests/core/test_units.py::test_units", False),
    ],
)
def test_what_takes_longest_is_begun_first(nodeid: str, first: bool) -> None:
    assert comes_first(nodeid) is first


@pytest.mark.parametrize(
    ("nodeid", "marks", "hand"),
    [
        ("tests/x.py::test_a", ("acceptance", "alone"), None),
        ("tests/x.py::test_a", ("acceptance", "long"), "tests/x.py::test_a"),
        ("tests/x.py::test_a[3-b]", ("long",), "tests/x.py::test_a"),
        ("tests/x.py::test_a[amd64]", ("guest", "alone"), "tests/x.py"),
    ],
)
def test_what_takes_long_is_dealt_with_what_it_shares(
    nodeid: str, marks: tuple[str, ...], hand: str | None
) -> None:
    assert hand_of(nodeid, marks) == hand


@pytest.mark.parametrize("n_parts", [1, 2, 4, 7])
def test_every_hand_is_in_one_part_and_parts_are_alike(n_parts: int) -> None:
    hands = {f"tests/x.py::test_{n}" for n in range(30)}

    parts = [Part.parse(f"{k}/{n_parts}").of(hands) for k in range(1, n_parts + 1)]

    assert sorted(hand for part in parts for hand in part) == sorted(hands)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("text", ["0/4", "5/4", "4", "a/b", "1/0", ""])
def test_no_part_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        Part.parse(text)
