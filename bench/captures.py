"""How fast a pair of captures is matched, and in how much memory, beside what else could do it.

Every figure is of a whole process, start-up included, on files in the page cache; the variants
take turns. Results are compared with what make_pair.py put into the files: a wrong one ends the
bench. PostgreSQL runs on a smaller pair, and so does taut beside it.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from capture_peers import PERCENTILES
from harness import compiled, heading, progress, spread, table
from make_pair import RECORD_LEN, VARIANTS, Pair, make_pair
from processes import Run, run_process

BENCH = Path(__file__).resolve().parent
TAUT = BENCH.parent / "bin" / "taut"
PEERS = (sys.executable, str(BENCH / "capture_peers.py"))
# The pair and the Parquet of it, with something to spare.
DISK_PER_PAIR = 1.5

Runs = Mapping[str, Sequence[Run]]


@dataclass(frozen=True)
class Variant:
    """One way from two files to percentiles, or only through the files."""

    label: str
    command: tuple[str, ...]  # the two files follow
    matches: bool = True
    tells_classes: bool = False
    writes: str = ""  # the option that names what it writes


@dataclass(frozen=True)
class Files:
    """A pair in a folder, and what is in it."""

    folder: Path
    pair: Pair
    truth: Mapping[str, Any]

    @property
    def paths(self) -> tuple[Path, Path]:
        return paths_in(self.folder)

    @property
    def n_frames(self) -> int:
        """Frames of both files together."""
        counts = self.truth["counts"]
        return int(counts["ingress_frames"] + counts["egress_frames"])

    @property
    def size_bytes(self) -> int:
        """Bytes of both files' records; the two file headers are left out."""
        return self.n_frames * RECORD_LEN


def paths_in(folder: Path) -> tuple[Path, Path]:
    """Name the files of a pair."""
    return folder / "ingress.pcap", folder / "egress.pcap"


@contextmanager
def made(pair: Pair, parent: Path) -> Iterator[Files]:
    """Write a pair; remove it."""
    wanted = round(2 * pair.frames * RECORD_LEN * DISK_PER_PAIR)
    free = shutil.disk_usage(parent).free
    if free < wanted:
        sys.exit(f"bench: {parent}: {free >> 20} MiB free, {wanted >> 20} wanted; see --folder")
    folder = Path(tempfile.mkdtemp(prefix="taut-bench-", dir=parent))
    try:
        progress(f"writing {pair}")
        yield Files(folder, pair, make_pair(*paths_in(folder), pair))
    finally:
        shutil.rmtree(folder)


def main() -> None:
    """Print one table per question."""
    options = parse()
    heading("Captures")
    with tempfile.TemporaryDirectory(prefix="taut-bench-") as programs:
        variants = wanted_of(find_variants(Path(programs)), options)
        runs: Runs = {}
        if variants:
            with made(Pair(options.frames), options.folder) as files:
                runs = measure(files, variants, options.repetitions)
                speed(files, variants, runs, LEGEND)
                memory(files, variants)
    taut = [variant for variant in variants if variant.label == "taut"]
    if taut:
        faults(taut[0], options)
    postgres(taut, runs, options)
    if taut and options.long:
        long_pair(taut[0], options)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=9_000_000, help="of each file")
    parser.add_argument("--postgres-frames", type=int, default=1_000_000, help="of each file")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--long", action="store_true", help="a pair ten times as long as well")
    parser.add_argument("--folder", type=Path, default=Path("/var/tmp"), help="for the pairs")
    parser.add_argument("--only", help="labels of variants with commas, such as taut,PostgreSQL")
    return parser.parse_args()


# What is compared


def wanted_of(variants: list[Variant], options: argparse.Namespace) -> list[Variant]:
    """Leave out what --only does not name."""
    if options.only is None:
        return variants
    return [variant for variant in variants if variant.label in options.only.split(",")]


