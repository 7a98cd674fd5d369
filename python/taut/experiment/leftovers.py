"""What killed tauts left: the host's settings, then a run's folder, what no folder names, scratch.

In this order: a state of the host may have raised the number of huge pages that the run's grant
is counted in, and a program that still runs in a cpuset would keep it.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from taut.core.errors import InputError
from taut.core.processes import process_start_time
from taut.host.host import Host
from taut.host.journal import Journal, boot_id
from taut.host.state import holders, take_back
from taut.host.verify import Standing, verify
from taut.host.writer import Writer
from taut.testbed import cleanup
from taut.testbed.core_locks import measuring_on, refuse_others
from taut.testbed.leftovers import find_leftovers, remove_leftovers
from taut.testbed.owner import owner_of, pid_namespace
from taut.testbed.scratch import find_dead, sweep


def holder_of(run_id: str) -> str:
    """Name this process' run in the journal, so that others can tell whether it lives."""
    owner = owner_of(run_id, os.getpid())
    return f"run {run_id}, pid {owner.pid}, started {owner.start_time}, in {owner.pid_namespace}"


def find(base: Path, host: Host) -> list[str]:
    """Name what `clean` would undo and remove, in its order; nothing is changed."""
    changed = [f"settings of the host that {_run_of(one)} changed" for one in _dead(host)]
    folders = [f"folder {folder}" for folder in cleanup.dead_runs(base)]
    return [*changed, *folders, *map(str, find_leftovers()), *find_dead()]


def clean(base: Path, host: Host, failed: Callable[[str], None] | None = None) -> list[str]:
    """Undo every run below `base` whose owner is dead, and all else of dead ones; say what.

    What fails, as a setting of the host that was changed by somebody else since, keeps nothing else
    from it: `failed` is called with why; without it, that is raised at the end.
    """
    parts = (
        lambda: put_host_back(host, failed),
        lambda: cleanup.clean(base, failed),
        remove_leftovers,
        sweep,
    )
    return cleanup.take_all(parts, failed)


def changed_by_others(host: Host) -> list[str]:
    """Warn of settings of the host that other runs have changed: what is found is theirs.

    Of dead ones there are some where only root could have put them back.
    """
    try:
        found = holders(host)
        changes = verify(host).changes
    except (InputError, OSError):
        return []  # a journal of another machine, or not ours to read
    made = (one.entry for one in changes if one.standing is not Standing.NOT_MADE)
    kept = {entry.holder for entry in made if entry.boot == boot_id(host)}
    said = []
    for holder in found:
        words = f"{_run_of(holder)} has changed settings of this host: it is measured with them, "
        if _is_alive(host, holder):
            said.append(f"{words}not as found, and they may go at any moment")
        elif holder in kept:
            said.append(
                f"{words}not as found; it is dead: `sudo taut doctor --clean` puts it back, or "
                "says why not"
            )
    return said


@contextmanager
def free_to_change(
    host: Host,
    *,
    wait: bool = False,
    waiting: Callable[[str], None] = lambda _: None,
    otherwise: str = "",
    is_forced: bool = False,
) -> Iterator[None]:
    """Keep measurements off a host while it is changed by hand. InputError: one is under way.

    `wait`: wait for its end instead, and call `waiting` once with the words for whom. `otherwise`
    ends the advice: ", or --force". `is_forced`: also where a run that is alive has changed it.
    """
    cores = host.online_cores()
    if not wait:
        refuse_others(cores, f"wait for its end (--wait){otherwise}")
    with measuring_on(cores, wait=wait, waiting=waiting):
        if not is_forced:
            _refuse_held(host)
        yield


def put_host_back(host: Host, failed: Callable[[str], None] | None = None) -> list[str]:
    """Undo what dead runs changed of the host's settings; say what.

    TautError: a setting was changed by somebody else since, and there is no `failed` to be told.
    """
    return cleanup.take_all([partial(_put_back, host, holder) for holder in _dead(host)], failed)


def _put_back(host: Host, holder: str) -> list[str]:
    done = cleanup.kill_processes(_run_of(holder).removeprefix("run "))
    report = take_back(host, Writer(host), holder)
    if report.restored:
        done.append(f"{len(report.restored)} settings of the host, put back")
    return done


def _refuse_held(host: Host) -> None:
    """InputError: a run that is alive has changed settings of the host."""
    for holder in (one for one in holders(host) if _is_alive(host, one)):
        run, *rest = holder.split(", ")
        who = f"{run} ({rest[0]})" if rest else run
        raise InputError(
            f"{who} has changed settings of this host, and puts them back at its end; wait for "
            "that, or `taut host undo --force`"
        )


def _dead(host: Host) -> list[str]:
    """Give the holders in the journal that are dead, as far as this user can put back theirs."""
    if os.geteuid() != 0:
        return []  # only a run as root changes the host, and only root can undo that
    try:
        return [holder for holder in holders(host) if not _is_alive(host, holder)]
    except InputError:
        return []  # a journal of another machine tells of no run of this one


def _run_of(holder: str) -> str:
    return holder.partition(",")[0]


def _is_alive(host: Host, holder: str) -> bool:
    """Whether the run that holds settings is alive; also True where that cannot be told."""
    here = boot_id(host)
    if not any(e.boot == here for e in Journal(host).load().entries if e.holder == holder):
        return False  # A boot ends all, in whatever container it ran.
    try:
        _, process, started, namespace = (part.rpartition(" ")[2] for part in holder.split(", "))
        if namespace != pid_namespace():
            return True
        return process_start_time(int(process)) == int(started)
    except ValueError:
        return True
