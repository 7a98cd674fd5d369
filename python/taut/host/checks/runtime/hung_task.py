"""R21: how often the kernel looks for tasks that hang."""

from taut.host.boot.item import Sysctl
from taut.host.check import Severity
from taut.host.shapes import EVERYWHERE, FileCheck


def _is_good(text: str) -> bool:
    return int(text) == 0 or int(text) >= 600


CHECK = FileCheck(
    id="R21",
    title="search for hung tasks",
    fault="Hung tasks are searched for too often",
    severity=Severity.NOTE,
    why="khungtaskd wakes up at this interval and walks through all tasks: microseconds to some "
    "hundred, on a housekeeping core unless it was left on a poll core",
    source="sysctl/kernel.rst; tuned network-latency; OpenShift node tuning operator (600)",
    path="/proc/sys/kernel/hung_task_timeout_secs",
    is_good=_is_good,
    wanted="600 s or more, or 0 (off)",
    value="600",
    roles=EVERYWHERE,
    boot=(Sysctl("kernel.hung_task_timeout_secs", "600"),),
    cost="a task that hangs is reported after ten minutes",
)
