"""The audit predicts, explain confirms: what the host's checks said before the run of each cause.

Terminal, JSON document and report take it from here. A failed check and a seen cause agree; only
mending the one and measuring again proves that it made the other.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from taut.explain.causes import BY_ID
from taut.records.documents.audit import CheckDocument
from taut.records.documents.explanation import Checked, Outcome, Predicted
from taut.records.rundir import RunDirectory

Audit = Mapping[str, CheckDocument]
"""What a run's audit found, by the id of the check."""

_FAIL, _UNKNOWN, _PASS, _NOT_APPLICABLE = "FAIL", "UNKNOWN", "PASS", "NOT_APPLICABLE"
_TELLING_FIRST = (_FAIL, _UNKNOWN, _PASS, _NOT_APPLICABLE, "")
_MOST = 3


@dataclass(frozen=True)
class Prediction:
    """The checks of one cause, and what they say together."""

    checks: tuple[Checked, ...]
    outcome: Outcome | None
    """None: no audit, or no check is about this cause."""

    @property
    def most_telling(self) -> tuple[Checked, ...]:
        """A few checks to name, those that fail first."""
        return self.in_order[:_MOST]

    @property
    def in_order(self) -> tuple[Checked, ...]:
        """All checks, those that fail first and those that do not apply last."""
        return tuple(sorted(self.checks, key=lambda c: _TELLING_FIRST.index(c.audit)))

    @property
    def may_help(self) -> tuple[Checked, ...]:
        """Those whose remedy may help: all but what passes or does not apply."""
        return tuple(c for c in self.in_order if c.audit not in (_PASS, _NOT_APPLICABLE))

    @property
    def words(self) -> str:
        """The outcome as a sentence's part, empty where there is none."""
        if self.outcome is Outcome.PREDICTED:
            failed = ", ".join(str(c) for c in self.checks if c.audit == _FAIL)
            return f"the audit predicted this: {failed}"
        if self.outcome is Outcome.NOT_KNOWN:
            unknown = ", ".join(c.check for c in self.checks if c.audit == _UNKNOWN)
            return f"the audit could not tell: {unknown} unknown"
        if self.outcome is Outcome.NOT_PREDICTED:
            if any(c.audit == _PASS for c in self.checks):
                return "not predicted: all checks that apply pass"
            return "not predicted: no check applies here"
        return ""

    @property
    def document(self) -> Predicted:
        """What stands beside a cause's remedies in documents."""
        return Predicted(self.checks, self.outcome, self.words)


def read_audit(trial: Path | None) -> Audit | None:
    """Read the audit of the run that a trial's folder belongs to; None where there is none."""
    if trial is None:
        return None
    manifest = RunDirectory(trial.parent.parent).manifest_or_none()
    audit = None if manifest is None else manifest.audit
    return None if audit is None else {check.id: check for check in audit.checks}


def predict(cause: str, audit: Audit | None) -> Prediction:
    """Give the checks of a cause with what the audit found; `audit` None: there was none."""
    ids = BY_ID[cause].remedies
    if audit is None:
        return Prediction(tuple(Checked(check, "", "") for check in ids), None)
    checks = tuple(_checked(check, audit.get(check)) for check in ids)
    states = {check.audit for check in checks}
    if not states - {""}:
        outcome = None
    elif _FAIL in states:
        outcome = Outcome.PREDICTED
    elif _UNKNOWN in states:
        outcome = Outcome.NOT_KNOWN
    else:
        outcome = Outcome.NOT_PREDICTED
    return Prediction(checks, outcome)


def _checked(check: str, found: CheckDocument | None) -> Checked:
    """An audit of another version may lack a check."""
    return Checked(check, "", "") if found is None else Checked(check, found.title, found.state)
