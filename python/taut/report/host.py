"""The host's audit of a run, in words: what failed, and what of it matters to the run's cores."""

from collections.abc import Mapping
from typing import Any

Audit = Mapping[str, Any]

COLUMNS = ("check", "severity", "what", "observed", "wanted", "why it matters", "remedy")
_WORST_FIRST = ("critical", "major", "minor", "note")
_MATTERS = ("critical", "major")
_NAMED = 4


def warnings(audit: Audit | None) -> list[str]:
    """One line for the top of the report, where checks failed that cost tens of microseconds."""
    if audit is None:
        return []
    worst = [row for row in failed_rows(audit) if row["matters"]]
    if not worst:
        return []
    named = ", ".join(f"{row['id']} {row['title']}" for row in worst[:_NAMED])
    more = f" and {len(worst) - _NAMED} more" if len(worst) > _NAMED else ""
    checks = "check fails" if len(worst) == 1 else "checks fail"
    return [
        f"host: {len(worst)} {checks} that can cost the cores of this run ({audit['cores']}) tens "
        f"of microseconds or more: {named}{more}; taut host plan says what to do"
    ]


def summary(audit: Audit) -> str:
    """How many checks are in which state, and for whom."""
    counts = audit["counts"]
    return (
        f"Role {audit['role']}, cores {audit['cores'] or 'not named'}: {len(audit['checks'])} "
        f"checks, {counts['PASS']} pass, {counts['FAIL']} fail, {counts['UNKNOWN']} unknown, "
        f"{counts['NOT_APPLICABLE']} do not apply. Audited before the first trial, without "
        "watching counters; taut host audit does more."
    )


def failed_rows(audit: Audit) -> list[dict[str, Any]]:
    """Checks that failed, the worst first, each with its first remedy in words."""
    rows = [
        # Runs of before have no words for a fault.
        {
            **row,
            "title": row.get("fault") or row["title"],
            "matters": row["severity"] in _MATTERS,
            "remedy": _remedy(row),
        }
        for row in audit["checks"]
        if row["state"] == "FAIL"
    ]
    return sorted(rows, key=lambda row: _WORST_FIRST.index(row["severity"]))


def unknown_rows(audit: Audit) -> list[Mapping[str, Any]]:
    """Checks nobody could make."""
    return [row for row in audit["checks"] if row["state"] == "UNKNOWN"]


def _remedy(row: Mapping[str, Any]) -> str:
    if not row["remedies"]:
        return ""
    first = row["remedies"][0]
    return str(first["by_hand"] or first["summary"])
