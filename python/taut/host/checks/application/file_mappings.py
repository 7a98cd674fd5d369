"""A07: files of a disk that a polling program writes to through its memory."""

import re
from collections.abc import Iterator, Sequence

from taut.host.check import (
    Check,
    Finding,
    Remedy,
    Severity,
    failed,
    passed,
    unknown,
    unreadable,
)
from taut.host.checks.application._pollers import no_process
from taut.host.host import Host
from taut.host.situation import Situation
from taut.host.threads import some

_WANTED = "none that is written to"
# `7f0c8000-7f0c9000 rw-s 00000000 08:01 1234   /var/log/ring`
_MAPPING = re.compile(r"[0-9a-f]+-[0-9a-f]+ (?P<rights>\S{4}) \S+ \S+ \d+\s*(?P<path>.*)")
_DIRTY = re.compile(r"(Shared|Private)_Dirty:\s+(\d+) kB")
# What is never written back.
_IN_MEMORY = frozenset({"tmpfs", "hugetlbfs", "devtmpfs", "ramfs", "sysfs", "proc", "devpts"})
_NO_FILE = ("/memfd:", "/SYSV", "/dev/zero", "/anon_hugepage")


class FileMappings(Check):
    """Private mappings are never written back: only shared ones count."""

    id = "A07"
    title = "writable file mappings"
    fault = "Polling programs write to mapped files"
    severity = Severity.MAJOR
    why = (
        "writeback takes the right to write away from each dirty page: the next write faults, and "
        "waits where the page is on its way to the disk"
    )
    source = "rigtorp.se low latency guide; Gallenmueller et al., Ducked Tails (2021)"

    def inspect(self, host: Host, situation: Situation) -> Finding:
        """Look for dirty pages of shared mappings."""
        found = no_process(host, situation)
        if found is not None:
            return found
        dirty = []
        for pid in situation.processes:
            path = f"/proc/{pid}/smaps"
            text = host.read(path)
            if text is None:
                return unreadable(host, path, _WANTED)
            if text and not _MAPPING.match(text):
                return unknown(
                    f"{path}: {text[:40]!r}", "a kernel whose format taut knows", _WANTED
                )
            disk = _disk(host, pid)
            dirty += [
                f"{file} ({kilobytes} kB dirty) of process {pid}"
                for file, kilobytes in _shared(text)
                if kilobytes and _filesystem(disk, file) not in _IN_MEMORY
            ]
        if dirty:
            return failed(some(dirty), _WANTED, situation.cores)
        return passed("no dirty page of a file on a disk", _WANTED)

    def propose(self, host: Host, situation: Situation) -> Sequence[Remedy]:  # noqa: ARG002
        """In the program."""
        return (
            Remedy(
                "A07-by-hand",
                "keep what the program writes to off the disk",
                by_hand="in the program: memfd_create, hugetlbfs or tmpfs; or let another process "
                "write the file",
            ),
        )


def _shared(smaps: str) -> Iterator[tuple[str, int]]:
    """Give the files of writable shared mappings and what of each is dirty."""
    file, kilobytes = "", 0
    for line in smaps.splitlines():
        mapping = _MAPPING.fullmatch(line)
        if mapping is not None:
            if file:
                yield file, kilobytes
            rights, path = mapping["rights"], mapping["path"].strip()
            is_wanted = rights[1] == "w" and rights[3] == "s" and path.startswith("/")
            file = path if is_wanted and not path.startswith(_NO_FILE) else ""
            kilobytes = 0
        elif (found := _DIRTY.match(line)) is not None:
            kilobytes += int(found[2])
    if file:
        yield file, kilobytes


def _disk(host: Host, pid: int) -> dict[str, str]:
    """Give the file system of each mount point."""
    lines = (host.read(f"/proc/{pid}/mounts") or "").splitlines()
    words = [line.split() for line in lines]
    return {word[1].replace("\\040", " "): word[2] for word in words if len(word) > 2}


def _filesystem(mounts: dict[str, str], file: str) -> str:
    """Of the longest mount point that holds a file; "": unknown, so it may be a disk."""
    holds = [point for point in mounts if file == point or file.startswith(f"{point.rstrip('/')}/")]
    return mounts[max(holds, key=len)] if holds else ""


CHECK = FileMappings()
