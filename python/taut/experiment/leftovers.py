"""What killed tauts left: the host's settings, then a run's folder, what no folder names, scratch.

In this order: a state of the host may have raised the number of huge pages that the run's grant
is counted in, and a program that still runs in a cpuset would keep it.
"""

import os
from pathlib import Path

from taut.host.host import Host
from taut.host.state import holders, take_back
from taut.host.writer import Writer
from taut.testbed import cleanup
from taut.testbed.leftovers import remove_leftovers
from taut.testbed.owner import owner_of, pid_namespace, process_start_time
from taut.testbed.scratch import sweep


def holder_of(run_id: str) -> str:
    """Name this process' run in the journal, so that others can tell whether it lives."""
    owner = owner_of(run_id, os.getpid())
    return f"run {run_id}, pid {owner.pid}, started {owner.start_time}, in {owner.pid_namespace}"


def clean(base: Path, host: Host) -> list[str]:
    """Undo every run below `base` whose owner is dead, and all else of dead ones; say what.

    TautError: a setting of the host was changed by somebody else since.
    """
    return [*_put_host_back(host), *cleanup.clean(base), *remove_leftovers(), *sweep()]


def _put_host_back(host: Host) -> list[str]:
    if os.geteuid() != 0:
        return []  # only a run as root changes the host, and only root can undo that
    done = []
    for holder in holders(host):
        if not _is_alive(holder):
            done += cleanup.kill_processes(holder.removeprefix("run ").partition(",")[0])
            report = take_back(host, Writer(host), holder)
            if report.restored:
                done.append(f"{len(report.restored)} settings of the host, put back")
    return done


def _is_alive(holder: str) -> bool:
    """Whether the run that holds settings is alive; also True where that cannot be told."""
    try:
        _, process, started, namespace = (part.rpartition(" ")[2] for part in holder.split(", "))
        if namespace != pid_namespace():
            return True
        return process_start_time(int(process)) == int(started)
    except ValueError:
        return True
