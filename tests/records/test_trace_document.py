from taut.records.documents.json_form import parse, plain
from taut.records.documents.trace import TraceDocument

# As taut-trace wrote it: a thread in a control group with a quota, and one that had ended.
COUNTERS = {
    "threads": {
        "17811": {
            "minflt": 2076,
            "majflt": 0,
            "voluntary": 4,
            "nonvoluntary": 7,
            "run_delay_ns": None,
            "cgroups": {
                "/taut-42": {"nr_throttled": 3, "throttled_us": 41_000},
                "/gone": None,
            },
        },
        "17812": None,
    },
    "interrupts": {"LOC": {"1": 9014}},
}


def test_a_thread_has_numbers_and_its_control_groups_or_has_ended() -> None:
    document = {"counters": {"before": COUNTERS, "after": COUNTERS}, "cores": [1]}

    read = parse(TraceDocument, document, "trace.json")

    assert read.counters is not None and read.counters.before is not None
    before = read.counters.before
    assert before.threads["17812"] is None
    assert before.threads["17811"].counts["nonvoluntary"] == 7
    assert before.threads["17811"].cgroups["/taut-42"].throttled_us == 41_000
    assert before.interrupts["LOC"]["1"] == 9014
    assert plain(read) == document
