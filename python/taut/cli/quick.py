"""`taut quick`: a first result in half a minute, by anybody, on any machine."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from taut.cli.run_job import WaitOption, default_out, run_and_report
from taut.experiment.plan import make_plan
from taut.experiment.run_manifest import Origin
from taut.experiment.spec import parse_spec
from taut.records.documents.results import Analysis
from taut.report.columns import labels, numbers, print_columns, words
from taut.report.paragraph import print_paragraph, print_whole

EXAMPLES = (
    "taut quick",
    "taut quick --out runs/quick --json",
)

# Not traced: that takes root. Short: 4 s a device and what starting it takes.
EXPERIMENT = """\
name = "quick"
duration = "3s"
warm_up = "500ms"
deadline = "500ms"
trace = "off"

[[device]]
driver = "taut_forward"
name = "eager"

[[device]]
driver = "taut_forward"
name = "buffered"
options = { transmit = "buffered:32,100us" }

[[traffic]]
rates = ["100kpps"]
"""
_FEW = "each device ran once for 3 s (`taut run` repeats)"


def quick(
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The run directory; default: runs/quick-TIME."),
    ] = None,
    wait: WaitOption = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print results.json on stdout and nothing else there.")
    ] = False,
) -> None:
    """Measure for 20 s what waiting for a batch costs: two forwarders and no device at all.

    Over shared memory, without root, hugepages or a network card. `eager` sends at once, `buffered`
    waits for 32 packets or 100 µs, `floor` is the same load through no device: what this machine
    itself adds.
    """
    directory = out or default_out("quick")
    analysed: list[Analysis] = []

    def show(report: Path) -> None:
        print_quick(analysed[0], report, Console())

    run_and_report(
        make_plan(parse_spec(EXPERIMENT)),
        directory,
        Origin(EXPERIMENT, "taut quick", (), tuple(sys.argv)),
        wait=wait,
        as_json=as_json,
        publish=lambda _, analysis: analysed.append(analysis),
        show=None if as_json else show,
    )


def print_quick(analysis: Analysis, report: Path, console: Console) -> None:
    """Print one table, two sentences, where the report is and what can be done next."""
    # Here, not above: measuring starts without the analysis and the report's libraries.
    from taut.analysis.trust import trust_sentence
    from taut.report import cells

    variants = analysis.variants
    devices = {row.called: row for row in variants}
    rows = []
    for device, row in devices.items():
        percentiles = (cells.percentile(row, name).text for name in ("p50", "p99", "p99.9"))
        longest = cells.time(row.latency.max_ns)
        rows.append([device, cells.lost(row).text, *percentiles, longest])
    console.print()
    about = "100,000 packets a second of 64 bytes, time from sending to receiving:"
    print_paragraph(console, about)
    console.print()
    titles = ("lost", "p50", "p99", "p99.9", "max")
    print_columns(console, [labels("device"), *map(numbers, titles)], rows)
    console.print()
    medians = {device: cells.time(row.latency.p50_ns) for device, row in devices.items()}
    trust = trust_sentence(variants, analysis.trials, _FEW)
    print_paragraph(console, f"{found_words(medians)} {trust}")
    console.print()
    print_whole(console, f"Report: {report}")
    print_paragraph(console, "Next:")
    following = (
        ("taut init", "an experiment of your own, to edit and run"),
        ("taut host audit", "what this machine does to the tail, and what helps"),
        (f"taut explain {report.parent}", "why packets were late; runs of root know more"),
    )
    print_columns(console, [labels(""), words("")], following, "  ")


def found_words(medians: Mapping[str, str]) -> str:
    """Say what was found, in one sentence; `medians` in words."""
    if not {"eager", "buffered"} <= medians.keys():
        return f"Only {', '.join(medians) or 'nothing'} could be measured: the report says why."
    floor = f" ({medians['floor']} of it without any device)" if "floor" in medians else ""
    return (
        f"Half of the packets take less than {medians['eager']} when each is sent at once{floor}, "
        f"{medians['buffered']} when it waits for a batch."
    )
