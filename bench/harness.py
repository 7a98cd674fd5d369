"""What the benchmarks share: one short trial, its distribution, and a markdown table.

They stand on taut's own drivers and links, so that a peer is started exactly as in an experiment,
but read the generator's histograms themselves: no Parquet, no analysis, nothing to wait for.
"""

import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from taut.core.binaries import find_binary
from taut.dut.drivers import DRIVERS
from taut.records.layout import FILE_HEADER, HISTOGRAM, SERIES
from taut.testbed.cleanup import clean
from taut.testbed.links import LINKS
from taut.testbed.scope import RunScope, default_base

# 64 pages of 2 MB for the generator, as many for the device.
HUGEPAGES = 128
MAX_LOSS = 0.001
# A rate that was not reached was not measured.
MIN_ACHIEVED = 0.999


@dataclass(frozen=True)
class Variant:
    """One device under test with its options."""

    label: str
    driver: str
    options: dict[str, Any]

    def missing(self) -> str | None:
        """Say why it cannot run here; None when it can."""
        driver = DRIVERS[self.driver]
        return driver.missing(driver.options_type(**self.options))


Beside = Callable[[int | None, Path], AbstractContextManager[object]]
"""What runs from the device's start to the generator's end: the device's process, a folder."""

LOOPBACK = Variant("loopback (no device)", "loopback", {})


@dataclass(frozen=True)
class Trial:
    """What one run of the generator left."""

    document: dict[str, Any]
    histograms: np.ndarray[Any, Any]
    max_rss_kib: int
    line_ns: float
    """Right before it: what a line of memory took from one core to the other (line.c)."""

    def percentile_ns(self, series: str, share: float, *, with_void: bool = False) -> float:
        """Give a percentile_disc of what is not cold, nor void unless asked for; NaN of nothing."""
        rows = self.histograms
        wanted = (rows["series"] == SERIES.index(series)) & (rows["is_cold"] == 0)
        if not with_void:
            wanted &= rows["is_void"] == 0
        rows = np.sort(rows[wanted], order="value_ticks")
        if rows.size == 0:
            return float("nan")
        cumulated = np.cumsum(rows["count"])
        at = np.searchsorted(cumulated, share * cumulated[-1])
        # Signed: the departure error may be negative, stored in two's complement.
        ticks = rows["value_ticks"].astype(np.int64)[min(int(at), rows.size - 1)]
        return float(ticks) * 1e9 / float(self.document["clock"]["tsc_hz"])

    def share(self, *counters: str) -> float:
        """Give a sum of counters as a share of the packets due."""
        numbers = self.document["counters"]
        return sum(int(numbers[name]) for name in counters) / max(1, int(numbers["due"]))

    def forwarded_pps(self) -> float:
        """Give how many packets came back a second of sending."""
        counters = self.document["counters"]
        sent = max(1, int(counters["sent"]))
        return float(self.document["achieved_pps"]) * int(counters["matched"]) / sent

    def passed(self) -> bool:
        """Whether the rate was offered and less than 0.1 % of it lost or refused."""
        achieved = self.document["achieved_pps"] / self.document["offered_pps"]
        return bool(achieved >= MIN_ACHIEVED and self.share("lost", "unsent") < MAX_LOSS)


