#!/usr/bin/env python3
"""Time and memory against packets: analyze, report, explain, and a report counted by each engine.

    .venv/bin/python bench/scale.py [--packets 1e5,1e6,1e7] [--only report;duckdb] [--quick]

Every point is one process of taut, start-up included, on inputs that are made here
(scale_input.py, make_pair.py) and then in the page cache.  Processor time is that of all its
processes and of a server's, memory what they were seen to have at one time.  `report` is of a trial
without a trace and counted in one pass (taut-count), the engines' by `taut report --engine NAME`,
`spark` with two executors; `explain` has the same trial with a trace.  `parts, 1 executor` and
`parts, 2 executors` are Spark counting the metrics alone, of packets in a folder of Parquet files.

With --results FILE each point is kept as a line as soon as it is there, and drawn with those that
the file has already: a long measurement can be made in pieces, and repeated; of points of one job
and size the one that took the least processor time counts.  --anew forgets what the file has of
the jobs that are measured.  --draw FOLDER writes the figures.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from captures import TAUT, made, paths_in
from harness import heading, progress, table
from make_pair import Pair
from processes import run_process
from scale_figures import draw
from scale_input import add_trace, make_scaled_run, write_parts

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
import servers
from taut.storage.engines import ENGINES

N_PARTS = 8

Server = Callable[[], AbstractContextManager[str | None]]


@dataclass(frozen=True)
class Job:
    """One way to be slow: the words of a command, made of its input and a server's URL."""

    command: Callable[[Path, str | None], Sequence[str]]
    server: Server = nullcontext
    missing: Callable[[], str | None] = lambda: None


@dataclass(frozen=True)
class Point:
    """What one process took, as a line of --results has it."""

    job: str
    packets: int
    seconds: float
    processor_s: float
    memory_mib: float


def main() -> None:
    """Print one table, a row a size and a column a job; where asked draw it."""
    options = parse()
    kept: Path | None = options.results
    points = _read(kept) if kept is not None and kept.exists() else []
    if options.anew:
        points = [p for p in points if p.job not in options.only]
        _write(points, kept)
    for n_packets in options.packets:
        for point in _measured_at(n_packets, options.only, options.folder):
            points.append(point)
            progress(f"{point.job}, {point.packets:,} packets: {_cell(point)}")
            _write(points, kept)
    heading("Scale")
    table(*rows_of(points))
    if options.draw is not None:
        curves: dict[str, dict[int, tuple[float, float]]] = {}
        for name, at in _by_job(points).items():
            curves[name] = {n: (point.processor_s, point.memory_mib) for n, point in at.items()}
        draw({name: curves[name] for name in DRAWN if name in curves}, options.draw)


