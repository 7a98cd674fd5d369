"""`taut host noise`: poll on cores and say what kept them from it.

As oslat (rt-tests), sysjitter (Solarflare) and hiccups (rigtorp) do, with their names where they
agree: `core` and `max` are all three's (Core and Maximum of oslat, int_max of sysjitter, max_ns of
hiccups), `threshold`, `runtime` and `total %` are sysjitter's; a gap is sysjitter's interrupt and
the hiccup of hiccups. Percentiles are of all times between two readings of the clock, as oslat's
buckets, not of gaps only, as sysjitter's.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from taut.binaries.noise import CoreNoise, Noise, NoiseRequest, measure_noise, read_periods
from taut.cli.options import JsonOption, WaitOption, parse_cores
from taut.core.cpus import CpuSet, cpuset_cores, format_cpu_list
from taut.core.errors import InputError, InterruptedRun
from taut.core.units import format_ns, parse_duration_ns
from taut.host.host import Host
from taut.records.documents.json_form import plain
from taut.records.documents.noise import NoiseDocument, NoiseOfCore
from taut.report.columns import GUTTER, labels, numbers, print_columns
from taut.report.paragraph import print_note, print_paragraph
from taut.testbed.core_locks import measuring_on
from taut.testbed.scratch import Scratch

EXAMPLES = ("taut host noise --cores 1 --duration 5s",)


def noise(
    cores: Annotated[
        str | None,
        typer.Option(
            metavar="CPUS", help="To poll on, as 2-3; default: isolated, else all but the first."
        ),
    ] = None,
    duration: Annotated[
        str, typer.Option(metavar="TIME", help="How long; Ctrl-C ends it early.")
    ] = "10s",
    threshold: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="A longer time between two readings of the clock is a gap."
        ),
    ] = "1us",
    priority: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, max=99, help="SCHED_FIFO with this priority; 0: as taut runs."
        ),
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for every gap with its time, and the histograms."),
    ] = None,
    hdr: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for core_N.hgrm and core_N.hlog (HdrHistogram)."),
    ] = None,
    wait: WaitOption = False,
    as_json: JsonOption = False,
) -> None:
    """Poll on cores and measure what keeps them from it: kernel, hypervisor, firmware, others."""
    host = Host()
    request = NoiseRequest(
        duration_ns=parse_duration_ns(duration),
        threshold_ns=parse_duration_ns(threshold),
        cores=_online(host, parse_cores(cores)) or _default_cores(host),
        priority=priority,
    )
    tell = partial(print_note, Console(stderr=True))
    is_kept = out is not None or hdr is None
    with (
        measuring_on(request.cores, wait=wait, waiting=tell),
        nullcontext(out) if is_kept else Scratch("noise") as folder,
    ):
        if hdr is not None:
            _make_folder(hdr)
        request = replace(request, out=folder)
        started = datetime.now(UTC)
        found = measure_noise(request)
        if hdr is not None and request.out is not None:
            _write_hdr(found, request.out, hdr, started)
    if as_json:
        typer.echo(json.dumps(plain(as_document(found)), indent=1))
    else:
        _print(found)
    if found.was_interrupted:
        raise InterruptedRun("interrupted: the figures are of the time until then")


def as_document(found: Noise) -> NoiseDocument:
    """Give what was measured as `--json` prints it."""
    return NoiseDocument(
        threshold_ns=found.threshold_ns,
        priority=found.priority,
        interrupted=found.was_interrupted,
        cores=tuple(
            NoiseOfCore(
                core=row.core,
                runtime_ns=row.duration_ns,
                samples=row.samples,
                gaps=row.n_gaps,
                gaps_not_logged=row.not_logged,
                total_ns=row.stolen_ns,
                total_percent=100 * row.stolen_share,
                max_ns=row.worst_ns,
                max_at_ns=row.worst_at_ns,
                period_ns=row.period_ns,
                gaps_over_ns={str(ns): n for ns, n in row.over.items()},
            )
            for row in found.cores
        ),
    )


def _online(host: Host, cores: CpuSet | None) -> CpuSet | None:
    """Give the cores asked for, before one is held; InputError: one of them is not online."""
    online = host.online_cores()
    absent = [core for core in cores or () if online and core not in online]
    if absent:
        shown = format_cpu_list(online)
        raise InputError(f"core {absent[0]} is not online; online are {shown}")
    return cores


def _default_cores(host: Host) -> CpuSet:
    """Give the isolated cores that may be used, else all of the cpuset but the first.

    As taut-noise would choose: it is told these, so that what it polls on is what is held.
    """
    usable = cpuset_cores()
    isolated = tuple(core for core in host.isolated_cores() if core in usable)
    return isolated or usable[1:] or usable


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--hdr {folder}: {error.strerror}; name a folder to write to") from None


def _write_hdr(found: Noise, raw: Path, folder: Path, started: datetime) -> None:
    from taut.analysis.hdr_export import write_both  # heavy, and seldom wanted

    for row in found.cores:
        write_both(
            folder / f"core_{row.core}",
            {0: read_periods(raw, row.core)},
            started,
            what="time between two readings of the clock",
            interval_ns=(0, row.duration_ns),
        )


def _print(found: Noise) -> None:
    console = Console()
    how = f"SCHED_FIFO {found.priority}" if found.priority else "ordinary priority"
    polled = format_cpu_list(row.core for row in found.cores)
    words = f"Polled on {polled}, {how}; threshold {format_ns(found.threshold_ns)}."
    print_paragraph(console, words)
    _print_cores(console, found.cores)
    not_logged = sum(row.not_logged for row in found.cores)
    if not_logged:
        words = f"{not_logged} gaps are counted, but were too many to keep one by one."
        print_paragraph(console, words)


def _print_cores(console: Console, cores: Sequence[CoreNoise]) -> None:
    """Print one column a core, as oslat does, and as many beside each other as there is room."""
    lines = list(_lines(cores))
    name_width = max(len(name) for name, _ in lines)
    width = max(len(cell) for _, cells in lines for cell in cells)
    n_beside = max(1, (console.width - name_width) // (GUTTER + width))
    for at in range(0, len(cores), n_beside):
        shown = slice(at, at + n_beside)
        columns = [labels("core"), *(numbers(str(row.core)) for row in cores[shown])]
        print_columns(console, columns, [[name, *cells[shown]] for name, cells in lines])


def _lines(rows: Sequence[CoreNoise]) -> Iterator[tuple[str, list[str]]]:
    yield "runtime", [format_ns(row.duration_ns) for row in rows]
    yield "samples", [str(row.samples) for row in rows]
    for name in rows[0].period_ns:
        yield f"period {name}", [format_ns(row.period_ns[name]) for row in rows]
    yield "max", [format_ns(row.worst_ns) for row in rows]
    yield "max at", [f"{row.worst_at_ns / 1e9:.3f} s" for row in rows]
    for ns in rows[0].over:
        yield f"gaps over {format_ns(ns)}", [str(row.over[ns]) for row in rows]
    yield "total", [format_ns(row.stolen_ns) for row in rows]
    yield "total %", [f"{100 * row.stolen_share:.4g}" for row in rows]
