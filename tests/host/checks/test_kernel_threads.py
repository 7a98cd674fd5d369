from dataclasses import replace

from check_rows import KVM_HOST, NOBODY, bad, each, good, skipped, unseen
from host_threads import BOUND, KERNEL, thread_files
from host_tree import BARE_METAL, SLEEP
from taut.host.view import NOHZ_FULL

OFF = {"/proc/stat": "cpu 0\n"}
ON = OFF | {"/proc/pressure/cpu": "some avg10=0.00\n"}
KTHREAD_CPUS = {
    "/proc/cmdline": "kthread_cpus=0-1\n",
    "/commands/dmesg": "[0.0] Linux version 6\n[0.1] Unknown kernel command line parameters"
    ' "kthread_cpus=0-1", will be passed to user space.\n',
}
SOFTIRQ = thread_files(20, "ksoftirqd/2", "2", flags=BOUND)
FOLLOWS = thread_files(21, "irq/130-eth0", "3", flags=KERNEL)
ELSEWHERE = thread_files(30, "kswapd0", "0-1", flags=KERNEL)
THERE = thread_files(31, "kcompactd0", "0-3", flags=KERNEL)
PINNED = thread_files(32, "rcuog/2", "2", flags=KERNEL)
NAPI = thread_files(33, "napi/eth0-17", "2", flags=KERNEL)
USER = thread_files(900, "bash", "0-3")
MAKES_NO_SENSE = {
    "/proc/40/stat": "40 (odd) S 1\n",
    "/proc/40/status": "Cpus_allowed_list:\tall\n",
} | thread_files(41, "odder", "5-2", flags=KERNEL)
FIFO = 1
RT = replace(KVM_HOST, machine=replace(BARE_METAL, is_realtime=True))
STATE = "/sys/kernel/mm/damon/admin/kdamonds/0/state"
MODULE = "/sys/module/damon_reclaim/parameters/enabled"


def kernel(tid: int, comm: str, cores: str) -> dict[str, str]:
    return thread_files(tid, comm, cores, flags=KERNEL)


def per_core(rcuc: int, ktimers: int, ksoftirqd: int) -> dict[str, str]:
    files = {}
    priorities = {"rcuc": rcuc, "ktimers": ktimers, "ksoftirqd": ksoftirqd}
    for number, (name, priority) in enumerate(priorities.items()):
        scheduler = (FIFO if priority else 0, priority)
        for core in (0, 2):
            comm, tid = f"{name}/{core}", 20 + 10 * core + number
            files |= thread_files(tid, comm, str(core), flags=BOUND, scheduler=scheduler)
    return files


ROWS = (
    good("K13", kernel(2, "kthreadd", "0-1") | {NOHZ_FULL: "2-3\n"}),
    # No patch of the kernel is proposed.
    bad("K13", kernel(2, "kthreadd", "0-3"), cores=(2, 3), remedies="by-hand"),
    # Where somebody moved kthreadd (R22), its children still start everywhere.
    bad("K13", kernel(2, "kthreadd", "0-1") | {NOHZ_FULL: "(null)\n"}, "nohz_full: none"),
    bad("K13", kernel(2, "kthreadd", "0-1") | {NOHZ_FULL: "3\n"}, cores=(2,)),
    bad("K13", KTHREAD_CPUS | kernel(2, "kthreadd", "0-1"), "ignores"),
    good("K13", {"/proc/cmdline": "kthread_cpus=0-1\n"} | kernel(2, "kthreadd", "0-1")),
    unseen("K13", {}),
    unseen("K13", kernel(2, "kthreadd", "all")),
    good("K26", ON | kernel(77, "psimon", "0-1")),
    bad("K26", ON | kernel(77, "psimon", "0-3"), remedies="boot", does=("psi=0", "extreme")),
    good("K26", OFF, "off"),
    good("K26", ON | ELSEWHERE),
    good("K26", ON | ELSEWHERE | kernel(77, "psimon", "all")),
    # Where no kernel thread is visible, that none is there proves nothing.
    unseen("K26", ON | USER, "hidepid"),
    skipped("K26", {}),
    good(
        "R22",
        SOFTIRQ | FOLLOWS | ELSEWHERE | USER,
        "none of 1 may run on 2-3",
        "2 are bound or follow an interrupt",
    ),
    bad(
        "R22",
        SOFTIRQ | FOLLOWS | ELSEWHERE | THERE | PINNED | USER,
        "2 may run on 2-3: kcompactd0 (31), rcuog/2 (32)",
        does=("affinity of kcompactd0 (31) = 0-1", "affinity of rcuog/2 (32) = 0-1"),
        mends=True,
    ),
    unseen("R22", ELSEWHERE, "--cores", on=NOBODY),
    bad("R22", THERE, on=NOBODY, remedies=""),
    unseen("R22", USER),
    unseen("R22", MAKES_NO_SENSE),
    good("R22", MAKES_NO_SENSE | ELSEWHERE),
    # Threads that receive the packets are the device where one sleeps.
    good(
        "R22",
        NAPI | SOFTIRQ | ELSEWHERE | USER,
        "1 are bound or follow an interrupt",
        "left there, for they receive packets: napi/eth0-17 (33); move one of a card that is not",
        on=SLEEP,
    ),
    bad("R22", NAPI | ELSEWHERE | USER),
    good("R23", per_core(4, 2, 2), on=RT),
    good("R23", per_core(11, 11, 11), on=RT),
    bad(
        "R23",
        per_core(1, 2, 0),
        "2 of 3: rcuc/2 at 1, ksoftirqd/2 at 0",
        on=RT,
        remedies="now boot",
        does=("= fifo 4", "= fifo 2", "rcutree.kthread_prio=11"),
        mends=True,
    ),
    skipped("R23", per_core(1, 1, 1), "not PREEMPT_RT", on=KVM_HOST),
    unseen("R23", {}, on=RT),
    unseen("R23", thread_files(20, "rcuc/two", "2", flags=BOUND) | {"/proc/21/stat": "(("}, on=RT),
    good("R31", kernel(25, "kdamond.0", "0-1")),
    bad(
        "R31",
        kernel(25, "kdamond.0", "0-3") | {STATE: "on\n", MODULE: "Y\n"},
        "kdamond.0 (25) may run on 0-3",
        remedies="now now-2 boot",
        does=("kdamond.0 (25) = 0-1", f"{STATE} = off", f"{MODULE} = N", "extreme"),
        mends=True,
    ),
    # Without a thread it is good whatever the files say.
    good("R31", ELSEWHERE | {MODULE: "Y\n", STATE: "?"}),
    bad("R31", kernel(25, "kdamond.0", "0-3"), on=NOBODY, remedies=""),
    unseen("R31", kernel(25, "kdamond.0", "0-1"), on=NOBODY),
    good("R31", ELSEWHERE | thread_files(25, "kdamond.0", "0-3")),
    unseen("R31", USER, "hidepid"),
)

test_kernel_threads = each(ROWS)
