from dataclasses import replace

from check_rows import CONTAINER, NOBODY, bad, each, good, unseen
from host_threads import HIDDEN, KERNEL, thread_files
from host_tree import BARE_METAL, POLL
from taut.host.situation import Situation, TraceEvent

CMDLINE = "/proc/cmdline"
UNIT = "/commands/systemctl is-active irqbalance.service"
RUNS = {UNIT: "active\n"}
CONFIGURED = {"/etc/default/irqbalance": 'IRQBALANCE_BANNED_CPULIST="2-3"\n'}
EVENT = {"/sys/kernel/tracing/events/ipi/ipi_send_cpu/enable": "0\n"}
OTHER_EVENT = {"/sys/kernel/tracing/events/sched/sched_switch/enable": "0\n"}
FIFO = 1
REAL_TIME = replace(POLL, machine=replace(BARE_METAL, is_realtime=True), processes=(900,))
IN_A_POD = replace(POLL, machine=replace(BARE_METAL, container="unknown"))
NIC = thread_files(50, "irq/40-eth0", "2", flags=KERNEL, scheduler=(FIFO, 50))
AWAY = thread_files(50, "irq/40-eth0", "0-1", flags=KERNEL, scheduler=(FIFO, 50))


def poller(policy: int, priority: int) -> dict[str, str]:
    files = thread_files(900, "dut", "2", scheduler=(policy, priority))
    return files | {"/proc/900/task/900/stat": files["/proc/900/stat"]}


def daemon(**environment: str) -> dict[str, str]:
    variables = "\0".join(f"{name}={value}" for name, value in environment.items())
    return {"/proc/812/comm": "irqbalance\n", "/proc/812/environ": f"HOME=/\0{variables}\0"}


def one(target: int) -> TraceEvent:
    fields = f"cpu={target} callsite=rdmsr_on_cpu+0x20/0x60 callback=0x0"
    return TraceEvent(0, "turbostat", 9, "ipi_send_cpu", fields)


def several(mask: str) -> TraceEvent:
    fields = f"cpumask={mask} callsite=on_each_cpu_cond_mask+0x20/0x60 callback=0x0"
    return TraceEvent(1, "python", 9, "ipi_send_cpumask", fields)


def traced(*events: TraceEvent) -> Situation:
    return replace(POLL, events=events)


ROWS = (
    good("K27", {CMDLINE: "quiet\n"} | NIC),
    bad("K27", {CMDLINE: "threadirqs\n"}, remedies="by-hand", does=("remove threadirqs",)),
    unseen("K27", {}, "no command line"),
    good("K27", NIC | poller(FIFO, 60), on=REAL_TIME),
    bad("K27", NIC | poller(FIFO, 40), on=REAL_TIME, does=("= fifo 39",), mends=True),
    # A poller without priority must get one by hand.
    bad("K27", NIC | poller(0, 0), on=REAL_TIME, remedies="by-hand", does=("chrt",)),
    good("K27", AWAY | poller(0, 0), on=REAL_TIME),
    unseen("K27", poller(0, 0), "no kernel thread is visible", on=REAL_TIME),
    unseen("K27", NIC, "program that polls", on=replace(REAL_TIME, processes=())),
    unseen("K27", NIC | {"/proc/900/task/900/stat": "900 (dut) R x\n"}, on=REAL_TIME),
    good("R01", {UNIT: "inactive\n", "/proc/1/comm": "systemd\n"}),
    bad(
        "R01",
        RUNS,
        "no core banned",
        remedies="now boot by-hand",
        does=("unit irqbalance.service: disabled", "IRQBALANCE_BANNED_CPULIST=2-3"),
        mends=True,
    ),
    # One that no unit started is left to the user.
    bad("R01", daemon(), remedies="by-hand"),
    good("R01", daemon(IRQBALANCE_BANNED_CPULIST="1-3")),
    bad("R01", daemon(IRQBALANCE_BANNED_CPULIST="3"), cores=(2,)),
    # The old mask takes precedence.
    good(
        "R01",
        daemon(IRQBALANCE_BANNED_CPUS="00000000,0000000c", IRQBALANCE_BANNED_CPULIST="0"),
    ),
    # What it was started with counts, not what is configured since.
    good("R01", RUNS | CONFIGURED),
    bad("R01", RUNS | daemon() | CONFIGURED),
    bad("R01", RUNS | {"/etc/sysconfig/irqbalance": "#IRQBALANCE_BANNED_CPULIST=2-3\n"}),
    good(
        "R01",
        daemon()
        | {"/sys/devices/system/cpu/isolated": "2\n", "/sys/devices/system/cpu/nohz_full": "3\n"},
    ),
    *(
        unseen("R01", daemon(IRQBALANCE_BANNED_CPULIST=text))
        for text in ("two", "3-2", "0-99999999999")
    ),
    unseen("R01", daemon(IRQBALANCE_BANNED_CPUS="-1")),
    unseen("R01", {}, on=CONTAINER),
    unseen("R01", {}, "run on the host", on=IN_A_POD),
    unseen("R01", HIDDEN, "run as root"),
    good("R01", HIDDEN | {"/proc/2/comm": "kthreadd\n"}),
    bad("R01", daemon(), on=CONTAINER, remedies="by-hand", does=("on the host",)),
    bad("R01", daemon(), on=NOBODY),
    unseen("R01", daemon(IRQBALANCE_BANNED_CPULIST="2-3"), on=NOBODY),
    good("R28", EVENT, on=traced(one(1), several("00000000,00000003"))),
    bad(
        "R28",
        EVENT,
        "3 or more to 2-3: turbostat by rdmsr_on_cpu (2 times)",
        "python by on_each_cpu_cond_mask (1 times)",
        on=traced(one(2), one(2), one(1), several("00000000,00000006")),
        remedies="by-hand",
        does=("turbostat",),
    ),
    unseen("R28", EVENT, "--trace"),
    unseen("R28", OTHER_EVENT, "6.4", on=traced()),
    good(
        "R28",
        EVENT,
        on=traced(
            TraceEvent(0, "x", 1, "ipi_send_cpu", "cpu=two"),
            TraceEvent(0, "x", 1, "ipi_send_cpumask", "cpumask=,,"),
            TraceEvent(0, "x", 1, "ipi_send_cpumask", "cpumask=-1"),
            TraceEvent(0, "x", 1, "ipi_send_cpumask", ""),
        ),
    ),
)

test_interrupt_sources = each(ROWS)
