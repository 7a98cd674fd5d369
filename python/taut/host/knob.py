"""Knobs: what `taut host effect` turns. A check's remedies, one remedy, a file, or a partition.

Several knobs that are turned together are a set; a set is a state of the host.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from taut.core.cpus import cores_in, format_cpu_list
from taut.core.errors import InputError
from taut.core.words import nearest
from taut.host.check import State
from taut.host.host import Host
from taut.host.setting import Change, Setting
from taut.host.settings.cpuset_partition import (
    CpusetController,
    CpusetPartition,
    cpuset_root,
    isolation_here,
)
from taut.host.settings.file import FileSetting
from taut.host.situation import Situation
from taut.host.state import HostState, plan_state, refuse_unmeasurable, wishes_of
from taut.host.table import Check
from taut.host.view import mask_in

CPUSET = "cpuset"

_GROUP = "taut-effect"
_ID = re.compile(r"[A-Z]+\d+(-.+)?")
_FIFO = re.compile(r"SCHED_FIFO(:.*)?", re.IGNORECASE)
_WRITABLE = ("/proc/sys/", "/proc/irq/", "/sys/")
_STAT_INTERVAL = "/proc/sys/vm/stat_interval"
# Part of a folder's name: without slashes, and short.
_STATE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9,._=:+-]{0,39}")


@dataclass(frozen=True)
class Knob:
    """One thing to turn; all off is the machine as it is."""

    name: str
    summary: str
    only: str = ""
    """The id of a check or remedy; empty for a knob that no check proposes."""
    changes: tuple[Change, ...] = ()
    """What a knob writes that no check proposes."""
    why: str = ""
    """What the literature says of it, with the size of the effect."""
    source: str = ""


@dataclass(frozen=True)
class KnobSet:
    """Knobs that are turned together."""

    state: HostState
    """The state with all knobs of the set on; it has the set's name."""
    knobs: tuple[Knob, ...]
    changes: tuple[Change, ...]
    """Everything it changes, on the host as it was when the set was made."""

    @property
    def notes(self) -> list[str]:
        """What to know when reading its effect."""
        settings = [change.setting for change in self.changes]
        if not any(isinstance(s, FileSetting) and s.path == _STAT_INTERVAL for s in settings):
            return []
        return [
            f"{self.state.name}: the kernel's memory statistics sleep the interval they had when "
            "they went to sleep, so that after a long one the runs without it are partly quiet "
            "too: the effect is underestimated."
        ]


def split_set(word: str) -> list[str]:
    """Split `R24,K04` into knobs; a comma inside of a value (`KEY=0,2`) stays there."""
    found: list[str] = []
    for piece in word.split(","):
        is_knob = "=" in piece or piece == CPUSET or _ID.fullmatch(piece) or _FIFO.fullmatch(piece)
        if found and "=" in found[-1] and not is_knob:
            found[-1] += f",{piece}"
        else:
            found.append(piece)
    return found


def find_sets(
    words: Sequence[str], host: Host, situation: Situation, checks: Sequence[Check]
) -> list[KnobSet]:
    """Turn each word into a set; InputError where one is unknown, or has nothing to turn."""
    sets = [find_set(word, at, host, situation, checks) for at, word in enumerate(words, 1)]
    for one in sets:
        same = [other for other in sets if set(other.changes) == set(one.changes)]
        if len(same) > 1:
            names = " and ".join(other.state.name for other in same)
            raise InputError(f"effect: {names} change the same settings; name one of them")
    return sets


def find_set(
    word: str, number: int, host: Host, situation: Situation, checks: Sequence[Check]
) -> KnobSet:
    """Turn one word into a set; `number` names it where the word cannot name a folder.

    InputError: a knob is unknown, nothing is to be turned, or nothing could be measured so.
    """
    pieces = split_set(word)
    if len(set(pieces)) < len(pieces):
        raise InputError(f"knob {word!r}: a knob is named twice; leave one out")
    knobs = tuple(find_knob(piece, host, situation, checks) for piece in pieces)
    name = word if _STATE_NAME.fullmatch(word) else f"set {number}"
    only = tuple(knob.only for knob in knobs if knob.only)
    own = tuple(change for knob in knobs for change in knob.changes)
    state = HostState(name, only=only or None, changes=own)
    wishes = wishes_of(plan_state(host, situation, state), state)
    refuse_unmeasurable(host, state, wishes)
    changes = tuple(wish.change for wish in wishes)
    if not changes:
        raise InputError(f"knob {word!r}: nothing to turn on this machine: it is so already")
    twice = _first_twice([change.setting for change in changes])
    if twice is not None:
        raise InputError(f"knob {word!r}: {twice.name} is set by two of its knobs; leave one out")
    return KnobSet(state, knobs, changes)


