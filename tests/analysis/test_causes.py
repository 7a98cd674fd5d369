"""What every cause has to hold; each stands in the table CAUSES."""

from pathlib import Path

import pytest

from taut.analysis import causes
from taut.analysis.cause import Evidence
from taut.analysis.causes import BY_ID, CAUSES
from taut.analysis.explain.events import notes_of
from taut.analysis.explain.facts import facts_of
from taut.analysis.explain.naming import CALL_CAUSES, VECTOR_CAUSES
from taut.analysis.explain.segments import CAUSE_NUMBER
from taut.host.checks import CHECKS
from taut.records.layout import EVENT_VECTORS


def test_every_file_of_the_folder_is_in_the_table_once():
    files = {p.stem.replace("_", "-") for p in Path(causes.__file__).parent.glob("*.py")}

    assert files - {"--init--"} == {cause.id for cause in CAUSES}
    assert len(BY_ID) == len(CAUSES) == len(CAUSE_NUMBER)


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.id)
def test_a_cause_says_what_it_is_and_what_helps(cause):
    checks = {check.id for check in CHECKS}

    assert cause.title and cause.why.endswith(".")
    assert set(cause.remedies) <= checks
    assert cause.remedies or cause.ask
    assert len(set(cause.remedies)) == len(cause.remedies)


def test_names_of_the_kernel_lead_to_causes_that_exist():
    assert set(VECTOR_CAUSES) == set(EVENT_VECTORS)
    for cause in [*CALL_CAUSES.values(), *VECTOR_CAUSES.values()]:
        assert BY_ID[cause].evidence is Evidence.EVENT or cause == "frequency"


@pytest.mark.parametrize("cause", [c for c in CAUSES if c.counter], ids=lambda cause: cause.id)
def test_a_counter_that_moved_agrees_with_its_cause(cause):
    group, _, row = cause.counter.partition(":")
    row = {"devices": "24", "any": "NET_RX"}.get(row, row)

    def counters(n):
        if group in ("interrupts", "softirqs"):
            return {group: {row: {"1": n}}}
        if group == "threads":
            return {"threads": {"7": {row: n}}}
        if group == "cgroups":
            return {"threads": {"7": {"cgroups": {"/x": {row: n}}}}}
        return {group: {"1": n}}

    for after, agrees in ((5, False), (6, True)):
        notes = notes_of({"counters": {"before": counters(5), "after": counters(after)}})
        facts = facts_of(notes, core=1, thread=7, is_guest=True, is_traced=True)
        assert (cause.id in facts.agreeing) == agrees
