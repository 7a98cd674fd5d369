"""What `taut quick` says on the terminal: one table, two sentences, and what comes next."""

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from taut.cli.run_job import Publish, Show
from taut.records.documents.results import Analysis
from taut.records.rundir import RunDirectory
from taut.report.columns import labels, numbers, print_columns, words
from taut.report.paragraph import print_paragraph, print_whole

_FEW = "each device ran once for 3 s (`taut run` repeats)"


def showing() -> tuple[Publish, Show]:
    """Give what takes an analysed run, and what prints it once its report is drawn."""
    analysed: list[Analysis] = []

    def publish(_: RunDirectory, analysis: Analysis) -> None:
        analysed.append(analysis)

    def show(report: Path) -> None:
        print_quick(analysed[0], report, Console())

    return publish, show


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
    if any(cell.endswith(cells.UNSUPPORTED_MARK) for row in rows for cell in row):
        legend = f"{cells.UNSUPPORTED_MARK} {cells.UNSUPPORTED}."
        print_paragraph(console, legend, style="dim")
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
        (f"taut explain {report.parent}", "why packets were late; `taut run` as root knows more"),
    )
    print_columns(console, [labels(""), words("")], following, "  ")


def found_words(medians: Mapping[str, str]) -> str:
    """Say what was found, in one sentence; `medians` in words."""
    if not {"eager", "buffered"} <= medians.keys():
        return f"Only {', '.join(medians) or 'nothing'} could be measured: the report says why."
    floor = f" ({medians['floor']} without any device)" if "floor" in medians else ""
    return (
        f"Half of the packets take less than {medians['eager']} when each is sent at once{floor}, "
        f"{medians['buffered']} when it waits for a batch."
    )
