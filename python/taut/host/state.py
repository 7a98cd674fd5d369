"""States of a host: as found, or with a set of remedies in force; entered and left in one call.

Every change goes through the journal under a holder's name, so that whoever finds the journal of a
holder that died knows that nobody wants those settings any more, and puts them back.
"""

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Self

from taut.core.errors import InputError, TautError
from taut.host.apply import Outcome, Result, Wish, apply_changes
from taut.host.audit import run_audit
from taut.host.check import Profile
from taut.host.host import Host
from taut.host.journal import Journal
from taut.host.plan import Plan, make_plan
from taut.host.setting import Change
from taut.host.settings.cpuset_partition import WHY_BY_NAME, CpusetPartition, cpuset_root
from taut.host.settings.thread_affinity import ThreadAffinity
from taut.host.situation import Situation
from taut.host.undo import UndoReport, undo
from taut.host.verify import Standing, verify
from taut.host.writer import Writer
from taut.records.documents.manifest import Applied
from taut.records.documents.trial import AS_FOUND, InForce

_WAITING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ANOTHER = (
    "another `taut host apply`, `undo` or `effect` is at work: the host is put back at its end; "
    "Ctrl-C leaves it changed"
)


@dataclass(frozen=True)
class HostState:
    """What is to be in force; without `profile`, `only` and `changes`: the host as found."""

    name: str
    profile: Profile | None = None
    only: tuple[str, ...] | None = None
    """Ids of checks or remedies to make, whatever their profile; None: those of `profile`."""
    without: tuple[str, ...] = ()
    """Ids of checks or remedies to leave out."""
    changes: tuple[Change, ...] = ()
    """Settings that no check proposes (`taut host effect vm.stat_interval=10`)."""

    @property
    def is_as_found(self) -> bool:
        """Whether nothing is changed."""
        return self.profile is None and self.only is None and not self.changes

    def leaves_out(self, check: str, remedy: str) -> bool:
        """Whether a remedy is not to be made."""
        return bool({check, remedy} & set(self.without))


@dataclass(frozen=True)
class Entered:
    """A state that is in force."""

    state: HostState
    results: Sequence[Result] = ()
    """What became of each change; none of a host as found."""
    plan: Plan | None = None

    def of(self, *outcomes: Outcome) -> list[Result]:
        """Changes with one of these outcomes."""
        return [result for result in self.results if result.outcome in outcomes]


FOUND = HostState(AS_FOUND)
"""The host as found."""


class HostStateError(TautError):
    """The host could not be put back: whatever is measured now is of no state that has a name."""


