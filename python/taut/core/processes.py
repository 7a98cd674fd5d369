"""What /proc/NUMBER/stat says of a process or thread (proc(5)): whether it lives, and since when.

Numbers are used again: one is known by its number and its start.
"""

from pathlib import Path


def stat_fields(stat: str) -> list[str]:
    """Give the fields of a stat from the third on: the second is a name and may hold anything."""
    return stat.rpartition(")")[2].split()


def living_fields(number: int, root: Path = Path("/")) -> list[str]:
    """Give these fields of one that lives; none: it is gone, or has ended and is a zombie."""
    try:
        stat = (root / f"proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    fields = stat_fields(stat)
    return [] if fields[:1] in (["Z"], ["X"]) else fields


def process_start_time(number: int, root: Path = Path("/")) -> int | None:
    """When it began, in clock ticks since boot; None: it is gone, or a zombie."""
    fields = living_fields(number, root)
    return int(fields[19]) if len(fields) > 19 and fields[19].isdigit() else None
