"""What a trim by packets and one by stalls share: asking, the loop, keeping what helps."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from taut.core.cpus import CpuSet
from taut.core.errors import InputError, MissingToolError, TautError
from taut.core.units import duration_words, parse_duration_ns
from taut.host.apply import Outcome, Result, apply_changes
from taut.host.check import parse_profile
from taut.host.checks import CHECKS
from taut.host.host import Host
from taut.host.plan import check_names, split_names
from taut.host.situation import Situation, device_option
from taut.host.state import HostState, describe_applied, plan_state, undisturbed, wishes_of
from taut.host.writer import Writer
from taut.records.documents.json_form import Json, plain_object
from taut.records.documents.trim import TrimDocument
from taut.testbed.core_locks import measuring_on, refuse_others
from taut.trim.bench import Bench
from taut.trim.document import as_document
from taut.trim.looks import LEAST_PAIRS
from taut.trim.trim import KEPT_STATE, Request, Trimmed, scout, trim

_WRITTEN = (Outcome.IN_FORCE, Outcome.OTHER_VALUE)

ASIDE = "taut trim: the host is changed for a while"

Ask = Callable[[Trimmed], None]
"""Asks whether what was scouted may be tried; InputError: it may not, and nothing is changed."""


def request_for(profile: str, only: str | None, budget: str) -> Request:
    """Read what is to be tried, and for how long. InputError: one of them makes no sense."""
    request = Request(
        profile=parse_profile(profile),
        only=None if only is None else tuple(split_names(only) or ()),
        budget_s=parse_duration_ns(budget) / 1e9,
    )
    check_names(CHECKS, request.only or ())
    return request


@dataclass
class Job:
    """One trim, from the scouting run to what is kept."""

    request: Request
    keep: bool
    yes: bool
    """Whether nobody has to be asked."""
    dry_run: bool
    ask: Ask | None = None
    """None: nobody can be asked."""
    _document: TrimDocument | None = None
    _situation: Situation | None = None

    @property
    def document(self) -> TrimDocument:
        """The trim as trim.json has it; only ask after `measure`."""
        assert self._document is not None, "asked for before it was measured"
        return self._document

    @document.setter
    def document(self, document: TrimDocument) -> None:
        self._document = document

    @property
    def host_words(self) -> str:
        """Say how the host is left."""
        if self._document is not None and self._document.in_force:
            return "what helps is in force, until `taut host undo`"
        return "the host is as it was"

    def plain(self) -> dict[str, Json]:
        """Give the keys of trim.json; none until it is measured."""
        return {} if self._document is None else plain_object(self._document)

    def measure(
        self,
        bench: Bench,
        situation: Callable[[], Situation],
        say: Callable[[str], None],
        *,
        scouting: str,
        target: str,
        cores: CpuSet,
    ) -> None:
        """Do everything that needs the cores; leave the host as found."""
        began = time.monotonic()
        say(scouting)
        found = scout(bench, self.request)
        self._situation = situation()
        has_some = any(c.when == "now" for c in found.candidates)
        # An empty set of remedies is measured, too, if asked for: it is the control of all others.
        if not self.dry_run and (has_some or self.request.only is not None):
            if has_some and self.ask is not None and not self.yes:
                asked = time.monotonic()
                self.ask(found)
                # Whoever thinks about it spends nothing of the budget.
                began += time.monotonic() - asked
            say("As found and trimmed, in turn.")
            found = trim(bench, self.request, found, began, say)
        self.document = as_document(
            found,
            target=target,
            figure=bench.figure,
            cores=cores,
            waiting=self._situation.waiting,
            took_s=time.monotonic() - began,
        )

    def put_in_force(self, write: Callable[[], object]) -> None:
        """Apply what is kept, if asked to, as `taut host apply` would: the journal is the user's.

        `write` then writes trim.json again, whatever became of it; no signal ends it in between.

        TautError: another measurement runs, and nothing is changed; a change failed, and all are
        taken back; the journal could not be written; or the machine did not take one, and the
        others are in force.
        """
        if not self.keep or not self.document.kept or self._situation is None:
            return
        with undisturbed():
            try:
                self._apply_kept(self._situation)
            except OSError as error:
                in_force = describe_applied(Host()) is not None
                self.document = replace(self.document, in_force=in_force)
                why = f"--keep: {error.filename or 'the host'}: {error.strerror or error}"
                undo = "; `taut host undo` takes back what was changed" if in_force else ""
                raise TautError(f"{why}{undo}") from None
            finally:
                write()

    def _apply_kept(self, situation: Situation) -> None:
        host = Host()
        state = HostState(KEPT_STATE, only=self.document.kept)
        devices = device_option(self.document.waiting)
        kept = f"--cores {self.document.cores}{devices} --only {','.join(self.document.kept)}"
        with nobody_measures(host.online_cores(), f"`taut host apply {kept}`"):
            wishes = wishes_of(plan_state(host, situation, state), state)
            report = apply_changes(host, Writer(host), wishes)
        failed = [r for r in report.results if r.outcome is Outcome.FAILED]
        if failed:
            raise TautError(f"--keep: {failed[0].wish.change.setting.name}: {failed[0].note}")
        self._tell(report.results)

    def _tell(self, results: Sequence[Result]) -> None:
        """Say in the document what is in force. TautError: the machine did not take all of it."""
        refused = refused_by_machine(results)
        in_force = not refused or any(result.outcome in _WRITTEN for result in results)
        self.document = replace(self.document, in_force=in_force)
        if not refused:
            return
        said = f"not in force: {'; '.join(refused)}"
        if in_force:
            said += "; the other changes are: `taut host undo` takes them back"
        self.document = replace(self.document, notes=(*self.document.notes, f"--keep: {said}."))
        raise TautError(f"--keep: {said}")

    def check(self, budget: str, least_s: float, shorter: str) -> None:
        """Check what must hold before measuring. `shorter`: advice on needing less than `least_s`.

        InputError: the budget is too short, or nobody can be asked. MissingToolError: not root.
        """
        if self.dry_run:
            return
        if os.geteuid() != 0:
            raise MissingToolError(f"{ASIDE}; run as root, or --dry-run")
        if not self.yes and self.ask is None:
            raise InputError(f"{ASIDE}: nobody to ask on this terminal; add --yes, or --dry-run")
        _check_budget(budget, self.request.budget_s, least_s, shorter)


@contextmanager
def nobody_measures(cores: CpuSet, later: str) -> Iterator[None]:
    """Keep all measurements off while the host is changed under them: one may wait for its turn.

    TautError: one is under way; `later` does what was to be done.
    """
    with ExitStack() as held:
        try:
            refuse_others(cores)
            held.enter_context(measuring_on(cores))
        except InputError as error:
            raise TautError(f"--keep: nothing was changed: {error}, then {later}") from None
        yield


def refused_by_machine(results: Sequence[Result]) -> list[str]:
    """Name the remedies of which nothing is in force, and settings that took another value."""
    said = [
        f"{result.wish.remedy}: {result.wish.change.setting.name}: {result.outcome}"
        for result in results
        if result.outcome is Outcome.OTHER_VALUE
    ]
    good = (Outcome.IN_FORCE, Outcome.ALREADY, Outcome.OTHER_VALUE)
    made = {result.wish.remedy for result in results if result.outcome in good}
    nothing = [one for one in results if one.wish.remedy not in made]
    return [*said, *dict.fromkeys(f"{one.wish.remedy}: {one.outcome}" for one in nothing)]


def _check_budget(budget: str, budget_s: float, least_s: float, shorter: str) -> None:
    if budget_s < least_s:
        takes = duration_words(round(least_s * 1e9))
        raise InputError(
            f"--budget {budget}: too small to show anything: {LEAST_PAIRS} pairs of runs, the "
            f"fewest that can, and the scouting run take about {takes}; "
            f"raise it, or measure less ({shorter})"
        )
