"""The dictionary: which names kernels take, which belong to others, and what was meant.

The list is made by devtools/kernel_parameters.py from two kernels of Debian; names of newer
kernels that matter here are added below.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from importlib.resources import files

Version = tuple[int, int]

# When it came, from the history of the kernel. Exact, where the list only knows which of its two
# kernels has it.
SINCE: Mapping[str, Version] = {
    "amd_pstate": (6, 1),
    "hugepage_alloc_threads": (6, 15),
    "kho": (6, 16),
    "panic_sys_info": (6, 17),
    "rcutree.enable_rcu_lazy": (6, 8),
    "rcutree.nohz_full_patience_delay": (6, 11),
    "rcupdate.rcu_cpu_stall_cputime": (6, 3),
    "sched_proxy_exec": (6, 17),
    "thp_anon": (6, 12),
    "thp_shmem": (6, 14),
    "transparent_hugepage_shmem": (6, 14),
    "workqueue.unbound_cpus": (6, 6),
}

# Misspellings out of habit that are closer to another name than to the one meant.
_MEANT = {"noht": "nosmt", "nohyperthreading": "nosmt", "nosmt_force": "nosmt=force"}

# A rule of every module, or a family the kernel reads by prefix.
_OPTIONS_OF_ALL = ("async_probe", "dyndbg")
_FAMILIES = ("sysctl.", "libata.", "earlycon", "driver_async_probe", "bootconfig", "dyndbg")
_SYSCTLS = ("kernel.", "vm.", "net.", "fs.", "dev.", "user.")


@dataclass(frozen=True)
class Dictionary:
    """The names that taut knows, with `_` for `-`."""

    kernels: tuple[Version, ...]
    """The kernels from which the list was made, oldest first."""
    names: frozenset[str]
    came: Mapping[str, Version]
    """By name: the first kernel of the list that has it, where older ones do not."""
    went: Mapping[str, Version]
    """By name: the first kernel of the list that no longer has it."""
    modules: frozenset[str]


@cache
def dictionary() -> Dictionary:
    """Read the names that taut knows, once a process."""
    names = set(SINCE)
    came: dict[str, Version] = {}
    went: dict[str, Version] = {}
    kernels: tuple[Version, ...] = ()
    for line in _lines("kernel_parameters.txt"):
        if line.startswith("# kernels "):
            kernels = tuple(map(_version, line.split()[2:]))
        if line.startswith("#"):
            continue
        name, *versions = line.split()
        names.add(name)
        for version in versions:
            (came if version[0] == "+" else went)[name] = _version(version[1:])
    modules = frozenset(name.partition(".")[0] for name in names if "." in name) - {"*"}
    return Dictionary(kernels, frozenset(names), came, went, modules)


@cache
def _of_user_space() -> tuple[frozenset[str], tuple[str, ...]]:
    """Names, and what names begin with."""
    lines = [line for line in _lines("user_space_parameters.txt") if not line.startswith("#")]
    families = tuple(line.removesuffix("*") for line in lines if line.endswith("*"))
    return frozenset(lines), families


def _lines(name: str) -> list[str]:
    return (files("taut.host") / "data" / name).read_text(encoding="ascii").splitlines()


def is_known(name: str) -> bool:
    """Whether any kernel of the list takes this name."""
    module, dot, option = name.partition(".")
    if name in dictionary().names or name.startswith(_FAMILIES):
        return True
    of_some_module = option in _OPTIONS_OF_ALL or f"*.{option}" in dictionary().names
    return bool(dot) and module in dictionary().modules and of_some_module


def begins_with_a_known_name(name: str) -> bool:
    """Whether the kernel may take this name for a shorter one: it compares some beginnings only.

    Nothing then appears in its log, and the parameter does what the shorter name does.
    """
    shorter = (name[:length] for length in range(4, len(name)))
    return any(beginning in dictionary().names for beginning in shorter)


def is_for_others(name: str) -> bool:
    """Whether init, the initrd or the boot loader reads it; capitals are for init's environment."""
    names, families = _of_user_space()
    return name in names or name.startswith(families) or name.isupper()


def is_sysctl(name: str) -> bool:
    """Whether it is a sysctl's name, which only `sysctl.NAME=` would set."""
    return name.startswith(_SYSCTLS)


def suggestion(name: str, preferred: Iterable[str]) -> str | None:
    """Name the parameter that was meant; None: nothing is near. `preferred` settles a tie."""
    if name in _MEANT:
        return _MEANT[name]
    if "." in name:
        return _dotted_suggestion(name)
    near = _nearest(name, (known for known in dictionary().names if "." not in known), preferred)
    return near or _option_of_a_module(name)


def _dotted_suggestion(name: str) -> str | None:
    module, _, option = name.partition(".")
    known = dictionary()
    if module in known.modules:
        mine = [other for other in known.names if other.startswith(f"{module}.")]
        return _nearest(name, mine, limit=_tolerance(option))
    same_option = [
        other for other in known.names - {f"*.{option}"} if other.partition(".")[2] == option
    ]
    near = max(same_option, key=lambda other: (_likeness(module, other), other), default=None)
    if near is not None and _likeness(module, near) >= 0.8:
        return near
    return _nearest(
        name, (other for other in known.names if "." in other and other[0] != "*"), limit=1
    )


def _option_of_a_module(name: str) -> str | None:
    """Find the module that has such an option: `rcu_normal_after_boot` only lacks `rcupdate.`."""
    if len(name) < 8:
        return None
    owners = sorted(
        known for known in dictionary().names if known.partition(".")[2] == name and known[0] != "*"
    )
    return " or ".join(owners) if len(owners) in (1, 2) else None


def _likeness(module: str, name: str) -> float:
    other = name.partition(".")[0]
    if min(len(module), len(other)) >= 4 and (module.startswith(other) or other.startswith(module)):
        return 1.0 - 1 / (len(module) + len(other))
    return SequenceMatcher(None, module, other).ratio()


def _tolerance(name: str) -> int:
    """Give how many typing errors still mean this name; a short name tolerates fewer."""
    return 0 if len(name) < 4 else 1 if len(name) < 8 else 2


def _nearest(
    name: str, known: Iterable[str], preferred: Iterable[str] = (), limit: int | None = None
) -> str | None:
    most = _tolerance(name) if limit is None else limit
    better = frozenset(preferred)
    best = min(
        (
            (distance, other not in better, other)
            for other in known
            if abs(len(other) - len(name)) <= most
            and (distance := edit_distance(name, other, most)) <= most
        ),
        default=None,
    )
    return best[2] if best else None


def edit_distance(one: str, two: str, limit: int = 1000) -> int:
    """Count letters to insert, delete, replace or swap; stops counting just above `limit`."""
    before: list[int] = []
    row = list(range(len(two) + 1))
    for i, letter in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, other in enumerate(two, 1):
            cost = min(row[-1] + 1, before[j] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == two[j - 2] and one[i - 2] == other:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
    return row[-1]


def _version(text: str) -> Version:
    major, _, minor = text.partition(".")
    return int(major), int(minor)
