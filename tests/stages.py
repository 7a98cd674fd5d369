"""Which tests may run beside others, in what company, and which only `make test-all` runs.

Stage `beside` runs on several cores at once: its tests touch nothing but files and servers of their
own, and those that start real runs take turns. Stage `alone` follows, one test at a time: what
measures this machine or changes it. Stage `long` is of the same kind, for what is exhaustive: many
repetitions of what a test of the other two does a few times, or one proof that takes minutes. What
is exhaustive but touches nothing runs in stage `beside` all the same, if --all is given. Every test
is in exactly one of the three.

Continuous integration has not the time for all that takes long. It takes a part (`--part 2/4`): a
test with all of its parameters, a guest's file as a whole.

A few of those that run one at a time judge timing (`timing`): who was late, by how much, who had a
core. Those alone can fail by what else the machine does, so each measures that and states its bar
from it; devtools/pass_rate.py runs them again and again.
"""

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple, Self

import pytest

from taut.storage.engines import ENGINES

STAGES = ("beside", "alone", "long")
_TOUCH_THE_MACHINE = {"smoke", "root", "acceptance", "guest"}
_NOTHING_BESIDE = {"alone", "timing"}
_TAKE_LONG = {"long", "guest"}
# Whole runs that judge no timing: they hold the cores in turn, so one process has them all.
_RUNS = {
    "tests/acceptance/test_bad_input.py",
    "tests/acceptance/test_placements.py",
    "tests/docs/test_api_page.py",
    "tests/docs/test_howto_pages.py",
    "tests/docs/test_pipeline.py",
    "tests/docs/test_plugins_page.py",
    "tests/smoke/test_rfc.py",
    "tests/smoke/test_search.py",
    "tests/smoke/test_soak.py",
    "tests/smoke/test_traced_run.py",
}
_OF_A_GUEST = re.compile(r"\[((?:rt-)?amd64)\b")
SERVERS = tuple(name for name, kind in ENGINES.items() if not kind.is_embedded)
_OF_A_SERVER = re.compile(rf"[\[_-]({'|'.join(SERVERS)})[\]_.-]")

SPARK_AT_LENGTH = pytest.mark.parametrize(
    "engine_at",
    [pytest.param(name, marks=pytest.mark.long) if name == "spark" else name for name in ENGINES],
    indirect=True,
    scope="session",
)
"""Every engine, but Spark only with --all: a query takes it a second, however little there is."""


def stage_of(marks: Iterable[str]) -> str:
    """Name the stage of a test that bears these marks."""
    found = set(marks)
    if found & _NOTHING_BESIDE or (found & _TOUCH_THE_MACHINE and "beside" not in found):
        return "long" if "long" in found else "alone"
    return "beside"


def may_hold(source: str, stage: str) -> bool:
    """Whether a file of tests may have some of a stage: who is not `beside` is marked, in the file.

    Most files have no mark, and to read and import all of them takes as long as many tests.
    """
    if stage == "beside":
        return True
    marks = {"long"} if stage == "long" else _NOTHING_BESIDE | _TOUCH_THE_MACHINE
    return any(f"mark.{name}" in source for name in marks)


def company_of(nodeid: str) -> str:
    """Name the tests that one process should take as a whole.

    They are those of a file, or all that share what takes long to make: the server of an engine,
    the analysed run of the report's tests, the boots of one kernel; or what they can have in turn
    alone, as the cores.
    """
    path = nodeid.partition("::")[0]
    if found := _OF_A_GUEST.search(nodeid):
        return f"{path} {found[1]}"
    if found := _OF_A_SERVER.search(nodeid):
        return found[1]
    if path in _RUNS:
        return "runs"
    return "tests/report" if path.startswith("tests/report/") else path


def comes_first(nodeid: str) -> bool:
    """Whether its company takes longest: begun last, one process would be waited for."""
    return company_of(nodeid) in {*SERVERS, "runs"}


class Part(NamedTuple):
    """One of several parts into which what takes long is dealt."""

    number: int  # from 1
    n_parts: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `2/4`. ValueError: it is no such thing."""
        number, n_parts = map(int, text.split("/"))
        if not 1 <= number <= n_parts:
            raise ValueError(f"{text}: say 1/{n_parts} to {n_parts}/{n_parts}")
        return cls(number, n_parts)

    def of(self, hands: Collection[str]) -> set[str]:
        """Give those of this part: each is in one part, and parts are alike in size."""
        return set(sorted(hands)[self.number - 1 :: self.n_parts])


def hand_of(nodeid: str, marks: Iterable[str]) -> str | None:
    """Name what is dealt as one, for what tests share takes long to make; None: it always runs."""
    if not _TAKE_LONG & set(marks):
        return None
    return nodeid.partition("::" if "guest" in marks else "[")[0]
