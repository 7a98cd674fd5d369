"""What every cause has to hold; each stands in the table CAUSES."""

import re
from pathlib import Path

import pytest

from made_trace import (
    CORE,
    FLUSH,
    HOG,
    OTHER_CORE,
    POLLER,
    PREEMPTED,
    STOPPED,
    MadeTrace,
    notes,
)
from taut.binaries import inject
from taut.explain import causes
from taut.explain.cause import Cause, Evidence
from taut.explain.causes import BY_ID, CAUSES, OF_CALL, OF_INJECTOR, OF_VECTOR
from taut.explain.read.facts import facts_of
from taut.records.layout import EVENT_VECTORS
from taut.self_test.cause_trials import made_here
from taut.testing.causes import says_what_it_is_and_what_helps

ROW = re.compile(r"^(\w+) = Cause\(", re.MULTILINE)


def test_ids_names_of_the_kernel_and_injectors_stand_in_one_row_each():
    for name in ("vectors", "calls", "threads"):
        told = [value for cause in CAUSES for value in getattr(cause, name)]
        assert len(set(told)) == len(told)
    assert len(BY_ID) == len(CAUSES)
    assert len(OF_INJECTOR) == len([cause for cause in CAUSES if cause.made])


def test_the_table_has_every_row_of_every_file_and_calls_it_by_its_id():
    files = Path(causes.__file__).parent.glob("*.py")
    rows = [name for file in files for name in ROW.findall(file.read_text())]

    assert sorted(rows) == sorted(map(name_of, CAUSES))
    for cause in CAUSES:
        assert getattr(causes, name_of(cause)) is cause


def name_of(cause: Cause) -> str:
    return cause.id.upper().replace("-", "_")


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.id)
def test_a_cause_says_what_it_is_and_what_helps(cause):
    says_what_it_is_and_what_helps(cause)


def test_every_interrupt_of_the_processor_has_a_cause():
    assert set(OF_VECTOR) == set(EVENT_VECTORS)
    for cause in (*OF_CALL.values(), *OF_VECTOR.values()):
        assert cause.evidence is Evidence.EVENT or cause is causes.FREQUENCY


@pytest.mark.smoke
@pytest.mark.beside
def test_taut_inject_has_what_the_rows_name_and_gives_the_self_test_its_order():
    assert set(made_here()) == set(OF_INJECTOR) <= set(inject.causes())
    for cause in CAUSES:
        if cause.made and cause.made.options:
            given = {
                option["name"] for option in inject.causes()[cause.made.name].others["options"]
            }
            assert {word.partition("=")[0] for word in cause.made.options.split(",")} <= given


# Of what each counter counts, one event; the poller of made_trace on its core.
COUNTED = {
    "interrupts:LOC": ("vector_entry", 0, 0),
    "interrupts:RES": ("vector_entry", 1, 0),
    "interrupts:CAL": ("vector_entry", 3, 0),
    "interrupts:IWI": ("vector_entry", 4, 0),
    "interrupts:TLB": ("call_entry", 0xC0DE, FLUSH),
    "interrupts:NMI": ("nmi", 0, 0),
    "interrupts:MCE": ("machine_check", 0, 0),
    "interrupts:devices": ("irq_entry", 24, 0),
    "softirqs:any": ("softirq_entry", 3, 0),
    "threads:nonvoluntary": ("switch", POLLER | PREEMPTED << 32, HOG),
    "threads:voluntary": ("switch", POLLER | STOPPED << 32, HOG),
    "threads:minflt": ("page_fault", 0, 0),
}
# Of throttling it is time that is compared: explain/walk/test_running.py.
OF_EVENTS = [
    c
    for c in CAUSES
    if c.counter and c.evidence is Evidence.EVENT and not c.counter.startswith("cgroups")
]


@pytest.mark.parametrize("cause", OF_EVENTS, ids=lambda cause: cause.id)
def test_a_counter_agrees_where_it_counted_as_many_as_were_recorded(cause):
    group, _, row = cause.counter.partition(":")
    row = {"devices": "24", "any": "NET_RX"}.get(row, row)

    def counters(n):
        if group == "threads":
            return {"threads": {str(POLLER): {row: n}}}
        return {group: {row: {str(CORE): n, str(OTHER_CORE): 9 * n}}}

    trace = MadeTrace()
    for i in range(3):
        trace.add(100 + i, *COUNTED[cause.counter])
        trace.add(200 + i, *COUNTED[cause.counter][:1], 99, 99, thread=HOG, cpu=OTHER_CORE)
    for moved, agrees in ((0, False), (1, False), (3, True), (4, False)):
        made = notes(counters={"before": counters(5), "after": counters(5 + moved)})
        facts = facts_of(trace.events(), made, CORE, POLLER, is_guest=True, is_traced=True)
        assert (cause.id in facts.agreeing) == agrees