def find_variants(programs: Path) -> list[Variant]:
    """Give the variants that can run here, and say which cannot."""
    # Small files would be searched by content as well: nobody else does that.
    analyze = (str(TAUT), "analyze", "--json", "--no-content")
    found = [
        Variant("walk", compiled(programs, "walk"), matches=False),
        Variant("taut", analyze, tells_classes=True),
        Variant("taut --parquet", analyze, tells_classes=True, writes="--parquet"),
        Variant("taut --out", analyze, tells_classes=True, writes="--out"),
        Variant("DuckDB", (*PEERS, "duckdb")),
    ]
    if Path("/usr/include/pcap/pcap.h").exists():
        command = compiled(programs, "libpcap_read", "-lpcap")
        found.insert(1, Variant("libpcap", command, matches=False))
    else:
        print("libpcap is not compared: its headers are not installed.\n")
    if find_spec("polars"):
        found.append(Variant("polars", (*PEERS, "polars")))
    else:
        print("polars is not compared: it is not installed.\n")
    return found


def run(variant: Variant, files: Files, *, sampled: bool = False) -> Run:
    """Run one variant over a pair and look at what it found."""
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=files.folder))
    command = [*variant.command, *map(str, files.paths)]
    command += [variant.writes, str(folder / "out")] if variant.writes else []
    result = run_process(command, folder, sampled=sampled)
    shutil.rmtree(folder)
    check(variant, files, result.document)
    return result


def check(variant: Variant, files: Files, document: Mapping[str, Any]) -> None:
    """End the bench if a result is wrong: a fast wrong answer is no figure."""
    if variant.matches:
        found = {"matched": document["matched"]}
        found |= {name: document["latency_ns"][name] for name in PERCENTILES}
        wanted = files.truth["latency_ns"] | files.truth["counts"]
    else:
        found, wanted = {"frames": document["frames"]}, {"frames": files.n_frames}
    if variant.tells_classes:
        names = ("lost", "duplicates", "duplicate_keys", "orphans", "beyond_window", "negative")
        found |= {name: document[name] for name in (*names, "out_of_sequence")}
        found |= {f"ambiguous_{side}": n for side, n in document["ambiguous"].items()}
    wrong = {name: (value, wanted[name]) for name, value in found.items() if value != wanted[name]}
    if wrong:
        sys.exit(f"bench: {variant.label}: found and what is in the files differ: {wrong}")


# Questions


def measure(files: Files, variants: Sequence[Variant], repetitions: int) -> Runs:
    """Run all variants in turn: forwards, backwards, forwards ..."""
    runs: dict[str, list[Run]] = {variant.label: [] for variant in variants}
    run(variants[0], files)  # brings the files into the page cache
    for repetition in range(repetitions):
        for variant in variants if repetition % 2 == 0 else reversed(variants):
            runs[variant.label].append(run(variant, files))
            progress(f"{variant.label}: {runs[variant.label][-1].seconds:.2f} s")
    return runs


def median_s(runs: Sequence[Run]) -> float:
    return float(np.median([run.seconds for run in runs]))


def seconds_and_rate(files: Files, runs: Sequence[Run]) -> list[str]:
    """Give two cells: seconds, and millions of packets a second counting both sides."""
    seconds = [run.seconds for run in runs]
    return [spread(seconds, 2), spread([files.n_frames / s / 1e6 for s in seconds], 1)]


LEGEND = """ walk and libpcap only read the
records; `taut --parquet` writes Parquet of all packets as well, `taut --out` a run directory with
every metric, figures and a report; the others know frames of one length
only and tell no classes apart."""


def speed(files: Files, variants: Sequence[Variant], runs: Runs, legend: str) -> None:
    """Compare the time from files to percentiles."""
    first = "taut" if "taut" in runs else variants[0].label
    rows = []
    for variant in variants:
        of = runs[variant.label]
        stages = [
            f"{name} {spread([run.document['stages'][name] for run in of], 2)}"
            for name in of[0].document.get("stages", ())
        ]
        ratio = f"{median_s(of) / median_s(runs[first]):.2f}"
        rows.append([variant.label, *seconds_and_rate(files, of), ratio, ", ".join(stages) or "-"])
    print(
        f"From two pcap files of {files.pair.frames} frames ({files.size_bytes / 1e9:.2f} GB in "
        f"all) to percentiles, page cache warm,\nmedian (range) of {len(runs[first])} repetitions, "
        f"interleaved.{legend}\n"
    )
    table(["what", "s", "Mpkt/s, both sides", f"time / {first}", "stages, s"], rows)


