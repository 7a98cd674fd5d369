from dataclasses import replace

from check_rows import GUEST, KVM_HOST, NOBODY, bad, each, good, odd, skipped, unseen
from host_tree import BARE_METAL, POLL
from taut.host.situation import Situation, TraceEvent, Watched

MASK = "/sys/devices/virtual/workqueue/cpumask"
WRITEBACK = "/sys/devices/virtual/workqueue/writeback/cpumask"
INTERVAL = "/proc/sys/vm/stat_interval"
EVENTS = "/sys/kernel/tracing/events"
OLD = replace(POLL, machine=replace(BARE_METAL, kernel=(6, 1)))


def work(core: int, comm: str = "kworker/2:1", function: str = "vmstat_update") -> TraceEvent:
    text = f"work struct 00000000a1b2c3d4: function {function}"
    return TraceEvent(core, comm, 77, "workqueue_execute_start", text)


def traced(*events: TraceEvent) -> Situation:
    return replace(POLL, events=events, watched=Watched(60.0))


ROWS = (
    good("K28", {MASK: "00000003\n"}),
    bad(
        "K28",
        {MASK: "f\n", f"{MASK}_requested": "f\n", f"{MASK}_isolated": "0\n"},
        "cpumask_isolated=0",
        remedies="boot",
        does=("workqueue.unbound_cpus=0-1",),
    ),
    bad("K28", {MASK: "f\n"}, on=OLD, remedies="by-hand", does=("R07",)),
    skipped("K28", {}),
    *odd("K28", MASK, "all\n"),
    good("R06", {INTERVAL: "10\n"}),
    *(
        bad("R06", {INTERVAL: "1\n"}, on=role, remedies="now boot", mends=True)
        for role in (POLL, KVM_HOST, GUEST)
    ),
    skipped("R06", {}),
    *odd("R06", INTERVAL, "often\n"),
    good("R07", {MASK: "00000000,00000003\n"}),
    bad(
        "R07",
        {MASK: "00,0000000f\n"},
        "cores 0-3",
        cores=(2, 3),
        remedies="now boot",
        does=(f"{MASK} = 3",),
        mends=True,
    ),
    # The common mask binds writeback.
    good("R07", {MASK: "3\n", WRITEBACK: "f\n"}),
    bad("R07", {MASK: "f\n", WRITEBACK: "1\n"}, "writeback 0"),
    skipped("R07", {}),
    *odd("R07", MASK, "", "none\n", "\x80\x00\n", "0\n", "-1\n", "1_0\n"),
    bad("R07", {MASK: "f\n"}, on=NOBODY, remedies=""),
    unseen("R07", {MASK: "3\n"}, on=NOBODY),
    good("R08", {}, "60 s", on=traced(work(0, "kworker/0:1"))),
    bad(
        "R08",
        {},
        "vmstat_update 2 times, lru_add_drain_per_cpu 1 times",
        on=traced(work(2, function="lru_add_drain_per_cpu"), work(2), work(2)),
        cores=(2,),
        remedies="by-hand",
    ),
    # Unbound workers and other events are not judged.
    good(
        "R08",
        {},
        on=traced(work(2, "kworker/u8:3"), TraceEvent(2, "x", 1, "tick_stop", "success=0")),
    ),
    bad(
        "R08",
        {},
        "an unnamed function 1 times",
        on=traced(TraceEvent(3, "kworker/3:0", 7, "workqueue_execute_start", "\x00 ???")),
    ),
    unseen("R08", {f"{EVENTS}/timer/tick_stop/id": "1\n"}, on=traced()),
    good("R08", {f"{EVENTS}/workqueue/workqueue_execute_start/id": "2\n"}, on=traced()),
    unseen("R08", {}, "--trace"),
    unseen("R08", {}, "--cores", on=replace(traced(work(2)), cores=())),
)

test_kernel_work = each(ROWS)
