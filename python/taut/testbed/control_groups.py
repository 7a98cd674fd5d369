"""Control groups of a run: a container has one in each hierarchy, named after the run."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_MOUNTS = Path("/proc/mounts")
_ROOT = "/sys/fs/cgroup"
_EMPTY_IN_S = 2.0
"""A killed process is a member until the kernel has let go of it."""


def group_name(run_id: str, name: str) -> str:
    """Name one of a run's."""
    return f"taut-{run_id}-{name}"


def find_groups(pattern: str, mounts: Path = _MOUNTS) -> list[Path]:
    """Give the control groups of such a name, in all hierarchies."""
    return [path for root in _hierarchies(mounts) for path in sorted(root.glob(pattern))]


def remove_groups(pattern: str, mounts: Path = _MOUNTS) -> list[str]:
    """End what is in those of such a name and remove them; say what was removed.

    What a runtime started last, before the program, has neither a death signal nor the run's mark:
    nothing but its group tells whose it is.
    """
    found = find_groups(pattern, mounts)
    deadline = time.monotonic() + _EMPTY_IN_S
    left = found
    while left:
        for path in left:
            _kill_members(path)
            # The kernel removes such a folder with all that is in it, but not while it has members.
            with suppress(OSError):
                path.rmdir()
        left = [path for path in left if path.exists()]
        if left and time.monotonic() > deadline:
            break
        time.sleep(0.02)
    return [f"control group {path}" for path in found if path not in left]


@contextmanager
def controllers_kept(root: Path = Path(_ROOT)) -> Iterator[None]:
    """Take back what a runtime has the root of a unified hierarchy hand out meanwhile.

    It hands out every controller that there is: by `cpu`, for one, the kernel then shares cores
    among the slices of the host, and what runs bare runs among others. While another container of
    taut's lasts they stay, and so does one that a group of somebody else hands on: the kernel
    refuses to take it. For a moment only, as for a question: a limit that somebody sets in a group
    below the root meanwhile goes with its controller.

    `cpuset` stays always. It shares nothing by itself, and before Linux 6.2 to take it back would
    let every thread of the host below the root forget what it was bound to (8f9ea86fdf99).
    """
    control = root / "cgroup.subtree_control"
    before = _words_of(control)
    try:
        yield
    finally:
        if not any(root.glob("taut-*")):
            for name in sorted(_words_of(control) - before - {"cpuset"}):
                with suppress(OSError):
                    control.write_text(f"-{name}")


def _words_of(file: Path) -> set[str]:
    """Give the words of a file; none where there is none, as in version 1."""
    with suppress(OSError):
        return set(file.read_text().split())
    return set()


def _kill_members(group: Path) -> None:
    with suppress(OSError):
        for process in (group / "cgroup.procs").read_text().split():
            # 0 is one of another PID namespace, and would be this process's own group.
            if int(process) > 0:
                with suppress(OSError):
                    os.kill(int(process), signal.SIGKILL)


def is_unified(mounts: Path = _MOUNTS) -> bool:
    """Whether the hierarchy that runtimes use is of version 2; False also of a hybrid."""
    return ("cgroup2", _ROOT) in _mounted(mounts)


def _hierarchies(mounts: Path) -> Iterator[Path]:
    return (Path(folder) for kind, folder in _mounted(mounts) if kind in ("cgroup", "cgroup2"))


def _mounted(mounts: Path) -> Iterator[tuple[str, str]]:
    """Give the kind of each file system, and where it is mounted."""
    with suppress(OSError):
        for line in mounts.read_text().splitlines():
            _, folder, kind, _ = line.split()[:4]
            yield kind, folder
