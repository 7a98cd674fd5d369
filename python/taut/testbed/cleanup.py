"""Remove what runs left: what a killed `taut` made is found by the run's id and undone.

The order matters: processes first (they hold the rest), the run's folder last (it says what there
is to undo: after a cleanup that was killed halfway, or gave up, the next one does the rest).
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from taut.core.errors import TautError
from taut.core.held import held_alone
from taut.core.processes import process_start_time
from taut.testbed import hugepages, netlink
from taut.testbed.carriers import KILL_S, carriers, kill_carriers
from taut.testbed.control_groups import find_groups, remove_groups
from taut.testbed.owner import (
    OWNER_FILE,
    HugepageGrant,
    Owner,
    read_owner,
    temporary_mark,
)
from taut.testbed.run_folder import check_private

NEW_PREFIX = ".new-"
LINK_PREFIX = "tt"
_RUN_VARIABLE = "TAUT_RUN"
_GAVE_UP = "gave-up"
"""In the folder of a run of which something did not go."""
_AGAIN_S = 1.0


def clean(base: Path, failed: Callable[[str], None] | None = None) -> list[str]:
    """Undo every run below `base` whose owner is dead; say what was removed.

    InputError where others may write to `base`: what is deleted must not be their choice. `failed`:
    as for `take_all`.
    """
    if not dead_runs(base):
        return []
    # Two that clean up at once would remove the same things: the second waits, and looks again.
    with held_alone(base, KILL_S):
        return take_all([partial(remove_run, folder, failed) for folder in dead_runs(base)], failed)


def take_all(
    steps: Iterable[Callable[[], list[str]]], failed: Callable[[str], None] | None = None
) -> list[str]:
    """Take every step, whatever becomes of the others, and give what they say.

    `failed` is called with why one failed; without it, that is raised at the end.
    """
    done: list[str] = []
    errors: list[TautError | OSError] = []
    for step in steps:
        try:
            done += step()
        except (TautError, OSError) as error:
            errors.append(error)
    if failed is not None:
        for reason in map(str, errors):
            failed(reason)
    elif errors:
        raise errors[0] if len(errors) == 1 else TautError("; ".join(map(str, errors)))
    return done


def dead_runs(base: Path) -> list[Path]:
    """Folders of the runs below `base` whose owner is dead; InputError as for `clean`."""
    return [folder for folder in _folders(base) if not is_alive(folder)]


def live_runs(base: Path) -> list[Owner]:
    """Owners of the runs that are alive now; InputError as for `clean`."""
    owners = [read_owner(folder) for folder in _folders(base)]
    return [owner for owner in owners if owner is not None and owner.is_alive()]


def _folders(base: Path) -> list[Path]:
    if not os.path.lexists(base):
        return []
    check_private(base)
    return sorted(path for path in base.iterdir() if path.is_dir() and not path.is_symlink())


def is_alive(folder: Path) -> bool:
    """Whether the owner of a run's folder is alive; also True where that cannot be told."""
    if folder.name.startswith(NEW_PREFIX):
        pid, start_time = folder.name.split("-")[-2:]
        return process_start_time(int(pid)) == int(start_time)
    owner = read_owner(folder)
    if owner is None:
        # Without owner.json the folder is what a killed cleanup left.
        return (folder / OWNER_FILE).exists()
    return owner.is_alive()


def remove_run(folder: Path, kept: Callable[[str], None] | None = None) -> list[str]:
    """Undo one run, whoever owns it; a thing that is already gone is no error.

    What does not go keeps the folder, for the next cleanup to try again, which waits for it no
    longer than a moment. `kept` is called with what stays, and why; without it, that is told with
    what was removed.
    """
    owner = read_owner(folder)
    removed: list[str] = []
    tell = kept or removed.append
    gave_up = folder / _GAVE_UP
    if owner is not None:
        removed += kill_processes(owner.run_id, _AGAIN_S if gave_up.exists() else KILL_S)
        removed += remove_groups(f"taut-{owner.run_id}-*")
        removed += _remove_network(owner.run_id)
        removed += _remove_dpdk_files(owner.run_id)
        removed += _remove_temporary(owner)
        removed += _give_back_hugepages(folder, owner, tell)
    left = [] if owner is None else _left_of(owner.run_id)
    if left and folder.exists():
        gave_up.touch()
        tell(f"run {folder.name}: still there, and tried again: {', '.join(left)}")
    elif folder.exists():
        shutil.rmtree(folder, ignore_errors=True)
        removed += [] if folder.exists() else [f"folder {folder}"]
    return removed