def parse() -> argparse.Namespace:
    """Read the command line; without a job or a size nothing is measured, only drawn."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--packets", default="1e5,1e6,1e7", help="sizes; none with an empty text")
    parser.add_argument("--only", help=f"jobs of {', '.join(JOBS)}, joined by `;`")
    parser.add_argument("--quick", action="store_true", help="1e4 and 1e5 packets alone")
    parser.add_argument("--results", type=Path, metavar="FILE", help="keeps points, JSON lines")
    parser.add_argument("--anew", action="store_true", help="forget the file's points of the jobs")
    parser.add_argument("--draw", type=Path, metavar="FOLDER", help="for scale-*.svg")
    parser.add_argument("--folder", type=Path, default=Path("/var/tmp"), help="for the inputs")
    options = parser.parse_args()
    sizes = "1e4,1e5" if options.quick else options.packets
    options.packets = sorted(int(float(word)) for word in sizes.split(",") if word)
    options.only = list(JOBS) if options.only is None else options.only.split(";")
    if unknown := set(options.only) - set(JOBS):
        parser.error(f"--only {min(unknown)}: no such job")
    if not options.folder.is_dir():
        parser.error(f"--folder {options.folder}: no such folder; make it first")
    return options


# What is measured


def _analyze(folder: Path, _: str | None) -> Sequence[str]:
    return (str(TAUT), "analyze", "--json", "--no-content", *map(str, paths_in(folder)))


def _report(run: Path, _: str | None) -> Sequence[str]:
    return (str(TAUT), "report", str(run), "--again", "--json")


def _explain(run: Path, _: str | None) -> Sequence[str]:
    return (str(TAUT), "explain", str(run), "--json")


def _by_engine(name: str, run: Path, url: str | None) -> Sequence[str]:
    at = () if url is None else ("--engine-url", url)
    return (*_report(run, None), "--engine", name, *at)


def _count_parts(run: Path, url: str | None) -> Sequence[str]:
    parts = run.parent / "parts"
    if not parts.exists():
        write_parts(run, parts, N_PARTS)
    return (sys.executable, str(Path(__file__).with_name("scale_spark.py")), str(parts), str(url))


_SERVERS: Mapping[str, tuple[Server, Callable[[], str | None]]] = {
    "postgres": (servers.postgres_server, servers.missing_postgres),
    "spark": (servers.spark_cluster, servers.missing_spark),
}
_PARTS = {
    f"parts, {n} executor{'s'[: n > 1]}": Job(
        _count_parts, partial(servers.spark_cluster, n), servers.missing_spark
    )
    for n in (1, 2)
}
DRAWN = ("analyze", "report", "explain", *ENGINES)
JOBS: Mapping[str, Job] = {
    "analyze": Job(_analyze),
    "report": Job(_report),
    "explain": Job(_explain),
    **{name: Job(partial(_by_engine, name), *_SERVERS.get(name, ())) for name in ENGINES},
    **_PARTS,
}


def _measured_at(n_packets: int, names: Sequence[str], parent: Path) -> Iterator[Point]:
    """Make the inputs of one size, and measure each job on them; the trace comes last."""
    with tempfile.TemporaryDirectory(prefix="taut-bench-", dir=parent) as text:
        folder = Path(text)
        if "analyze" in names:
            with made(Pair(n_packets), folder) as files:
                yield _measured("analyze", n_packets, files.folder, folder)
        others = sorted((name for name in names if name != "analyze"), key="explain".__eq__)
        if others:
            progress(f"writing a run of {n_packets:,} packets")
            run = make_scaled_run(folder / "run", n_packets)
        for name in others:
            if (missing := JOBS[name].missing()) is not None:
                progress(f"{name} is left out: it {missing}")
                continue
            if name == "explain":
                add_trace(run, n_packets)
            yield _measured(name, n_packets, run, folder)


def _measured(name: str, n_packets: int, source: Path, folder: Path) -> Point:
    job = JOBS[name]
    with job.server() as url:
        done = run_process(job.command(source, url), folder, sampled=True)
    memory_mib = round(done.at_once_kib / 1024, 1)
    return Point(name, n_packets, round(done.seconds, 3), round(done.processor_s, 3), memory_mib)


# What is shown


def _read(path: Path) -> list[Point]:
    return [Point(**json.loads(line)) for line in path.read_text().splitlines()]


def _write(points: Sequence[Point], path: Path | None) -> None:
    if path is not None:
        path.write_text("".join(json.dumps(asdict(point)) + "\n" for point in points))


def _by_job(points: Sequence[Point]) -> dict[str, dict[int, Point]]:
    """Give the cheapest point of each job and size, by them: what else runs only adds time."""
    found: dict[str, dict[int, Point]] = {}
    for point in sorted(points, key=lambda each: each.processor_s):
        found.setdefault(point.job, {}).setdefault(point.packets, point)
    return found


def rows_of(points: Sequence[Point]) -> tuple[list[str], list[list[str]]]:
    """Give columns and rows: what each job took; a dash where it was not measured."""
    found = _by_job(points)
    names = [name for name in JOBS if name in found]
    rows = []
    for n_packets in sorted({point.packets for point in points}):
        cells = [found[name].get(n_packets) for name in names]
        rows.append([f"{n_packets:,}", *("-" if at is None else _cell(at) for at in cells)])
    return ["packets", *names], rows


def _cell(point: Point) -> str:
    """Give seconds, of them the processors' in brackets, and MiB."""
    return f"{point.seconds:.1f} ({point.processor_s:.1f}); {point.memory_mib:,.0f}"


if __name__ == "__main__":
    main()