@dataclass
class HostStates:
    """Takes one host from state to state. Leave it, whatever happens: `with` does.

    `situation` is asked before each state, while the host is as found. TautError: a change failed,
    and those before it are taken back. HostStateError: what was changed could not be.
    """

    host: Host
    writer: Writer
    situation: Callable[[], Situation]
    holder: str
    """The run's name in the journal; never empty, which would mean an apply by hand."""
    waiting: Callable[[str], None] = lambda _: None
    """Called with the words for what the end of the run waits for."""
    _entered: Entered | None = field(default=None, init=False)
    """The state in force, whole; None: none is, or nobody knows."""
    _is_changed: bool = field(default=False, init=False)
    """Whether there may be changes to take back."""
    _had_journal: bool = field(default=False, init=False)

    def __enter__(self) -> Self:
        self._had_journal = Journal(self.host).is_there
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    def enter(self, wanted: HostState) -> Entered:
        """Make a state, and only that one, be in force; nothing is done where it is already."""
        if self._entered is not None and self._entered.state == wanted:
            return self._entered
        self.leave()
        self._entered = Entered(wanted) if wanted.is_as_found else self._make(wanted)
        return self._entered

    def _make(self, wanted: HostState) -> Entered:
        situation = self.situation()
        plan = plan_state(self.host, situation, wanted)
        wishes = wishes_of(plan, wanted)
        refuse_unmeasurable(self.host, wanted, wishes)
        # Noted before it is made: after an interruption or an error leave() takes back what was.
        self._is_changed = True
        with undisturbed():
            report = apply_changes(self.host, self.writer, wishes, holder=self.holder)
        bad = [result for result in report.results if result.outcome is Outcome.FAILED]
        if not bad:
            return Entered(wanted, report.results, plan)
        first = bad[0]
        said = (
            f"host {wanted.name!r}: {first.wish.remedy}: {first.wish.change.setting.name}: "
            f"{first.note}; nothing was measured with it"
        )
        if report.undone is not None and not report.undone.is_good:
            raise HostStateError(f"{said}, and not all was put back: `taut host undo`")
        raise TautError(said)

    def leave(self) -> None:
        """Put the host back as it was found, however long another apply takes.

        HostStateError: it is still changed, by somebody else as well, for an error, or for a signal
        came while it waited for the other.
        """
        self._entered = None
        if self._is_changed:
            with undisturbed() as came:
                try:
                    self._take_back(self._waits(came))
                except HostStateError:
                    came.clear()  # It ends the run as well, and says how the host is left.
                    raise
        # Only now: a host that could not be put back is not as found.
        self._is_changed = False

    def _waits(self, came: Sequence[int]) -> Callable[[], bool]:
        """Wait for another apply or undo, saying so once, until one more signal has come."""
        known: list[int] = []

        def waits() -> bool:
            if not known:
                known.append(len(came))
                self.waiting(_ANOTHER)
            return len(came) == known[0]

        return waits

    def _take_back(self, waits: Callable[[], bool]) -> None:
        keeps = self._had_journal
        try:
            take_back(self.host, self.writer, self.holder, keep_archive=keeps, waits=waits)
        except HostStateError:
            raise
        except (TautError, OSError) as error:
            raise HostStateError(
                f"{error}; settings of this host may still be changed: `taut host undo` puts them "
                "back"
            ) from error

    def read_in_force(self) -> InForce:
        """Say what of the state entered is in force now, as read from the machine."""
        if self._entered is None or self._entered.state.is_as_found:
            return InForce()
        ours = [one for one in verify(self.host).changes if one.entry.holder == self.holder]
        lost = [one for one in ours if one.standing in (Standing.CHANGED, Standing.LOST)]
        moved = [one for one in lost if isinstance(one.entry.setting, ThreadAffinity)]
        listed = {one.entry.setting for one in ours}
        written = self._entered.of(Outcome.IN_FORCE, Outcome.OTHER_VALUE)
        settings = [result.wish.change.setting for result in written]
        taken_back = [setting.name for setting in settings if setting not in listed]
        return InForce(
            n_changes=len(ours) + len(taken_back),
            n_in_force=sum(one.standing is Standing.IN_FORCE for one in ours),
            lost=(*(one.entry.setting.name for one in lost if one not in moved), *taken_back),
            threads_that_moved=len(moved),
        )


def plan_state(host: Host, situation: Situation, state: HostState) -> Plan:
    """Plan the changes of a state, for the host as it is now."""
    only = state.only if state.profile is None else None
    if only is None and state.profile is None:
        only = ()
    audit = run_audit(host, situation)
    return make_plan(host, audit, state.profile or Profile.RECOMMENDED, only)


def why_nothing(host: Host, situation: Situation, state: HostState) -> str | None:
    """Say of a state that would change nothing on this host why; None: it changes something."""
    if state.is_as_found:
        return None
    plan = plan_state(host, situation, state)
    if wishes := wishes_of(plan, state):
        refuse_unmeasurable(host, state, wishes)
        return None
    return "; ".join(plan.notes) or "nothing of it is due"


