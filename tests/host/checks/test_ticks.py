from dataclasses import replace

from check_rows import HOUSEKEEPING, KVM_HOST, NOBODY, bad, each, good, odd, skipped, unseen
from host_tree import POLL, SLEEP
from taut.host.situation import Situation, TraceEvent, Waiting, Watched

CPU = "/sys/devices/system/cpu"
NOHZ_FULL = f"{CPU}/nohz_full"
MIGRATION = "/proc/sys/kernel/timer_migration"
CMDLINE = "/proc/cmdline"
BOTH = replace(SLEEP, waiting=frozenset(Waiting))
MANY = replace(KVM_HOST, online=tuple(range(16)))
TRACING = {"/sys/kernel/tracing/events/timer/tick_stop/enable": "0\n"}


def tickless(cores: str) -> dict[str, str]:
    return {f"{CPU}/online": "0-3\n", NOHZ_FULL: f"{cores}\n"}


X86, ARM64 = "LOC: {} Local timer", "11: {} GICv3 27 Level arch_timer"


def ticked(before: str, after: str, row: str = X86) -> Situation:
    """The counts of the local timers before and after five seconds."""
    texts = (
        {"/proc/interrupts": f"     CPU0 CPU1 CPU2 CPU3\n{row.format(counts)}\nERR: 0\n"}
        for counts in (before, after)
    )
    return replace(POLL, watched=Watched(5.0, *texts))


def traced(*events: tuple[int, str]) -> Situation:
    """Events of tick_stop: core, and its fields."""
    seen = [TraceEvent(core, "x", 1, "tick_stop", fields) for core, fields in events]
    return replace(POLL, events=seen)


ROWS = (
    good("K06", tickless("2-3"), cores=(2, 3)),
    bad("K06", tickless("3"), cores=(2,), remedies="boot", does=("nohz_full=2-3",)),
    # As old kernels write no core.
    bad("K06", tickless("(null)"), "none"),
    bad(
        "K06",
        tickless("2-3"),
        "250 ticks",
        on=ticked("0 0 100 100", "900 900 102 1350"),
        cores=(3,),
        remedies="boot by-hand",
    ),
    bad(
        "K06",
        tickless("2-3"),
        "250 ticks",
        on=ticked("0 0 100 100", "900 900 102 1350", ARM64),
        cores=(3,),
        remedies="boot by-hand",
    ),
    good("K06", tickless("2-3"), on=ticked("0 0 100 100", "900 900 105 106")),
    # Counts that make no sense are left out.
    good("K06", tickless("2-3"), on=ticked("x y z", "1 2 3 4")),
    bad("K06", {f"{CPU}/online": "0-3\n"}, remedies="by-hand", does=("NO_HZ_FULL",)),
    skipped("K06", {}),
    *odd("K06", NOHZ_FULL, "two\n", files=tickless("")),
    good("K06", tickless(""), on=HOUSEKEEPING),
    bad("K06", tickless("2"), on=HOUSEKEEPING, remedies=""),
    skipped("K06", tickless(""), "stops by itself", on=SLEEP),
    bad("K06", tickless(""), on=BOTH),
    good("K21", {CMDLINE: "skew_tick=1\n"}, on=MANY),
    bad("K21", {CMDLINE: "skew_tick=0\n"}, "16 cores tick", on=MANY, does=("skew_tick=1",)),
    bad("K21", {CMDLINE: "skew_tick=yes\n"}, on=MANY),
    good("K21", {CMDLINE: "quiet\n", NOHZ_FULL: "2-15\n"}, on=MANY),
    skipped("K21", {CMDLINE: "quiet\n", NOHZ_FULL: "2-3\n"}, "do not tick"),
    unseen("K21", {}, on=MANY),
    good("R11", {MIGRATION: "0\n"}),
    bad(
        "R11",
        {MIGRATION: "1\n", NOHZ_FULL: "(null)\n"},
        remedies="now boot",
        does=("node tuning operator", "K04-now", f"{MIGRATION} = 0"),
        mends=True,
    ),
    good("R11", {MIGRATION: "1\n", NOHZ_FULL: "1-3\n"}),
    bad("R11", {MIGRATION: "1\n", NOHZ_FULL: "3\n"}),
    # A list that is none is no core.
    bad("R11", {MIGRATION: "1\n", NOHZ_FULL: "0-\x80\n"}),
    skipped("R11", {}),
    *odd("R11", MIGRATION, "", "yes\n", "\x00\x80\n"),
    good(
        "R29",
        tickless("2-3") | TRACING,
        on=traced((2, "success=1 dependency=NONE"), (1, "success=0 dependency=SCHED")),
    ),
    bad(
        "R29",
        tickless("2-3") | TRACING,
        "core 3: POSIX_TIMER (2 times)",
        on=traced(
            *2 * [(3, "success=0 dependency=POSIX_TIMER")], (3, "success=0 dependency=SCHED")
        ),
        cores=(3,),
        remedies="by-hand",
        does=("SCHED: more than one runnable",),
    ),
    good("R29", tickless("2-3") | TRACING, on=traced((2, "success=maybe"))),
    unseen("R29", tickless("2-3") | TRACING, "--trace"),
    *(skipped("R29", tickless(cores) | TRACING) for cores in ("(null)", "", "1")),
    skipped("R29", {}),
    unseen("R29", tickless("2-3") | TRACING, "--trace", on=NOBODY),
)

test_ticks = each(ROWS)
