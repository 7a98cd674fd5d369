from dataclasses import dataclass, replace
from pathlib import Path

from check_rows import BY_ID, CONTAINER, bad, each, good, unseen
from host_threads import PID_NAMESPACE, stat_line
from host_tree import POLL, Link, TreeWriter, put, remedied, tree
from taut.host.host import Host
from taut.host.situation import Situation, Watched

FOLDER = "/sys/kernel/tracing"
QUIET = {
    f"{FOLDER}/events/sched/sched_switch/enable": "0\n",
    f"{FOLDER}/current_tracer": "nop\n",
    f"{FOLDER}/set_event": "",
    f"{FOLDER}/kprobe_events": "",
    "/proc/filesystems": "nodev\ttracefs\n",
}
INSTANCE = f"{FOLDER}/instances/mine"
LEFT = QUIET | {
    f"{FOLDER}/current_tracer": "function\n",
    f"{INSTANCE}/set_event": "sched:sched_switch\n",
    f"{INSTANCE}/current_tracer": "nop\n",
    f"{INSTANCE}/events/sched/sched_switch/enable": "1\n",
}
HELD = QUIET | {
    "/proc/42/comm": "perf\n",
    "/proc/42/fd/7": Link("anon_inode:[perf_event]"),
    f"{FOLDER}/kprobe_events": "p:kprobes/my_probe do_sys_open\n",
    "/commands/bpftool prog show": "3: cgroup_device  tag 3918c82a5f4c0360\n"
    "12: kprobe  name do_open  tag 8c\n\tloaded_at x\n",
}
OWNERS = ("perf (42)", "kprobe do_open", "kprobes/my_probe")
OURS = QUIET | {
    "/proc/7/comm": "taut-trace\n",
    "/proc/12/stat": stat_line(12, "taut"),
    PID_NAMESPACE: Link("pid:[40]"),
}
"""A trace and an audit are under way."""
ONLINE = "/sys/devices/system/cpu/online"
CPUSET = "/sys/fs/cgroup/system.slice/cpuset.cpus"
MODULES = "/proc/modules"
FILES = {
    ONLINE: "0-3",
    MODULES: "veth 40960 0 - Live 0x0\nnf 1 2 veth, Live 0x0",
    CPUSET: "0-1",
    "/proc/interrupts": "1",
}
NO_SENSE = {ONLINE: "\0", MODULES: "\n\n \n"}


def recording(*instances: str) -> dict[str, str]:
    return {f"{FOLDER}/instances/{name}/set_event": "sched:sched_switch\n" for name in instances}


def watched(after: dict[str, str], before: dict[str, str] = FILES) -> Situation:
    return replace(POLL, watched=Watched(5.0, before, after))


ROWS = (
    good("R27", QUIET, "no bpftool"),
    bad(
        "R27",
        LEFT,
        "tracer function",
        "events sched:sched_switch (instance mine)",
        remedies="now",
    ),
    good("R27", OURS | recording("taut-7", "taut-7-all", "taut-audit-12-120-all")),
    good("R27", OURS | recording("taut-7-40", "taut-7-40-all", "taut-audit-12-120-40-all")),
    # Of another PID namespace nobody can tell whether they are dead.
    good("R27", OURS | recording("taut-8-41-all", "taut-audit-12-119-41")),
    # What dead ones left, though their numbers are in use, and what is not of taut.
    *(
        bad("R27", OURS | recording(name), f"(instance {name})", remedies="now")
        for name in (
            *("taut-8", "taut-12", "taut-audit-12-119-all", "taut-audit-8-80", "taut-mine"),
            *("taut-8-40-all", "taut-audit-12-119-40"),
        )
    ),
    bad("R27", HELD, *OWNERS, remedies="by-hand", does=OWNERS),
    unseen("R27", {"/proc/filesystems": "nodev\ttracefs\n\text4\n"}, "root"),
    unseen("R27", {}, "on the host", on=CONTAINER),
    good("R27", {"/proc/filesystems": "\text4\n"}),
    # Content that makes no sense does not stop it.
    good(
        "R27",
        QUIET | {f"{FOLDER}/kprobe_events": "\0\n", "/commands/bpftool prog show": "name\n: : :\n"},
    ),
    # Use counts and what other checks watch may change.
    good(
        "R30",
        {},
        "5 s",
        on=watched(
            FILES
            | {MODULES: "veth 40960 7 - Live 0x0\nnf 1 2 veth, Live 0x0", "/proc/interrupts": "2"}
        ),
    ),
    bad(
        "R30",
        {},
        "msr loaded",
        "nf unloaded",
        "from 0-3 to 0-2",
        "from 0-1 to nothing",
        on=watched({ONLINE: "0-2", MODULES: "veth 1 0\nmsr 1 0", "/proc/interrupts": "1"}),
        remedies="by-hand",
    ),
    bad(
        "R30",
        {},
        "livepatch/fix",
        on=watched(FILES | {"/sys/kernel/livepatch/fix/enabled": "1"}),
    ),
    unseen("R30", {}, "--watch"),
    good("R30", {}, on=watched(NO_SENSE, NO_SENSE)),
)

test_changes = each(ROWS)


@dataclass(frozen=True)
class EventWriter(TreeWriter):
    """An event that is switched on or off shows in set_event."""

    def write_file(self, path: str, text: str) -> None:
        super().write_file(path, text)
        if path.endswith("/enable"):
            buffer, _, event = path.removesuffix("/enable").partition("/events/")
            shown = f"{event.replace('/', ':')}\n" if text.strip() == "1" else ""
            put(self.host.root, f"{buffer}/set_event", shown)


def test_a_tracer_and_an_event_of_an_instance_are_switched_off(tmp_path: Path) -> None:
    tree(tmp_path, LEFT)

    with remedied(BY_ID["R27"], tmp_path, writer=EventWriter(Host(tmp_path))):
        pass
