"""The host's audit of a run, in words: what failed, and what of it matters to the run's cores."""

from dataclasses import dataclass

from taut.records.documents.audit import AuditDocument, CheckDocument

COLUMNS = ("check", "severity", "what", "observed", "wanted", "why it matters", "remedy")
_WORST_FIRST = ("critical", "major", "minor", "note")
_MATTERS = ("critical", "major")
_NAMED = 4


@dataclass(frozen=True)
class Failed:
    """A check that failed, in words."""

    check: CheckDocument
    title: str
    matters: bool
    """Whether it can cost tens of microseconds."""
    remedy: str
    """The first remedy in words; empty: there is none."""


def warnings(audit: AuditDocument | None) -> list[str]:
    """One line for the top of the report, where checks failed that cost tens of microseconds."""
    if audit is None:
        return []
    worst = [row for row in failed_rows(audit) if row.matters]
    if not worst:
        return []
    named = ", ".join(f"{row.check.id} {row.title}" for row in worst[:_NAMED])
    more = f" and {len(worst) - _NAMED} more" if len(worst) > _NAMED else ""
    checks = "check fails" if len(worst) == 1 else "checks fail"
    return [
        f"host: {len(worst)} {checks} that can cost the cores of this run ({audit.cores}) tens "
        f"of microseconds or more: {named}{more}; taut host plan says what to do"
    ]


def summary(audit: AuditDocument) -> str:
    """How many checks are in which state, and for whom."""
    counts = audit.counts
    return (
        f"Role {audit.role}, cores {audit.cores or 'not named'}: {len(audit.checks)} "
        f"checks, {counts['PASS']} pass, {counts['FAIL']} fail, {counts['UNKNOWN']} unknown, "
        f"{counts['NOT_APPLICABLE']} do not apply. Audited before the first trial, without "
        "watching counters; taut host audit does more."
    )


def failed_rows(audit: AuditDocument) -> list[Failed]:
    """Checks that failed, the worst first, each with its first remedy in words."""
    rows = [
        # Runs of before have no words for a fault.
        Failed(check, check.fault or check.title, check.severity in _MATTERS, _remedy(check))
        for check in audit.checks
        if check.state == "FAIL"
    ]
    return sorted(rows, key=lambda row: _WORST_FIRST.index(row.check.severity))


def unknown_rows(audit: AuditDocument) -> list[CheckDocument]:
    """Give the checks whose state is unknown."""
    return [check for check in audit.checks if check.state == "UNKNOWN"]


def _remedy(check: CheckDocument) -> str:
    if not check.remedies:
        return ""
    first = check.remedies[0]
    return first.by_hand or first.summary
