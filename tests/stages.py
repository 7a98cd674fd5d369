"""Which tests may run beside others, in what company, and which only `make test-all` runs.

Stage `beside` runs on several cores at once: its tests touch nothing but files and servers of their
own. Stage `alone` follows, one test at a time: what measures this machine or changes it. Stage
`long` is of the same kind, for what is exhaustive: many repetitions of what a test of the other two
does a few times, or one proof that takes minutes. Every test is in exactly one of the three.
"""

import re
from collections.abc import Iterable

from taut.storage.engines import ENGINES

STAGES = ("beside", "alone", "long")
SERVERS = "servers"
_TOUCH_THE_MACHINE = {"smoke", "root", "acceptance", "guest"}
_OF_A_GUEST = re.compile(r"\[((?:rt-)?amd64)\b")
_OF_AN_ENGINE = re.compile(rf"[\[-]({'|'.join(ENGINES)})[\]-]")


def stage_of(marks: Iterable[str]) -> str:
    """Name the stage of a test that bears these marks."""
    found = set(marks)
    if "long" in found:
        return "long"
    if "alone" in found or (found & _TOUCH_THE_MACHINE and "beside" not in found):
        return "alone"
    return "beside"


def company_of(nodeid: str) -> str:
    """Name the tests that one process should take as a whole.

    They are those of a file, or all that share what takes long to make: the servers of the engines,
    the analysed run of the report's tests, the boots of one kernel.
    """
    path = nodeid.partition("::")[0]
    if found := _OF_A_GUEST.search(nodeid):
        return f"{path} {found[1]}"
    if _OF_AN_ENGINE.search(nodeid):
        return SERVERS
    return "tests/report" if path.startswith("tests/report/") else path
