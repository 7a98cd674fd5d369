"""A program that polls on cores 2 and 3, for trees."""

from collections.abc import Mapping
from dataclasses import replace

from host_threads import stat_line, thread_files
from host_tree import POLL
from taut.host.situation import Role, Situation, TraceEvent, Watched

MAIN, SECOND = 500, 501
PROGRAM = (
    thread_files(MAIN, "rte-worker-2", "2")
    | thread_files(SECOND, "rte-worker-3", "3", pid=MAIN)
    | thread_files(502, "eal-intr-thread", "0-1", pid=MAIN)
)
SITUATION = replace(POLL, processes=(MAIN,))


def of_thread(tid: int, name: str) -> str:
    """Name a file of one of its threads."""
    return f"/proc/{MAIN}/task/{tid}/{name}"


def watched(before: Mapping[str, str], after: Mapping[str, str]) -> Situation:
    """Give the situation after five seconds."""
    return replace(SITUATION, watched=Watched(5.0, before, after))


def traced(*events: TraceEvent, role: Role = Role.POLL_CORE) -> Situation:
    """Give the situation with events."""
    return replace(SITUATION, events=events, role=role)


def faults(minor: int, major: int) -> dict[str, str]:
    """Give the stat of both workers."""
    return {
        of_thread(tid, "stat"): stat_line(tid, "rte-worker", faults=(minor, major))
        for tid in (MAIN, SECOND)
    }