def memory(files: Files, variants: Sequence[Variant]) -> None:
    """Compare the resident memory."""
    rows = []
    for variant in variants:
        if variant.matches:
            progress(f"memory of {variant.label}")
            rows.append([variant.label, f"{run(variant, files, sampled=True).peak_kib / 1024:.0f}"])
    if rows:
        print(
            "Peak resident memory on the same pair, in runs of their own: the peaks of all "
            "processes of a variant added up,\nwhich is what they can have had at most. Mapped "
            "files count.\n"
        )
        table(["what", "peak, MiB"], rows)


def faults(taut: Variant, options: argparse.Namespace) -> None:
    """Measure taut on pairs with planted faults, each count of which is checked."""
    rows = []
    for name in VARIANTS:
        with made(Pair(options.frames, variant=name), options.folder) as files:
            runs = measure(files, [taut], options.repetitions)[taut.label]
        counts = files.truth["counts"]
        planted = ("lost", "duplicates", "duplicate_keys", "out_of_sequence")
        cells = [str(counts[fault]) for fault in planted]
        rows.append([name, *seconds_and_rate(files, runs), *cells])
    print(f"taut on pairs of {options.frames} frames a side with planted faults: it finds all.\n")
    columns = ["pair", "s", "Mpkt/s", "lost", "duplicates", "repeated keys", "out of sequence"]
    table(columns, rows)


def postgres(taut: list[Variant], before: Runs, options: argparse.Namespace) -> None:
    """Compare with a server: COPY, join, percentile_disc."""
    if options.only is not None and "PostgreSQL" not in options.only.split(","):
        return
    # The server that the tests of the engines start: Debian's, of a folder and port of its own.
    sys.path.append(str(BENCH.parent / "tests"))
    from servers import missing_postgres, postgres_server

    if (missing := missing_postgres()) is not None:
        print(f"PostgreSQL is not compared: it {missing}.\n")
        return
    pair = Pair(options.postgres_frames)
    with made(pair, options.folder) as files, postgres_server() as url:
        variants = [*taut, Variant("PostgreSQL", (*PEERS, "--url", url, "postgres"))]
        runs = measure(files, variants, options.repetitions)
    speed(files, variants, runs, " PostgreSQL: unlogged tables, work_mem 1 GB, fsync off.")
    scale = options.frames / pair.frames
    stages_s = [sum(run.document["stages"].values()) for run in runs["PostgreSQL"]]
    scaled_s = float(np.median(stages_s)) * scale
    print(
        f"The stages of PostgreSQL scaled by {scale:g} to {options.frames} frames a side, without "
        f"its client's start: {scaled_s:.1f} s.\nNot measured, and in its favour: a join and a "
        "sort grow faster than their input."
    )
    if "taut" in before:
        ratio = scaled_s / median_s(before["taut"])
        print(f"That is {ratio:.1f} times what taut took for that many, measured above.")
    print()


def long_pair(taut: Variant, options: argparse.Namespace) -> None:
    """Measure time and memory on a pair ten times as long."""
    with made(Pair(10 * options.frames), options.folder) as files:
        runs = measure(files, [taut], 2)[taut.label]
        peak_kib = run(taut, files, sampled=True).peak_kib
    meminfo = Path("/proc/meminfo").read_text().splitlines()
    memory_kib = next(int(line.split()[1]) for line in meminfo if line.startswith("MemTotal"))
    cached = "does not fit" if files.size_bytes > memory_kib * 1024 else "may fit"
    print(
        f"Ten times as long: {files.size_bytes / 1e9:.1f} GB, which {cached} in this machine's "
        f"{memory_kib * 1024 / 1e9:.1f} GB of memory.\nWhat the page cache cannot hold comes from "
        "the disk.\n"
    )
    cells = [*seconds_and_rate(files, runs), f"{peak_kib / 1024:.0f}"]
    table(["frames a side", "s", "Mpkt/s", "peak, MiB"], [[str(files.pair.frames), *cells]])


if __name__ == "__main__":
    main()