def find_knob(word: str, host: Host, situation: Situation, checks: Sequence[Check]) -> Knob:
    """Turn a word into a knob: a check's or remedy's id, KEY=VALUE or cpuset."""
    if _FIFO.fullmatch(word):
        raise InputError(
            f"knob {word!r}: a real-time priority is the program's, not the host's; compare two "
            "devices `command`, with `chrt -f N PROGRAM` and without (`taut run`); kernel threads "
            "of its core starve behind it, or the kernel throttles it (R09)"
        )
    if word == CPUSET:
        return _cpuset(host, situation)
    if "=" in word:
        return _file(word, host)
    by_id = {check.id: check for check in checks}
    check_id, dash, _ = word.partition("-")
    if check_id in by_id:
        return _remedy(by_id[check_id], word if dash else "", host, situation)
    near = nearest(word, by_id)
    hint = f"did you mean {near}?" if near else "`taut host audit --all` lists the checks"
    raise InputError(f"knob {word!r}: no check's or remedy's id, KEY=VALUE or cpuset; {hint}")


def _first_twice(settings: Sequence[Setting]) -> Setting | None:
    return next((one for at, one in enumerate(settings) if one in settings[:at]), None)


def _cpuset(host: Host, situation: Situation) -> Knob:
    changes = [Change(CpusetPartition(_GROUP), format_cpu_list(situation.cores))]
    if cpuset_root(host) is not None:
        changes.insert(0, Change(CpusetController(), "on"))
    elif changes[0].setting.read(host) is None:
        raise InputError("knob 'cpuset': no cpuset control group here")
    return Knob(
        CPUSET,
        f"cores {format_cpu_list(situation.cores)} set apart by cpusets ({isolation_here(host)})",
        changes=tuple(changes),
        why="a foreign thread that the scheduler puts on a poll core stays a whole slice: "
        "milliseconds",
        source="cpu-isolation.rst",
    )


def _file(word: str, host: Host) -> Knob:
    key, _, value = word.partition("=")
    path = key if key.startswith("/") else f"/proc/sys/{key.replace('.', '/')}"
    if not path.startswith(_WRITABLE) or ".." in path.split("/"):
        raise InputError(f"knob {word!r}: {key} is not a sysctl, nor below /proc/irq or /sys")
    before = host.read(path)
    if before is None:
        raise InputError(f"knob {word!r}: no {path} to read here")
    setting = FileSetting(path, _form(path, before), may_refuse=path.startswith("/proc/irq/"))
    if not value or setting.agrees(before, value):
        raise InputError(f"knob {word!r}: {path} is {before} already; name another value")
    if setting.may_refuse and _is_of_no_core(setting, value, host):
        raise InputError(f"knob {word!r}: {value} names no core that is online")
    return Knob(word, f"{path}: {before} -> {value}", changes=(Change(setting, value),))


def _is_of_no_core(setting: FileSetting, value: str, host: Host) -> bool:
    """Whether a set of cores has none that is online: refused as an interrupt that cannot move."""
    read = {"list": cores_in, "mask": mask_in}.get(setting.form)
    online = host.online_cores()
    return read is not None and bool(online) and set(read(value) or ()).isdisjoint(online)


def _form(path: str, before: str) -> str:
    if path.endswith("_list"):
        return "list"
    if path.endswith(("smp_affinity", "cpumask", "_cpus")):
        return "mask"
    if "[" in before:
        return "choice"
    return "number" if re.fullmatch(r"-?\d+", before) else "text"


def _remedy(check: Check, remedy: str, host: Host, situation: Situation) -> Knob:
    """Find what a check proposes; of one remedy alone where its id is given."""
    name = remedy or check.id
    finding = check.inspect(host, situation)
    if finding.state is State.PASS:
        raise InputError(
            f"knob {name}: {finding.observed} is as wanted already; to see what it is worth, "
            "name the other value as KEY=VALUE"
        )
    if finding.state is not State.FAIL:
        reason = finding.needs or finding.observed
        raise InputError(f"knob {name}: {finding.state} on this machine ({reason})")
    proposed = check.propose(host, situation)
    remedies = [one for one in proposed if remedy in ("", one.id)]
    if not remedies:
        ids = ", ".join(one.id for one in proposed) or "nothing"
        raise InputError(f"knob {name}: no such remedy; {check.id} proposes {ids} here")
    changes = [change for one in remedies for change in one.changes]
    if all(change.setting.agrees(change.setting.read(host), change.wanted) for change in changes):
        said = "; ".join(one.by_hand or one.summary for one in remedies)
        raise InputError(f"knob {name}: cannot be turned while the machine runs ({said})")
    summary = "; ".join(one.summary for one in remedies if one.changes)
    return Knob(name, f"{check.title}: {summary}", only=name, why=check.why, source=check.source)
