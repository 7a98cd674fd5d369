"""The kernel's command line: wishes of many checks become one list of parameters.

The kernel takes most parameters once: of `isolcpus=` twice it keeps one. So the same parameter
from two checks is merged, and what cannot be merged is an error here, not a surprise at boot. Lists
of cores that others put there are merged, too, since ours replace them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from taut.core.cpus import CpuSet, format_cpu_list, parse_cpu_list
from taut.core.errors import InputError
from taut.host.boot.item import KernelParameter
from taut.host.boot.wish import BootWish

# Cores that are taken away from everybody else: those of all wishes together.
_ISOLATING = ("isolcpus", "nohz_full", "rcu_nocbs")
# Cores to which everybody else is confined: only those that all wishes allow are left.
_HOUSEKEEPING = ("irqaffinity", "kthread_cpus", "workqueue.unbound_cpus", "systemd.cpu_affinity")
LISTS = frozenset((*_ISOLATING, *_HOUSEKEEPING))
"""Names of parameters that hold a list of cores, with `_` for `-`."""
# kernel/sched/isolation.c knows these three; a list without any means domain.
_ISOLCPUS_FLAGS = ("nohz", "domain", "managed_irq")
# Keeps the time of the machine: the kernel takes it out of nohz_full by itself (x86).
_BOOT_CORE = 0


@dataclass(frozen=True)
class Reasoned:
    """A parameter, the reason of the first wish for it, and everybody who wishes for it."""

    parameter: KernelParameter
    reason: str
    by: str


def merge_parameters(
    wishes: Iterable[BootWish], online: CpuSet, others: Sequence[KernelParameter] = ()
) -> list[Reasoned]:
    """Give each parameter once, in the order of the first wish; other items are left out.

    `others`: lists of cores that have to hold besides, as somebody else wants them.

    InputError: wishes that exclude each other, or that leave no core for housekeeping.
    """
    merged: dict[str, Reasoned] = {}
    for wish in wishes:
        if not isinstance(wish.item, KernelParameter):
            continue
        ours = Reasoned(_with_cores(wish.item), wish.reason, wish.wisher)
        before = merged.get(key := _key(wish.item.name))
        merged[key] = ours if before is None else _merge(before, ours)
    found = [_without_boot_core(reasoned) for reasoned in merged.values()]
    _check_cores(found, online)
    found = [_beside(reasoned, _ticks_by_name(others, found)) for reasoned in found]
    _check_left(
        [e.parameter for e in found if e.parameter.name in ("isolcpus", "nohz_full")], online
    )
    return found


def command_line(parameters: Sequence[Reasoned]) -> str:
    """Write them as the boot loader passes them on."""
    return " ".join(str(reasoned.parameter) for reasoned in parameters)


def replaced(text: str, parameters: Sequence[Reasoned]) -> str:
    """Give a command line with these parameters, instead of those of the same name in it."""
    ours, init = for_kernel(text)
    parts = (without(ours, parameters), command_line(parameters), init)
    return " ".join(part for part in parts if part)


def for_kernel(text: str) -> tuple[str, str]:
    """Split a command line: what follows a lone -- is for init, the kernel does not read it."""
    words = text.split()
    end = words.index("--") if "--" in words else len(words)
    return " ".join(words[:end]), " ".join(words[end:])


def without(text: str, parameters: Sequence[Reasoned]) -> str:
    """Give a command line without the parameters of these names."""
    ours = {_key(reasoned.parameter.name) for reasoned in parameters}
    return " ".join(word for word in text.split() if _key(word.partition("=")[0]) not in ours)


def _key(name: str) -> str:
    """The kernel takes - and _ for the same (kernel/params.c)."""
    return name.replace("-", "_")


def _with_cores(parameter: KernelParameter) -> KernelParameter:
    """Read the cores and flags of a known list out of its value, if they stand there."""
    if parameter.name not in (*_ISOLATING, *_HOUSEKEEPING) or not parameter.value:
        return parameter
    words = parameter.value.split(",")
    flags = tuple(word for word in words if word and not word[0].isdigit())
    cores = parse_cpu_list(",".join(word for word in words if word[:1].isdigit()))
    return KernelParameter(
        parameter.name,
        flags=(*parameter.flags, *flags),
        cores=tuple(sorted({*parameter.cores, *cores})),
    )


def _merge(before: Reasoned, new: Reasoned) -> Reasoned:
    one, other = before.parameter, new.parameter
    pair = f"kernel parameters {one} ({before.by}) and {other} ({new.by})"
    if one.value != other.value:
        raise InputError(f"{pair} exclude each other; leave one of the two remedies out")
    if one.name in _HOUSEKEEPING:
        cores = tuple(core for core in one.cores if core in other.cores)
        if not cores:
            raise InputError(f"{pair} leave no core; leave one of the two remedies out")
    else:
        cores = tuple(sorted({*one.cores, *other.cores}))
    return Reasoned(
        replace(one, flags=_merge_flags(one, other), cores=cores),
        before.reason,
        before.by if new.by in before.by.split(", ") else f"{before.by}, {new.by}",
    )


def _merge_flags(one: KernelParameter, other: KernelParameter) -> tuple[str, ...]:
    if one.name != "isolcpus":
        return tuple(dict.fromkeys((*one.flags, *other.flags)))
    flags = {flag for parameter in (one, other) for flag in _isolcpus_flags(parameter)}
    known = [flag for flag in _ISOLCPUS_FLAGS if flag in flags]
    return (*known, *sorted(flags.difference(known)))


def set_apart(lists: Iterable[KernelParameter]) -> set[int]:
    """Give the cores that lists isolate from the scheduler, or from its tick."""
    return {
        core
        for each in lists
        if each.name == "nohz_full"
        or (each.name == "isolcpus" and not {"domain", "nohz"}.isdisjoint(_isolcpus_flags(each)))
        for core in each.cores
    }


def _isolcpus_flags(parameter: KernelParameter) -> tuple[str, ...]:
    return parameter.flags or ("domain",)


def _ticks_by_name(
    others: Sequence[KernelParameter], found: Sequence[Reasoned]
) -> list[KernelParameter]:
    """Turn isolcpus=nohz into nohz_full= where there is one: the kernel drops lists that differ."""
    if "nohz_full" not in {*(each.name for each in others), *(e.parameter.name for e in found)}:
        return list(others)
    parted = []
    for each in others:
        if each.name == "isolcpus" and "nohz" in each.flags:
            parted.append(KernelParameter("nohz_full", cores=each.cores))
            if flags := tuple(flag for flag in each.flags if flag != "nohz"):
                parted.append(replace(each, flags=flags))
        else:
            parted.append(each)
    return parted


def _beside(ours: Reasoned, others: Sequence[KernelParameter]) -> Reasoned:
    """Widen what isolates by what others isolate, and narrow where everybody else is confined."""
    parameter = ours.parameter
    same = [each for each in others if each.name == parameter.name]
    if parameter.name in _ISOLATING:
        kept = [each for each in same if not _would_isolate(parameter, each)]
        merged = _widened(parameter, kept)
    elif parameter.name in _HOUSEKEEPING:
        kept = [*same, *(each for each in others if set_apart([each]))]
        merged = _narrowed(parameter, same, set_apart(others))
    else:
        return ours
    reason = ours.reason
    if merged != parameter:
        reason += f"; beside {' '.join(map(str, kept))} of others"
    if dropped := [str(each) for each in same if each not in kept]:
        reason += f"; instead of {' '.join(dropped)}, whose cores are not to be isolated"
    return replace(ours, parameter=merged, reason=reason)


def _would_isolate(ours: KernelParameter, other: KernelParameter) -> bool:
    """Whether cores of others would lose their domain, since isolcpus= has one list of cores."""
    asks, has = ("domain" in _isolcpus_flags(each) for each in (ours, other))
    return ours.name == "isolcpus" and asks and not has


def _widened(ours: KernelParameter, others: Iterable[KernelParameter]) -> KernelParameter:
    for other in others:
        cores = {*ours.cores, *other.cores}
        if ours.name == "nohz_full":
            cores.discard(_BOOT_CORE)
        ours = replace(ours, flags=_merge_flags(ours, other), cores=tuple(sorted(cores)))
    return ours


def _narrowed(
    ours: KernelParameter, others: Iterable[KernelParameter], apart: set[int]
) -> KernelParameter:
    """Give what both allow; where that is no core, what we need."""
    left = set(ours.cores) - apart or set(ours.cores)
    common = left.intersection(*(other.cores for other in others)) or left
    return replace(ours, cores=tuple(sorted(common)))


def _without_boot_core(reasoned: Reasoned) -> Reasoned:
    parameter = reasoned.parameter
    if parameter.name != "nohz_full" or _BOOT_CORE not in parameter.cores:
        return reasoned
    cores = tuple(core for core in parameter.cores if core != _BOOT_CORE)
    if not cores:
        raise InputError(
            f"{parameter}: core {_BOOT_CORE} boots the machine and keeps its time, it cannot run"
            " without a tick; name another core with --cores"
        )
    note = f"core {_BOOT_CORE} left out: it keeps the time"
    return replace(
        reasoned,
        parameter=replace(parameter, cores=cores),
        reason=f"{reasoned.reason}; {note}",
    )


def _check_cores(found: Sequence[Reasoned], online: CpuSet) -> None:
    isolating = [each.parameter for each in found if each.parameter.name in _ISOLATING]
    taken = {core for parameter in isolating for core in parameter.cores}
    if absent := taken.difference(online):
        raise InputError(
            f"cores {format_cpu_list(absent)} are not online;"
            f" this machine has {format_cpu_list(online)}"
        )
    _check_left(isolating, online)
    for each in found:
        shared = taken.intersection(each.parameter.cores)
        if each.parameter.name in _HOUSEKEEPING and shared:
            raise InputError(
                f"{each.parameter}: keeps core {format_cpu_list(shared)} for housekeeping, which"
                f" {isolating[0]} takes away; leave one of the two remedies out"
            )


def _check_left(isolating: Sequence[KernelParameter], online: CpuSet) -> None:
    taken = {core for parameter in isolating for core in parameter.cores}
    if taken and taken.issuperset(online):
        names = " ".join(str(parameter) for parameter in isolating)
        raise InputError(
            f"{names}: no core is left for housekeeping; leave one of"
            f" {format_cpu_list(online)} out of --cores"
        )
