"""Control groups of a device that had gone when the trace ended, or that had gone themselves."""

from made_packets import packet
from made_trace import POLLER, MadeTrace, notes, write_trial
from taut.explain import Options, explain_trial
from taut.explain.read.facts import throttled_ns

US = 1_000
COUNTERS = {
    "before": {
        "threads": {
            str(POLLER): {"cgroups": {"/made": {"throttled_us": 3}, "/lent": {"throttled_us": 0}}}
        }
    },
    # As taut-trace writes of a thread that has ended, and of a group that was removed.
    "after": {
        "threads": {
            str(POLLER): {
                "minflt": None,
                "cgroups": {"/made": {"throttled_us": 983}, "/lent": None},
            }
        }
    },
}


def test_a_group_counts_though_its_thread_has_ended_and_not_when_it_is_gone() -> None:
    assert throttled_ns(notes(counters=COUNTERS), POLLER) == (980 * US,)


def test_a_group_that_was_gone_at_the_end_is_said(tmp_path) -> None:
    rows = [packet(i) for i in range(3_000)]
    trial = write_trial(tmp_path, rows, trace=MadeTrace().vector(1, 2), counters=COUNTERS)

    assert explain_trial(trial, Options(over="20us")).notes == (
        "control group /lent was gone when the trace ended: how long it throttled is not known",
    )
