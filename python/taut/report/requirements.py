"""Requirements judged, as a reader sees them: in the terminal, and for those who read JUnit."""

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from itertools import groupby

from rich.console import Console

from taut.analysis.judging import Judged, overall
from taut.analysis.proof import Verdict
from taut.records.documents.check import CheckDocument, RequirementJudged
from taut.report.comparison import WITHOUT_VOID
from taut.report.paragraph import INDENT, print_paragraph

_STYLES = {
    Verdict.MET: "bold green",
    Verdict.NOT_MET: "bold red",
    Verdict.NOT_SHOWN: "bold yellow",
    Verdict.INVALID: "bold magenta",
}


def headline(judged: Sequence[Judged]) -> str:
    """Say in one sentence how many requirements are met."""
    counts = {v: sum(j.verdict is v for j in judged) for v in Verdict}
    words = [f"{n} {verdict}" for verdict, n in counts.items() if n]
    return f"{overall(judged).upper()}: {', '.join(words)} of {len(judged)} requirements."


def print_requirements(
    judged: Sequence[Judged], console: Console, *, without_void: bool = False
) -> None:
    """Print the verdict first, then each requirement under its device and load."""
    print_paragraph(console, headline(judged), style=_STYLES[overall(judged)])
    for called, members in groupby(judged, key=lambda one: one.called):
        print_paragraph(console, called, style="bold")
        for one in members:
            line = f"{one.verdict}  {one.requirement.text}: {one.said}."
            style = _STYLES[one.verdict]
            print_paragraph(console, line, indent="  ", hanging=2 * INDENT, style=style)
    if without_void:
        print_paragraph(console, WITHOUT_VOID, style="dim")


COLUMNS = ("device and load", "requirement", "verdict", "why")
TITLE = "What is required"
LEGEND = (
    "pass, fail: shown with 95 % confidence, where late packets of one stall count as one; where "
    "none may fail (max, min, loss = 0, in_a_row, outage, 100 %) one packet decides, and a pass "
    "says that none of those measured failed. inconclusive: neither is shown, by too few "
    "independent packets, among so many requirements, in too short a time or without the records. "
    "invalid: what was measured is the instrument, or not whole."
)


def rows_of(judged: Sequence[Judged]) -> list[tuple[str, ...]]:
    """Give the cells of each requirement."""
    return [(j.called, j.requirement.text, j.verdict.value, j.said) for j in judged]


def check_document(run: str, judged: Sequence[Judged], *, without_void: bool) -> CheckDocument:
    """Give what `taut check --json` prints."""
    return CheckDocument(
        run=run,
        verdict=overall(judged).value,
        without_void=without_void,
        requirements=tuple(
            RequirementJudged(
                device=one.device,
                load=one.load,
                trials=one.trials,
                requirement=one.requirement.text,
                verdict=one.verdict.value,
                said=one.said,
                n=one.n,
                n_eff=one.n_eff,
                needed_ns=one.needed_ns,
            )
            for one in judged
        ),
    )


def junit_xml(run: str, judged: Sequence[Judged]) -> str:
    """Give JUnit's XML: a test case each; what is not shown is an error, not a failure."""
    counts = {v: sum(j.verdict is v for j in judged) for v in Verdict}
    n_errors = counts[Verdict.NOT_SHOWN] + counts[Verdict.INVALID]
    totals = {
        "tests": str(len(judged)),
        "failures": str(counts[Verdict.NOT_MET]),
        "errors": str(n_errors),
        "skipped": "0",
    }
    top = ET.Element("testsuites", totals)
    suite = ET.SubElement(top, "testsuite", {"name": f"taut check {run}", **totals})
    for one in judged:
        names = {"classname": one.called, "name": one.requirement.text}
        case = ET.SubElement(suite, "testcase", names)
        if one.verdict is Verdict.NOT_MET:
            ET.SubElement(case, "failure", {"message": one.said})
        elif one.verdict is not Verdict.MET:
            ET.SubElement(case, "error", {"type": one.verdict.value, "message": one.said})
        ET.SubElement(case, "system-out").text = one.said
    ET.indent(top)
    return ET.tostring(top, encoding="unicode", xml_declaration=True) + "\n"