def refuse_unmeasurable(host: Host, state: HostState, wishes: Sequence[Wish]) -> None:
    """Raise InputError where a state would keep taut's own programs off the cores measured."""
    partitions = (w for w in wishes if isinstance(w.change.setting, CpusetPartition))
    if (wish := next(partitions, None)) is not None and cpuset_root(host) is not None:
        raise InputError(f"host {state.name!r}: {wish.remedy}: {WHY_BY_NAME}; leave it out")


def wishes_of(plan: Plan, state: HostState = FOUND) -> list[Wish]:
    """Give what a plan would write now, in order, without what `state` leaves out, and its own."""
    planned = [
        Wish(step.remedy.id, due.change)
        for step in plan.steps
        if not state.leaves_out(step.row.check.id, step.remedy.id)
        for due in step.due
    ]
    return [*planned, *(Wish("setting", change) for change in state.changes)]


def describe_applied(host: Host) -> Applied | None:
    """Give what an apply made by hand has in force, for the manifest; None: nothing."""
    try:
        changes = verify(host).changes
    except (InputError, OSError):
        return None  # Another machine's journal, or not ours to read.
    entries = [
        one.entry for one in changes if one.standing is Standing.IN_FORCE and not one.entry.holder
    ]
    if not entries:
        return None
    return Applied(len(entries), tuple(sorted({entry.remedy for entry in entries})))


def refuse_applied(host: Host) -> None:
    """Raise InputError where an apply by hand is in force: "as found" would include it.

    Called before a run over states of the host begins.
    """
    journal = Journal(host)
    contents = journal.load()
    if contents.complaints:
        raise InputError(f"{contents.complaints[0]}; call `taut host undo` first")
    verified = verify(host).changes if contents.entries else ()
    in_force = [one.entry for one in verified if one.standing is Standing.IN_FORCE]
    holder = next((entry.holder for entry in in_force if entry.holder), "")
    if holder:
        raise InputError(
            f"another run ({holder}) has {len(in_force)} settings of this host changed; wait for "
            "its end"
        )
    if in_force:
        raise InputError(
            f"{len(in_force)} changes of `taut host apply` are in force: the host is not as found; "
            "call `taut host undo` first"
        )


def take_back(
    host: Host,
    writer: Writer,
    holder: str,
    *,
    keep_archive: bool = True,
    waits: Callable[[], bool] = lambda: False,
) -> UndoReport:
    """Undo what a holder changed; HostStateError: something is not as it was.

    `waits`: whether to wait for another apply or undo that takes longer than a moment.
    """
    journal = Journal(host)
    if not journal.is_there:
        return UndoReport(was_empty=True)
    with journal.locked(waits):
        ours = {entry.generation for entry in journal.load().entries if entry.holder == holder}
        if not ours:
            return UndoReport(was_empty=True)
        report = undo(host, writer, journal, generations=ours)
    if report.is_refused:
        names = ", ".join(touched.setting.name for touched in report.strangers)
        raise HostStateError(
            f"{names}: changed by somebody else meanwhile; nothing was put back: `taut host undo "
            "--force` does"
        )
    if report.failed:
        names = ", ".join(touched.setting.name for touched in report.failed)
        raise HostStateError(f"{names}: could not be put back; see `taut host undo`")
    if report.archive is not None and not keep_archive:
        # The archive would only tell of changes that were all taken back.
        report.archive.unlink()
    return report


def holders(host: Host) -> list[str]:
    """Name who holds changes in the journal, without those made by hand."""
    entries = Journal(host).load().entries
    return list(dict.fromkeys(entry.holder for entry in entries if entry.holder))


@contextmanager
def undisturbed() -> Iterator[list[int]]:
    """Delay Ctrl-C and other signals to end: changes are made whole, and taken back whole.

    Gives those that came so far; the first of them is raised at the end.
    """
    came: list[int] = []
    # A signal mask is not enough: another thread gets the signal, and Python raises in this one.
    before = {
        number: signal.signal(number, lambda number, _: came.append(number))
        for number in _WAITING
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if came:
            signal.raise_signal(came[0])