def _left_of(run_id: str) -> list[str]:
    """Name what is still there and nothing but the run's id leads to."""
    of_run = f"taut-{run_id}-"
    return [
        *(f"namespace {name}" for name in netlink.namespaces() if name.startswith(of_run)),
        *(f"control group {path}" for path in find_groups(f"{of_run}*")),
        *(f"process {pid}" for pid in run_processes(run_id)),
    ]


def run_processes(run_id: str) -> list[int]:
    """Processes whose environment says TAUT_RUN=run_id; never this one."""
    return carriers(_RUN_VARIABLE, run_id)


def kill_processes(run_id: str, within_s: float = KILL_S) -> list[str]:
    """Kill what carries a run's id, as `kill_carriers` does; say what was killed."""
    return kill_carriers(_RUN_VARIABLE, run_id, within_s)


def _remove_network(run_id: str) -> list[str]:
    removed = []
    for name in netlink.namespaces():
        if name.startswith(f"taut-{run_id}-"):
            netlink.remove_namespace(name)
            removed.append(f"namespace {name}")
    for name in netlink.links():
        if name.startswith(f"{LINK_PREFIX}{run_id}"):
            netlink.remove_link(name)
            removed.append(f"link {name}")
    return removed


def _remove_dpdk_files(run_id: str) -> list[str]:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    places = [Path("/run/dpdk"), Path("/tmp/dpdk"), Path("/dev/hugepages"), Path("/dev/shm")]  # noqa: S108
    if runtime:
        places.append(Path(runtime) / "dpdk")
    removed = []
    for place in places:
        for path in sorted(place.glob(f"taut-{run_id}-*")):
            _remove(path)
            removed.append(str(path))
    return removed


def _remove_temporary(owner: Owner) -> list[str]:
    return [
        f"temporary folder {name}"
        for name in owner.temporary
        if _remove_marked(Path(name), owner.run_id)
    ]


def _remove_marked(path: Path, run_id: str) -> bool:
    """Remove a folder that has the run's mark; without one it goes only if it is empty.

    A run that died right after it made the folder left it empty. Any other folder without a mark
    is not taut's, whatever owner.json says.
    """
    if path.is_symlink() or not path.is_dir():
        return False
    if temporary_mark(path, run_id).is_file():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.rmdir()
    return not path.exists()


def _give_back_hugepages(folder: Path, owner: Owner, kept: Callable[[str], None]) -> list[str]:
    if not owner.hugepages or not owner.booted_here() or not hugepages.may_change():
        return []
    removed = []
    with hugepages.locked():
        settle_hugepages(folder.parent)
        # Read again under the lock: another cleanup may have given them back already.
        current = read_owner(folder)
        while current is not None and current.hugepages:
            *rest, grant = current.hugepages
            plan = hugepages.plan_return(grant, [*rest, *_held_by_others(folder)])
            current = replace(current, hugepages=(*rest, plan)).write(folder)
            hugepages.give_back(plan)
            current = replace(current, hugepages=tuple(rest)).write(folder)
            if plan.asked > 0:
                removed.append(f"{plan.asked} hugepages")
            elif grant.added:
                kept(
                    f"run {folder.name}: none of {grant.added} hugepages given back: somebody else "
                    f"has changed their number, now {plan.before}"
                )
    return removed


def settle_hugepages(base: Path) -> list[HugepageGrant]:
    """Settle the grants of all who died amid a change, and give all that there are.

    Under the lock, before the next change.
    """
    grants: list[HugepageGrant] = []
    for folder, owner in _grantees(base):
        settled = tuple(hugepages.settle(grant) for grant in owner.hugepages)
        if settled != owner.hugepages:
            replace(owner, hugepages=settled).write(folder)
        grants += settled
    return grants


def _held_by_others(folder: Path) -> list[HugepageGrant]:
    grantees = _grantees(folder.parent)
    return [grant for other, owner in grantees if other != folder for grant in owner.hugepages]


def _grantees(base: Path) -> Iterator[tuple[Path, Owner]]:
    for folder in base.iterdir():
        owner = read_owner(folder)
        if owner is not None and owner.hugepages and owner.booted_here():
            yield folder, owner


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
