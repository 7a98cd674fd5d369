"""Hugepages that runs of taut add to a count which apply changed: they are no stranger's.

A run names its own in its owner.json (testbed/owner.py; here they are only read), and locks the
kernel's file while it adds them or gives them back (testbed/hugepages.py).
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import compress

from taut.core.errors import InputError
from taut.core.held import held_alone
from taut.host.host import Host
from taut.host.journal import boot_id
from taut.host.journal_lines import Entry
from taut.host.setting import Setting
from taut.records.documents.json_form import read_document

_POOL = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
_OWNERS = "/run/taut/*/owner.json"
_MOST_S = 60.0


@dataclass(frozen=True)
class _Grant:
    before: int
    added: int | None


@dataclass(frozen=True)
class _Owner:
    boot_id: str
    hugepages: tuple[_Grant, ...] = ()


def is_count(setting: Setting) -> bool:
    """Whether it is a number of hugepages, of all nodes or of one."""
    return setting.name.endswith("/nr_hugepages")


@contextmanager
def counts_held(host: Host, entries: Sequence[Entry]) -> Iterator[None]:
    """Keep runs from adding hugepages, or giving them back, where entries tell of their number.

    They need moments for that; whoever holds the kernel's file for longer is no run.
    """
    path = host.root / _POOL.lstrip("/")
    if not (any(is_count(entry.setting) for entry in entries) and path.exists()):
        yield
        return
    with held_alone(path, _MOST_S):
        yield


def with_grants(host: Host, entries: Sequence[Entry]) -> list[Entry]:
    """Give entries, last first, as if the pages that runs have added since had been there before.

    The counts are held.
    """
    extra: dict[str, int] = {}
    for entry in entries:
        if is_count(entry.setting) and entry.setting.name not in extra:
            extra[entry.setting.name] = _added_since(host, entry)
    return [_raised(entry, extra.get(entry.setting.name, 0)) for entry in entries]


def _added_since(host: Host, entry: Entry) -> int:
    """Count the pages that runs added after a change; 0 where that does not explain the number."""
    name = entry.setting.name
    now = host.number(name)
    try:
        put = int((entry.in_force if entry.is_written else entry.wanted) or "")
    except ValueError:
        return 0
    granted = sum(grant.added or 0 for grant in _grants(host) if grant.before >= put)
    extra = (now or 0) - put
    # One node may have given none of them, or all.
    is_explained = 0 <= extra <= granted if "/node/" in name else extra == granted
    return extra if is_explained else 0


def _grants(host: Host) -> Iterator[_Grant]:
    """Give what runs have been granted in this boot, dead ones too."""
    for path in host.paths(_OWNERS):
        try:
            owner = read_document(_Owner, host.root / path.lstrip("/"))
        except (InputError, OSError):
            continue  # it ended meanwhile, or another taut wrote it
        if owner.boot_id == boot_id(host):
            yield from owner.hugepages


def _raised(entry: Entry, extra: int) -> Entry:
    """Raise the values by pages that were added; how they lie on the nodes is then no matter."""
    if extra == 0:
        return entry
    is_kept = [not is_count(kept.setting) for kept in entry.side_effects]
    return replace(
        entry,
        old=_plus(entry.old, extra),
        wanted=_plus(entry.wanted, extra) or "",
        in_force=_plus(entry.in_force, extra),
        side_effects=tuple(compress(entry.side_effects, is_kept)),
        others_in_force=tuple(compress(entry.others_in_force, is_kept)),
    )


def _plus(text: str | None, extra: int) -> str | None:
    return text and re.sub(r"\d+", lambda number: str(int(number[0]) + extra), text)
