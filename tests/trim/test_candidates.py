"""What a trim would try, in which order, and for the sake of which cause."""

from check_rows import BY_ID
from host_tree import POLL
from taut.explain.causes import FIFO_PREEMPTION, MEMBARRIER, SMI, TIMER
from taut.host.audit import Row
from taut.host.boot.item import Sysctl
from taut.host.check import Profile, Remedy, failed
from taut.host.plan import Choice, Plan, PlannedChange, Step
from taut.host.setting import Change
from taut.host.settings import FileSetting
from taut.trim.candidates import CauseFound, When, list_candidates, shares_of

AMOUNTS = {"timer": 30.0, "syscall": 0.0, "fifo-preemption": 69.5, "membarrier": 0.5}
TITLES = {name: f"a {name}" for name in AMOUNTS}
VALUE = PlannedChange(Change(FileSetting("/proc/a", "number"), "1"), old="0", is_in_force=False)


def step(check: str, remedy: str, choice: Choice = Choice.TAKE, **of: object) -> Step:
    changes = () if of else (VALUE,)
    made = Remedy(remedy, f"do {remedy}", **of)  # type: ignore[arg-type]
    return Step(Row(BY_ID[check], failed("bad", "good")), made, choice, "why", changes)


def listed(*steps: Step) -> list[tuple[str, When, str]]:
    plan = Plan(POLL, Profile.RECOMMENDED, steps)
    found = list_candidates(plan, shares_of(AMOUNTS, TITLES))
    return [(one.remedy, one.when, one.cause) for one in found]


def test_shares_are_of_all_that_was_found_the_largest_first():
    assert shares_of(AMOUNTS, TITLES) == [
        CauseFound("fifo-preemption", "a fifo-preemption", 0.695),
        CauseFound("timer", "a timer", 0.3),
        CauseFound("membarrier", "a membarrier", 0.005),
    ]
    assert shares_of({"timer": 0.0}, TITLES) == []


def test_what_helps_the_largest_cause_comes_first_and_what_needs_a_boot_after_all_that_does_not():
    assert {"K20"} <= set(TIMER.remedies) & set(FIFO_PREEMPTION.remedies)

    assert listed(
        step("R13", "R13-now"),
        step("R15", "R15-now"),
        step("K20", "K20-boot", boot=(Sysctl("a.b", "1"),)),
        step("K06", "K06-now"),
        step("R23", "R23-now"),
    ) == [
        ("R23-now", When.NOW, "fifo-preemption"),
        ("K06-now", When.NOW, "timer"),
        ("R15-now", When.NOW, ""),
        ("R13-now", When.NOW, ""),
        ("K20-boot", When.BOOT, "fifo-preemption"),
    ]


def test_a_cause_of_less_than_a_hundredth_asks_for_nothing():
    assert MEMBARRIER.remedies == ("A06",)

    assert listed(step("A06", "A06-now")) == [("A06-now", When.NOW, "")]


def test_what_is_left_to_people_is_listed_only_for_a_cause_that_was_found():
    by_hand = Choice.BY_HAND
    assert "HW04" in SMI.remedies and "K06" in TIMER.remedies

    assert listed(
        step("HW04", "HW04-by-hand", by_hand, by_hand="in the BIOS"),
        step("K06", "K06-by-hand", by_hand, by_hand="build a kernel"),
    ) == [("K06-by-hand", When.BY_HAND, "timer")]


def test_what_is_in_force_left_or_to_be_measured_is_not_tried():
    others = (Choice.IN_FORCE, Choice.LEAVE, Choice.MEASURE)

    assert listed(*(step("R23", "R23-now", choice) for choice in others)) == []
