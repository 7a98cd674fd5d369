from check_rows import CONTAINER, NOBODY, bad, each, good, odd, skipped, unseen

BANKS = "/sys/devices/system/machinecheck/machinecheck0"
INTERVAL, IGNORE = f"{BANKS}/check_interval", f"{BANKS}/ignore_ce"
CMDLINE = "/proc/cmdline"
STATUS, RULES = "/commands/auditctl -s", "/commands/auditctl -l"
NO_AUDIT = {
    "/proc/sys/kernel/osrelease": "6.12\n",
    "/boot/config-6.12": "# CONFIG_AUDIT is not set\n",
}
KERNEL = "/proc/sys/kernel"
LEVELS = f"{KERNEL}/printk"
ACTIVE = "/sys/class/tty/console/active"
LOUD = {LEVELS: "7\t4\t1\t7\n", ACTIVE: "tty0 ttyS0\n"}
HUNG = f"{KERNEL}/hung_task_timeout_secs"


def banks(ignore: int, interval: object, line: str = "quiet") -> dict[str, str]:
    return {IGNORE: f"{ignore}\n", INTERVAL: f"{interval}\n", CMDLINE: f"{line}\n"}


def watchdogs(cores: str, nmi: int = 1, soft: int = 1) -> dict[str, str]:
    return {
        f"{KERNEL}/watchdog": f"{nmi | soft}\n",
        f"{KERNEL}/nmi_watchdog": f"{nmi}\n",
        f"{KERNEL}/soft_watchdog": f"{soft}\n",
        f"{KERNEL}/watchdog_cpumask": f"{cores}\n",
    }


ROWS = (
    *(good("K18", banks(ignore, interval)) for ignore, interval in ((1, 300), (0, 0), (1, 0))),
    bad(
        "K18",
        banks(0, 300),
        remedies="now boot",
        does=("mce=ignore_ce", "extreme"),
        mends=True,
    ),
    # Nothing ever proposes to turn machine checks off.
    bad(
        "K18",
        banks(0, 0, "mce=off"),
        "Uncorrected errors go unnoticed",
        remedies="by-hand",
        does=("remove mce=off",),
    ),
    skipped("K18", {}),
    unseen("K18", banks(0, "often")),
    good("K19", {STATUS: "enabled 0\nfailure 1\n"}),
    good("K19", {STATUS: "enabled 1\n", RULES: "No rules\n"}),
    bad(
        "K19",
        {STATUS: "enabled 2\n", RULES: "-a always,exit -S execve\n-w /etc/passwd -p wa\n"},
        "2 rules",
        "locked",
        remedies="by-hand boot",
        does=("auditctl -e 0", "audit=0", "extreme", "compliance"),
    ),
    good("K19", {CMDLINE: "audit=0\n"}),
    skipped("K19", NO_AUDIT),
    unseen("K19", {CMDLINE: "quiet\n"}, "auditctl"),
    unseen("K19", {STATUS: "enabled maybe\n"}),
    unseen("K19", {STATUS: "enabled 1\n"}),
    good("K20", watchdogs("0-1")),
    good("K20", watchdogs("0-3", nmi=0, soft=0)),
    bad("K20", watchdogs("0-3", nmi=0), "soft_watchdog=1"),
    bad(
        "K20",
        watchdogs("0-3"),
        remedies="now boot boot-2",
        does=("watchdog_cpumask = 0-1", "extreme", "nmi_watchdog=0", "nosoftlockup"),
        mends=True,
    ),
    bad("K20", watchdogs("0-3"), on=NOBODY),
    unseen("K20", watchdogs("0-1"), on=NOBODY),
    skipped("K20", {}),
    unseen("K20", watchdogs("all")),
    good("K25", LOUD | {LEVELS: "3\t4\t1\t7\n"}),
    good("K25", LOUD | {ACTIVE: "tty0\n"}),
    bad(
        "K25",
        LOUD,
        remedies="now boot",
        does=("= 3\t4\t1\t7", "kernel parameter quiet", "loglevel=3"),
        mends=True,
    ),
    # Where active consoles are hidden the command line tells.
    bad("K25", {LEVELS: "7\t4\t1\t7\n", CMDLINE: "console=ttyS0,115200n8\n"}),
    skipped("K25", {}),
    *odd("K25", LEVELS, "loud\n", files=LOUD),
    good("R20", {INTERVAL: "0\n", IGNORE: "0\n"}),
    good("R20", {INTERVAL: "300\n", IGNORE: "1\n"}),
    bad(
        "R20",
        {INTERVAL: "300\n", IGNORE: "0\n"},
        "300 s",
        remedies="now boot",
        does=("extreme",),
        mends=True,
    ),
    skipped("R20", {}),
    *odd("R20", INTERVAL, "now and then\n"),
    good("R21", {HUNG: "600\n"}),
    good("R21", {HUNG: "0\n"}),
    bad("R21", {HUNG: "120\n"}, remedies="now boot", mends=True),
    bad("R21", {HUNG: "120\n"}, on=CONTAINER, remedies="by-hand"),
    skipped("R21", {}),
    *odd("R21", HUNG, "soon\n"),
)

test_watchdogs = each(ROWS)
