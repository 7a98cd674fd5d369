"""What one check sees: a host in a situation, and the findings it may give.

A judging function reads what it needs through this. A value that is absent, forbidden or makes no
sense raises CannotJudge, which table.py turns into a finding: judges only deal with good values.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import NoReturn

from taut.core.cpus import CpuSet, cores_in, format_cpu_list, parse_cpu_mask
from taut.host.check import Finding, failed, not_applicable, passed, unknown, unreadable
from taut.host.host import Host
from taut.host.machine import Machine
from taut.host.situation import Role, Situation, Watched

NAME_CORES = "name the poll cores with --cores"
NEW_FORMAT = "a kernel whose format taut knows"
WATCH = "watch a while: --watch 5s"
NOHZ_FULL = "/sys/devices/system/cpu/nohz_full"
CPU = "/sys/devices/system/cpu"

_NAME_THE_CORES = "name the poll cores: --cores LIST"


class CannotJudge(Exception):
    """There is nothing to judge, or it cannot be seen; `finding` says which and why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.observed)
        self.finding = finding


@dataclass(frozen=True)
class View:
    """Read access to a host, and the situation it is judged in."""

    host: Host
    situation: Situation
    wanted: str = ""
    """What the check wants, in words; part of every finding made here unless it says another."""

    @property
    def role(self) -> Role:
        """What the machine is used for."""
        return self.situation.role

    @property
    def machine(self) -> Machine:
        return self.situation.machine

    @property
    def online(self) -> CpuSet:
        """Cores the kernel runs."""
        return self.situation.online

    @property
    def cores(self) -> CpuSet:
        """Cores that poll, or shall; none where nobody named any."""
        return self.situation.cores

    @property
    def judged(self) -> CpuSet:
        """Cores that poll; where nobody named any, all that are online."""
        return self.cores or self.online

    @property
    def housekeeping(self) -> CpuSet:
        """Online cores that neither poll nor are set apart for somebody else."""
        return self.situation.housekeeping

    @property
    def can_split(self) -> bool:
        """Whether there are cores that poll and others that do the rest."""
        return bool(self.cores and self.housekeeping)

    @property
    def watched(self) -> Watched:
        """Files read twice, some seconds apart."""
        return self.situation.watched

    @property
    def is_guest(self) -> bool:
        """Whether it is a guest, whose firmware, siblings and frequencies are its host's."""
        return self.role is Role.KVM_GUEST or self.machine.hypervisor is not None

    # Reading, as Host does: None, or nothing, where there is nothing to read.

    def read(self, path: str) -> str | None:
        """Give a file's text without surrounding blanks; None when there is none to read."""
        return self.host.read(path)

    def number(self, path: str) -> int | None:
        """A file that holds one whole number, decimal or 0x; None when it does not."""
        return self.host.number(path)

    def list_of_cores(self, path: str) -> CpuSet | None:
        """A file that holds a list of cores, `(null)` for none; None when it does not."""
        return cores_in(self.host.read(path))

    def names(self, folder: str) -> list[str]:
        """Names in a folder, sorted; none when there is no such folder."""
        return self.host.names(folder)

    def paths(self, pattern: str) -> list[str]:
        """Paths that match a pattern, sorted."""
        return self.host.paths(pattern)

    def is_there(self, path: str) -> bool:
        """Whether there is such a file or folder."""
        return self.host.is_there(path)

    def command(self, *argv: str) -> str | None:
        """What a program that only reads prints; None when it is absent or fails."""
        return self.host.command(*argv)

    # Reading what a judge cannot do without: these raise CannotJudge.

    def text(self, path: str) -> str:
        """Give a file's text; CannotJudge: forbidden, or not on this kernel."""
        text = self.host.read(path)
        if text is None:
            raise CannotJudge(unreadable(self.host, path, self.wanted))
        return text

    def integer(self, path: str) -> int:
        """A file that holds one whole number; CannotJudge: absent, or no number."""
        self.text(path)
        number = self.host.number(path)
        return self.odd(path) if number is None else number

    def choice(self, path: str, *known: str) -> str:
        """A file that holds one of the words it may hold; CannotJudge: absent, or another."""
        text = self.text(path)
        return text if text in known else self.odd(path)

    def mask(self, path: str) -> CpuSet:
        """A file that holds a mask of cores; CannotJudge: absent, or no mask."""
        cores = mask_in(self.text(path))
        return self.odd(path) if cores is None else cores

    def odd(self, path: str) -> NoReturn:
        """Raise CannotJudge for a file that is absent, or whose content makes no sense."""
        self.cannot_tell(f"{path}: {self.text(path)[:60]!r}", NEW_FORMAT)

    def skip(self, why: str) -> NoReturn:
        """Raise CannotJudge: there is nothing to judge on this host or in this role."""
        raise CannotJudge(not_applicable(why))

    def cannot_tell(self, observed: str, needs: str, wanted: str | None = None) -> NoReturn:
        """Raise CannotJudge: it cannot be seen; `needs` says what would be needed."""
        raise CannotJudge(self.unknown(observed, needs, wanted))

    # Findings.

    def passed(self, observed: str, cores: CpuSet = (), wanted: str | None = None) -> Finding:
        """Make a finding of a check that passes."""
        return passed(observed, self._wanted(wanted), cores)

    def failed(
        self, observed: str, cores: CpuSet = (), wanted: str | None = None, fault: str = ""
    ) -> Finding:
        """Make a finding of a check that fails; `fault` where it is not the check's usual one."""
        return failed(observed, self._wanted(wanted), cores, fault)

    def unknown(self, observed: str, needs: str, wanted: str | None = None) -> Finding:
        """Make a finding of what cannot be seen; `needs` says what would be needed to see it."""
        return unknown(observed, needs, self._wanted(wanted))

    def good_if(self, is_good: bool, observed: str) -> Finding:
        """Pass or fail with the same words."""
        return self.passed(observed) if is_good else self.failed(observed)

    def none_of(self, bad: Collection[int], observed: str) -> Finding:
        """Pass if no poll core is in `bad`; without named ones, judge what holds for any choice."""
        if self.cores:
            hit = tuple(core for core in self.cores if core in bad)
            return self.failed(observed, hit) if hit else self.passed(observed, self.cores)
        if not bad:
            return self.passed(observed)
        if self.online and set(self.online) <= set(bad):
            return self.failed(observed)
        return self.unknown(observed, NAME_CORES)

    def all_in(self, inside: CpuSet, observed: str) -> Finding:
        """Pass if every poll core is in `inside`; the finding names those that are not."""
        if not self.cores:
            # An empty set is wrong whichever cores poll.
            return self.unknown(observed, _NAME_THE_CORES) if inside else self.failed(observed)
        missing = tuple(core for core in self.cores if core not in inside)
        if missing:
            return self.failed(f"{observed}; {named(missing)} not in it", missing)
        return self.passed(observed, self.cores)

    def none_in(self, taken: CpuSet, observed: str) -> Finding:
        """Pass if no poll core is in `taken`; the finding names those that are."""
        if not self.cores:
            # If all cores are taken, it is wrong whichever of them poll.
            if self.online and set(self.online) <= set(taken):
                return self.failed(observed)
            return self.unknown(observed, _NAME_THE_CORES)
        hit = tuple(core for core in self.cores if core in taken)
        if hit:
            return self.failed(f"{observed}; {named(hit)} in it", hit)
        return self.passed(observed, self.cores)

    def _wanted(self, wanted: str | None) -> str:
        return self.wanted if wanted is None else wanted


def mask_in(text: str | None) -> CpuSet | None:
    """Read a mask of cores; None where the text is none."""
    try:
        return None if text is None else parse_cpu_mask(text)
    except ValueError:
        return None


def shown(cores: CpuSet) -> str:
    """Write cores for people."""
    return format_cpu_list(cores) or "none"


def named(cores: CpuSet) -> str:
    """Write cores within a sentence: core 2, cores 2-3."""
    return f"core{'' if len(cores) == 1 else 's'} {shown(cores)}"
