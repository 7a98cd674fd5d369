from dataclasses import replace

from check_rows import CONTAINER, NOBODY, bad, each, good, odd, skipped, unseen
from host_tree import BARE_METAL, POLL, SLEEP, Link

DEFAULT = "/proc/sys/net/core/rps_default_mask"
QUEUE = "/sys/class/net/eth0/queues/rx-0/rps_cpus"
BRIDGE = "/sys/class/net/br0/queues/rx-0/rps_cpus"
XPS = "/sys/class/net/eth0/queues/tx-0/xps_cpus"
FLOWS = "/proc/sys/net/core/rps_sock_flow_entries"
READ, BUSY = "/proc/sys/net/core/busy_read", "/proc/sys/net/core/busy_poll"
BACKLOG = "/proc/sys/net/core/netdev_max_backlog"
OFF = {READ: "0\n", BUSY: "0\n"}
ON = {READ: "50\n", BUSY: "50\n"}
PROGRAM = replace(POLL, processes=(500,))
REAL_TIME = replace(PROGRAM, machine=replace(BARE_METAL, is_realtime=True))


def socket(inode: int = 4242) -> dict[str, str]:
    """A process with an open socket, of the network if the inode is 4242."""
    return {
        "/proc/500/fd/3": Link(f"socket:[{inode}]"),
        "/proc/500/fd/4": Link("/dev/null"),
        "/proc/500/net/udp": "  sl  local_address\n 1: 00000000:0044 07 0 0 0 4242 2 0\n",
    }


ROWS = (
    good("R04", {DEFAULT: "0\n", QUEUE: "00000000,00000000\n"}, "2 RPS masks"),
    bad(
        "R04",
        {DEFAULT: "0\n", QUEUE: "f\n", BRIDGE: "00000000,00000006\n"},
        f"{QUEUE} = cores 0-3",
        cores=(2, 3),
        remedies="now boot",
        does=(f"{QUEUE} = 3", f"{BRIDGE} = 2"),
        mends=True,
    ),
    # The mask of queues to come is set at boot too.
    bad(
        "R04",
        {DEFAULT: "c\n"},
        remedies="now boot",
        does=("sysctl net.core.rps_default_mask = 0",),
        mends=True,
    ),
    good("R04", {DEFAULT: "0\n", XPS: "c\n"}),
    good("R04", {DEFAULT: "0\n", FLOWS: "32768\n"}, "RFS"),
    skipped("R04", {}),
    *odd("R04", QUEUE, "all\n", "\x80\n", "0x3\n", "-1\n", ""),
    good("R04", {QUEUE: "0\n"}, on=NOBODY),
    unseen("R04", {QUEUE: "c\n"}, on=NOBODY),
    bad("R04", {QUEUE: "f\n"}, on=NOBODY, remedies=""),
    bad("R04", {QUEUE: "f\n"}, on=CONTAINER, remedies="by-hand"),
    skipped("R04", {QUEUE: "f\n"}, "a device that sleeps", on=SLEEP),
    good("R26", socket() | ON, on=PROGRAM),
    bad(
        "R26",
        socket() | OFF,
        on=PROGRAM,
        remedies="now boot",
        does=("taut host effect", "sysctl net.core.busy_read = 50"),
        mends=True,
    ),
    skipped("R26", socket(inode=7) | OFF, on=PROGRAM),
    skipped("R26", OFF),
    skipped("R26", socket() | OFF, on=REAL_TIME),
    skipped("R26", socket(), on=PROGRAM),
    unseen("R26", socket() | {READ: "?\n", BUSY: "0\n"}, on=PROGRAM),
    good("R33", {BACKLOG: "32768\n"}, "32768", on=SLEEP),
    bad(
        "R33",
        {BACKLOG: "1000\n"},
        "netdev_max_backlog 1000",
        on=SLEEP,
        remedies="now boot",
        does=(f"{BACKLOG} = 32768", "sysctl net.core.netdev_max_backlog = 32768"),
        mends=True,
    ),
    skipped("R33", {BACKLOG: "1000\n"}, "past the kernel's queues"),
    *odd("R33", BACKLOG, "many\n", "", on=SLEEP),
)

test_steering = each(ROWS)
