"""Which skips continuous integration lets pass: those of allowed_skips.txt, and no other."""

import re
from pathlib import Path

import pytest

ALLOWED = Path(__file__).with_name("allowed_skips.txt")


def read_allowed(path: Path = ALLOWED) -> dict[str, str]:
    """Give the component that is missing, by the pattern of the reasons that say so."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    rows = [re.split(r"\s{2,}", line, maxsplit=1) for line in lines if not line.startswith("#")]
    return {pattern: component for component, pattern in rows}


def lacks(reason: str, allowed: dict[str, str]) -> str | None:
    """Name the component a skip is for; None: it is for something else."""
    return next((name for pattern, name in allowed.items() if re.search(pattern, reason)), None)


def fail_unless_allowed(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn the skip of a test, or of a file, into its failure, unless it is for a component."""
    if not report.skipped or hasattr(report, "wasxfail") or not isinstance(report.longrepr, tuple):
        return
    reason = report.longrepr[2]
    if lacks(reason, read_allowed()) is None:
        report.outcome = "failed"
        report.longrepr = f"{reason}: tests/{ALLOWED.name} has no component that says so"
