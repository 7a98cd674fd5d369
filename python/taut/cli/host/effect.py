"""`taut host effect`: what a knob does to the gaps of this machine, measured off and on in turn."""

import json
import os
import random
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from taut.core.cpus import CpuSet, format_cpu_list, parse_cpu_list
from taut.core.errors import InputError, InterruptedRun, MissingToolError
from taut.core.units import format_ns, parse_duration_ns
from taut.host.audit import find_situation
from taut.host.checks import CHECKS
from taut.host.effect import (
    CONFIDENCE,
    METHOD,
    Effect,
    check_repetitions,
    measure_effect,
)
from taut.host.host import Host
from taut.host.knob import Knob, find_knob, launcher, settle_s, turned_on
from taut.host.noise import Noise, NoiseRequest, measure_noise
from taut.host.situation import Situation
from taut.host.writer import Writer

FORMAT = 1
"""Of the JSON document."""


def effect(
    knob: Annotated[
        list[str],
        typer.Argument(
            help="A check's id (R06), KEY=VALUE (vm.stat_interval=10, or a path below /proc/irq or "
            "/sys), SCHED_FIFO[:PRIORITY], cpuset. Several are turned together."
        ),
    ],
    cores: Annotated[
        str | None,
        typer.Option(help="To poll on, as 2-3; default: isolated, else all but the first."),
    ] = None,
    repetitions: Annotated[int, typer.Option(help="Pairs of measurements, off and on.")] = 10,
    duration: Annotated[str, typer.Option(help="Of one measurement.")] = "5s",
    threshold: Annotated[
        str, typer.Option(help="A longer time between two readings of the clock is stolen.")
    ] = "1us",
    priority: Annotated[
        int, typer.Option(min=0, max=99, help="SCHED_FIFO of all measurements; 0: as taut runs.")
    ] = 0,
    settle: Annotated[str, typer.Option(help="Wait so long after every change.")] = "1s",
    seed: Annotated[int | None, typer.Option(help="Of the order; default: a new one.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Turn a knob off and on in turn, measure the gaps, and say what it does with an interval.

    Every change goes through the journal, is verified and taken back; so it is after Ctrl-C.
    """
    check_repetitions(repetitions)
    host = Host()
    situation = _situation(host, cores)
    knobs = [find_knob(word, host, situation, CHECKS) for word in knob]
    if any(one.changes for one in knobs) and os.geteuid() != 0:
        raise MissingToolError("effect: changes this machine for a while; run as root")
    request = NoiseRequest(
        parse_duration_ns(duration), parse_duration_ns(threshold), situation.cores, priority
    )
    trial = _Trial(host, knobs, request, repetitions, parse_duration_ns(settle) / 1e9)
    number = random.SystemRandom().randrange(1 << 32) if seed is None else seed
    with _told_to_end():
        try:
            found = measure_effect(trial.measure, trial.turned_on, repetitions, number)
        except KeyboardInterrupt:
            raise InterruptedRun("interrupted: all is as it was, nothing is shown") from None
    document = as_document(found, knobs, trial, number)
    if as_json:
        typer.echo(json.dumps(document, indent=1))
    else:
        _print(found, knobs, trial, number)


class _Trial:
    """Measures with the knobs off or on, and says on standard error where it is."""

    def __init__(
        self,
        host: Host,
        knobs: Sequence[Knob],
        request: NoiseRequest,
        repetitions: int,
        settle: float,
    ) -> None:
        self.host, self.knobs, self.request = host, knobs, request
        self.before_on_s, self.before_off_s = settle_s(knobs, host, settle)
        self.changes_s = self.before_on_s + self.before_off_s
        self._n_done, self._n_all = 0, 2 * repetitions
        self._was_on = False
        self._token = f"effect-{os.getpid()}"

    def turned_on(self) -> Any:
        """Hold the knobs on."""
        return turned_on(self.knobs, self.host, Writer(self.host), self._token)

    def measure(self, is_on: bool) -> Noise:
        """Let the machine settle where something changed, then poll."""
        if is_on != self._was_on:
            time.sleep(self.before_on_s if is_on else self.before_off_s)
        self._was_on = is_on
        self._n_done += 1
        self._say(f"{self._n_done} of {self._n_all}: {'on' if is_on else 'off'}")
        return measure_noise(self.asked(is_on=is_on))

    def asked(self, *, is_on: bool) -> NoiseRequest:
        """What is measured, with what the knobs say of how."""
        request = self.request
        own = next((one.priority for one in self.knobs if one.priority), 0) if is_on else 0
        return NoiseRequest(
            request.duration_ns,
            request.threshold_ns,
            request.cores,
            own or request.priority,
            launcher=launcher(self.knobs, self.host) if is_on else (),
        )

    def _say(self, text: str) -> None:
        if not sys.stderr.isatty() and self._n_done > 1:
            return
        left = self._n_all - self._n_done + 1
        seconds = left * (self.request.duration_ns / 1e9 + self.changes_s / 2)
        typer.echo(f"measurement {text}, about {format_ns(seconds * 1e9)} left", err=True)


def as_document(found: Effect, knobs: Sequence[Knob], trial: _Trial, seed: int) -> dict[str, Any]:
    """Give the effect as `--json` prints it."""
    return {
        "format": FORMAT,
        "knobs": [
            {
                "name": knob.name,
                "summary": knob.summary,
                "why": knob.why,
                "source": knob.source,
                "changes": [
                    {"setting": change.setting.name, "on": change.wanted} for change in knob.changes
                ],
            }
            for knob in knobs
        ],
        "cores": list(trial.request.cores),
        "duration_ns": trial.request.duration_ns,
        "threshold_ns": trial.request.threshold_ns,
        "priority": {
            "off": trial.asked(is_on=False).priority,
            "on": trial.asked(is_on=True).priority,
        },
        "settle_s": {"on": trial.before_on_s, "off": trial.before_off_s},
        "seed": seed,
        "orders": ["off on" if order == (False, True) else "on off" for order in found.orders],
        "method": METHOD,
        "confidence": CONFIDENCE,
        "figures": [
            {
                "name": row.figure.name,
                "unit": row.figure.unit,
                "off": list(row.off),
                "on": list(row.on),
                "difference": row.difference.estimate,
                "low": row.difference.low,
                "high": row.difference.high,
                "verdict": row.verdict,
            }
            for row in found.figures
        ],
    }


def _situation(host: Host, cores: str | None) -> Situation:
    if cores is not None and not parse_cpu_list(cores):
        raise InputError(f"cores {cores!r}: names no core")
    found = find_situation(host, cores=_chosen(host, cores))
    if not found.cores:
        raise InputError("effect: this machine has one core; nothing could be kept off it")
    return found


def _chosen(host: Host, cores: str | None) -> CpuSet:
    if cores is not None:
        return parse_cpu_list(cores)
    return find_situation(host).cores or host.online_cores()[1:]


@contextmanager
def _told_to_end() -> Iterator[None]:
    """Take SIGTERM and a closed terminal as Ctrl-C: the knobs are turned back."""

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        raise KeyboardInterrupt

    before: dict[int, Any] = {
        number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _print(found: Effect, knobs: Sequence[Knob], trial: _Trial, seed: int) -> None:
    console = Console(highlight=False)
    for knob in knobs:
        console.print(f"{knob.name}: {knob.summary}", markup=False)
        if knob.why:
            console.print(f"  known: {knob.why} ({knob.source})", markup=False)
    n, cores = len(found.orders), format_cpu_list(trial.request.cores)
    console.print(
        f"{n} pairs of {format_ns(trial.request.duration_ns)}, cores {cores}, seed {seed}."
    )
    table = Table(box=None)
    interval = f"{100 * CONFIDENCE:.0f} % interval"
    for name in ("", "off", "on", "on - off", interval, "shown"):
        table.add_column(name, justify="left" if name in ("", "shown") else "right", no_wrap=True)
    for row in found.figures:
        off, on = row.medians
        low, high = row.difference.low, row.difference.high
        table.add_row(
            escape(f"{row.figure.name}, {row.figure.unit}"),
            _short(off),
            _short(on),
            _short(row.difference.estimate),
            f"{_short(low)} to {_short(high)}",
            row.verdict,
        )
    console.print(table)
    console.print(f"Off and on: medians, per core. {METHOD}.", markup=False)
    if all(row.difference.holds_zero for row in found.figures):
        console.print("No effect shown; that is not the same as no effect.")


def _short(value: float) -> str:
    """Three digits, and never an exponent."""
    for letter, size in (("M", 1e6), ("k", 1e3)):
        if abs(value) >= 10 * size:
            return f"{value / size:.0f}{letter}"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 or value == 0 else "~0"
