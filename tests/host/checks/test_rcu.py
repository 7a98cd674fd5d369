from check_rows import NOBODY, bad, each, good, odd, skipped, unseen
from host_threads import KERNEL, thread_files

CPU = "/sys/devices/system/cpu"
NORMAL, EXPEDITED = "/sys/kernel/rcu_normal", "/sys/kernel/rcu_expedited"
PATIENCE = "/sys/module/rcutree/parameters/nohz_full_patience_delay"
AWAY = thread_files(20, "rcuog/2", "0-1", flags=KERNEL)
ASTRAY = thread_files(20, "rcuog/2", "0-3", flags=KERNEL)
TICKLESS = {f"{CPU}/nohz_full": "2-3\n"}
WITHOUT = {
    "/proc/sys/kernel/osrelease": "6.12\n",
    "/boot/config-6.12": "# CONFIG_RCU_NOCB_CPU is not set\n",
}
SAID = "[0.0] Linux version 6\n[0.2] rcu: \tOffload RCU callbacks from CPUs: 3.\n"


def booted(line: str) -> dict[str, str]:
    return {f"{CPU}/possible": "0-3\n", "/proc/cmdline": f"{line}\n"}


ROWS = (
    good("K08", booted("rcu_nocbs=2-3") | AWAY),
    good("K08", booted("nohz_full=2-3") | TICKLESS | AWAY),
    bad("K08", booted("quiet"), remedies="boot", does=("rcu_nocbs=2-3",)),
    # What the kernel said at boot outweighs the command line.
    bad("K08", booted("rcu_nocbs=2-3") | AWAY | {"/commands/dmesg": SAID}, cores=(2,)),
    # A parameter without the threads is inert.
    bad("K08", booted("rcu_nocbs=2-3")),
    bad("K08", booted("rcu_nocbs=2-3") | WITHOUT | AWAY),
    bad("K08", booted("rcu_nocbs=2-3") | ASTRAY, "rcuog/2", remedies="now boot", mends=True),
    bad("K08", booted("rcu_nocbs=two") | AWAY),
    unseen("K08", {}, "no command line"),
    unseen("K08", booted("rcu_nocbs=2-3") | AWAY, "--cores", on=NOBODY),
    good("K09", {"/proc/cmdline": "quiet\n"}),
    good("K09", {"/proc/cmdline": "rcu_nocb_poll\n"} | AWAY),
    bad(
        "K09",
        {"/proc/cmdline": "rcu_nocbs_poll\n"} | AWAY,
        "spelling",
        remedies="boot",
        does=("kernel parameter rcu_nocb_poll", "extreme"),
    ),
    bad("K09", {"/proc/cmdline": "rcu_nocb_poll\n"}, "without an offloaded core"),
    unseen("K09", {}),
    good("K10", TICKLESS | {PATIENCE: "1000\n"}),
    bad("K10", TICKLESS | {PATIENCE: "0\n"}, remedies="boot", does=("patience_delay=1000",)),
    skipped("K10", {PATIENCE: "0\n"}, "no nohz_full"),
    skipped("K10", TICKLESS),
    *odd("K10", PATIENCE, "long\n", files=TICKLESS),
    good("K11", {NORMAL: "1\n", EXPEDITED: "0\n"}),
    *(
        bad(
            "K11",
            {NORMAL: f"{normal}\n", EXPEDITED: f"{hurried}\n"},
            remedies="now boot",
            does=("Red Hat",),
            mends=True,
        )
        for normal, hurried in ((0, 0), (1, 1), (0, 1))
    ),
    skipped("K11", {}),
    *odd("K11", NORMAL, "maybe\n", files={EXPEDITED: "0\n"}),
)

test_rcu = each(ROWS)