class Bench:
    """Runs trials one after the other, on two cores."""

    def __init__(
        self, scope: RunScope, generator_core: int, device_core: int, programs: Path
    ) -> None:
        self.scope = scope
        self.generator_core = generator_core
        self.device_core = device_core
        self._line = compiled(programs, "line", "-pthread")

    def trial(
        self,
        variant: Variant,
        rate_pps: int,
        seconds: float,
        record: str = "none",
        beside: Beside = lambda *_: nullcontext(),
        more: Sequence[str] = (),
    ) -> Trial:
        """Load one device and give what the generator, with `more` options, saw."""
        driver = DRIVERS[variant.driver]
        options = driver.options_type(**variant.options)
        line_ns = self._line_ns()
        # The disk, not /tmp, which may be memory: records on must cost what they cost.
        folder = Path(f"/var/tmp/taut-bench-{self.scope.id}")
        self.scope.make_temp(folder)
        try:
            with (
                self._ports(driver.n_links, driver, options, folder) as (tx, rx, device),
                beside(device, folder),
            ):
                load = ["--rate", f"{rate_pps}pps", "--record", record]
                load += ["--duration", f"{round(seconds * 1000)}ms", "--warm-up", "500ms"]
                return self._generate(tx, rx, [*load, *more], folder, line_ns)
        finally:
            subprocess.run(["rm", "-rf", str(folder)], check=True)
            self.scope.release_temp(folder)

    @contextmanager
    def _ports(
        self, n_links: int, driver: Any, options: Any, folder: Path
    ) -> Iterator[tuple[str, str, int | None]]:
        link = LINKS["memif"]
        if n_links == 0:
            with link.open_loopback(self.scope) as loop:
                yield loop.tx_port, loop.rx_port, None
            return
        with (
            link.open(self.scope, n_links) as links,
            driver.running(links, (self.device_core,), options, folder, self.scope) as dut,
        ):
            yield links[0].generator_port, links[1].generator_port, dut.pid

    def _line_ns(self) -> float:
        """NaN on one core."""
        if self.generator_core == self.device_core:
            return float("nan")
        cores = [str(self.generator_core), str(self.device_core)]
        return float(
            subprocess.run([*self._line, *cores], check=True, stdout=subprocess.PIPE).stdout
        )

    def _generate(
        self, tx: str, rx: str, load: Sequence[str], folder: Path, line_ns: float
    ) -> Trial:
        out = folder / "out"
        command = ["setpriv", "--pdeathsig", "KILL", str(find_binary("taut-generate"))]
        command += ["--tx", tx, "--rx", rx, "--frame", "64", *load]
        command += ["--core", str(self.generator_core), "--out", str(out)]
        command += ["--deadline", "200ms"]
        with (folder / "generator.log").open("w+") as log:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **self.scope.environment},
            )
            _, status, usage = os.wait4(child.pid, 0)
            if os.waitstatus_to_exitcode(status) != 0:
                log.seek(0)
                sys.exit(f"bench: {shlex.join(command)} failed:\n{log.read()[-2000:]}")
        document = json.loads((out / "generator.json").read_text())
        body = (out / "histograms.bin").read_bytes()[FILE_HEADER.itemsize :]
        return Trial(document, np.frombuffer(body, HISTOGRAM), usage.ru_maxrss, line_ns)


@contextmanager
def opened(generator_core: int, device_core: int, n_hugepages: int = HUGEPAGES) -> Iterator[Bench]:
    """Take hugepages and a run's name; give both back."""
    clean(default_base())
    with RunScope() as scope, TemporaryDirectory(prefix="taut-bench-") as programs:
        scope.add_hugepages(n_hugepages)
        yield Bench(scope, generator_core, device_core, Path(programs))


def compiled(programs: Path, name: str, *libraries: str) -> tuple[str]:
    """Compile one C file of this folder."""
    out = programs / name
    source = Path(__file__).resolve().parent / f"{name}.c"
    subprocess.run(["cc", "-O2", "-o", out, source, *libraries], check=True)
    return (str(out),)


def abba(variants: Sequence[Variant], repetitions: int) -> Iterator[Variant]:
    """Interleave: forwards, backwards, forwards ..., so that drift hits all alike."""
    for repetition in range(repetitions):
        yield from variants if repetition % 2 == 0 else reversed(variants)


def max_rates(
    bench: Bench, variants: Sequence[Variant], ceiling_pps: int, seconds: float, steps: int
) -> dict[str, int]:
    """Bisect the highest passing rate of all variants in step; a rate fails when it fails twice."""
    low = {variant.label: 0 for variant in variants}
    high = {variant.label: ceiling_pps for variant in variants}
    for step in range(steps):
        for variant in variants if step % 2 == 0 else reversed(variants):
            name = variant.label
            if low[name] == ceiling_pps:
                continue
            rate = ceiling_pps if step == 0 else (low[name] + high[name]) // 2
            passed = any(bench.trial(variant, rate, seconds).passed() for _ in range(2))
            progress(f"{name}: {rate / 1e6:.2f} Mpkt/s {'passed' if passed else 'failed'}")
            (low if passed else high)[name] = rate
    return low


def progress(text: str) -> None:
    """Say on stderr what happens, so that stdout is the document."""
    print(f"bench: {text}", file=sys.stderr, flush=True)


def heading(title: str) -> None:
    """Print the command and the machine above its tables."""
    cpus = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line for line in cpus if line.startswith("model name")), ": unknown CPU")
    dpdk = subprocess.run(
        ["pkg-config", "--modversion", "libdpdk"], capture_output=True, text=True, check=False
    ).stdout.strip()
    print(f"## {title}\n")
    print(
        f"`{shlex.join(['.venv/bin/python', *sys.argv])}` on {model.partition(': ')[2]}, ", end=""
    )
    print(f"{os.cpu_count()} cores, Linux {platform.release()}, DPDK {dpdk}\n")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a markdown table."""
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)


def best(values: Sequence[float], better: Callable[..., float], digits: int = 0) -> str:
    """Write the best turn and the worst; `better` is max or min."""
    counted = [value for value in values if not np.isnan(value)]
    if not counted:
        return "-"
    worst = min(counted) if better is max else max(counted)
    return f"{better(counted):.{digits}f} ({worst:.{digits}f})"


def spread(values: Sequence[float], digits: int = 0) -> str:
    """Write the median and the range of all repetitions."""
    low, middle, high = np.min(values), np.median(values), np.max(values)
    return f"{middle:.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"
