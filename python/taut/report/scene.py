"""What figures draw from: the devices under one load, with their exact distributions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from taut.analysis.compare import Pair
from taut.analysis.distribution import add_equal
from taut.analysis.load import LoadKey, load_of, load_words
from taut.analysis.pairing import AnalysedRun
from taut.analysis.surroundings import USUAL, names_among, words_among
from taut.analysis.trial_tables import DISTRIBUTION, Distributions
from taut.analysis.worst import has_worst, read_worst
from taut.core.percentiles import PERCENTILES
from taut.records.documents.results import TrialResult, Variant
from taut.records.documents.search import SearchOfDevice
from taut.records.tables import TRIALS
from taut.report.palette import DEVICE_TOKENS, FLOOR_TOKENS, N_SHADES, colour_devices, shade
from taut.report.run_names import run_names

Ints = npt.NDArray[np.int64]

_ALWAYS = 10_000
"""One packet in so many: p99.99, the rarest percentile that every table has."""


@dataclass(frozen=True)
class SlowPacket:
    """One of the slowest packets of a trial."""

    sent_ns: int
    latency_ns: int
    is_void: bool


@dataclass(frozen=True)
class Device:
    """One line of a figure: a variant, its repetitions and where they lie."""

    label: str
    name: str
    """The label without the state of the host, the placement and the neighbour."""
    row: Variant
    trials: Sequence[TrialResult] = field(repr=False)
    runs: Mapping[str, Path] = field(repr=False)
    """Each trial's run directory."""

    @property
    def is_floor(self) -> bool:
        """Whether it is the instrument's floor."""
        return self.row.is_floor

    @property
    def state(self) -> str:
        """The state of the host it was measured in."""
        return self.row.device.host

    @property
    def neighbour(self) -> str:
        """Who else was busy meanwhile."""
        return self.row.device.beside

    @cached_property
    def _distributions(self) -> Mapping[str, Distributions]:
        """Those of each trial."""
        return {t.name: Distributions(self.folder_of(t) / DISTRIBUTION) for t in self.trials}

    def counts(
        self, metric: str, *, with_void: bool = True, of: TrialResult | None = None
    ) -> tuple[Ints, Ints]:
        """Count the distinct values of a metric, ascending.

        Repetitions, unless one is asked for, and directions are merged, the warm-up is left out.
        """
        chosen = self._distributions.values() if of is None else [self._distributions[of.name]]
        rows = pa.concat_tables(distributions.of(metric) for distributions in chosen)
        keep = ~rows["is_cold"].to_numpy()
        if not with_void:
            keep &= ~rows["is_void"].to_numpy()
        return add_equal(rows["value_ns"].to_numpy()[keep], rows["n"].to_numpy()[keep])

    @property
    def slowest_trial(self) -> TrialResult:
        """The repetition with the slowest packet."""
        return max(self.trials, key=lambda t: t.latency().max_ns or 0)

    def folder_of(self, trial: TrialResult) -> Path:
        """The folder of one of its trials."""
        return self.runs[trial.name] / TRIALS / trial.name

    def worst(self, n: int) -> list[SlowPacket]:
        """List the n slowest packets of the repetition with the slowest one; none if unrecorded."""
        trial, folder = self.slowest_trial, self.folder_of(self.slowest_trial)
        if not trial.measured.every_packet or not has_worst(folder):
            return []
        rows = read_worst(folder, n).to_pylist()
        return [SlowPacket(row["sent_ns"], row["latency_ns"], bool(row["is_void"])) for row in rows]


@dataclass(frozen=True)
class Scene:
    """Devices under one load, and all loads for the figures that compare them."""

    load: LoadKey
    title: str
    devices: Sequence[Device]
    colours: Mapping[str, str]
    """A colour token for each label of the run: a device keeps it in shades, as far as they go."""
    all_devices: Sequence[Device]
    pairs: Sequence[Pair] = ()
    """Devices of two runs that are compared under this load."""
    searches: Sequence[SearchOfDevice] = ()
    """The searches of devices, in the first scene of a report of a search."""

    @property
    def is_captured(self) -> bool:
        """Whether all its packets come from captures: no generator, no floor."""
        return all(device.row.device.is_capture for device in self.devices)

    @property
    def percentiles(self) -> list[str]:
        """What its table has: all to p99.99, further out where a row has packets enough."""
        return [
            name
            for name, (over, under) in PERCENTILES.items()
            if under <= _ALWAYS * (under - over)
            or any(name not in device.row.doubt.unsupported_percentiles for device in self.devices)
        ]

    @property
    def at_every_rate(self) -> list[Device]:
        """All devices under this load, at whatever rate."""
        return [
            device
            for device in self.all_devices
            if load_of(device.row)._replace(asked_pps=self.load.asked_pps) == self.load
        ]

    def colours_of(self, labels: Iterable[str]) -> dict[str, str]:
        """Give the colour tokens of the labels drawn, in their order."""
        return {label: self.colours[label] for label in labels}

    @property
    def asked_interval_us(self) -> float | None:
        """The mean time between packets that were asked for; None: no rate is known."""
        offered_pps = self.devices[0].row.offered_pps
        return 1e6 / offered_pps if offered_pps else None


def make_scenes(
    runs: Sequence[AnalysedRun],
    loads: Sequence[LoadKey],
    names: Sequence[str] = (),
) -> list[Scene]:
    """One scene a load, in the given order; `names` of the runs as list_devices takes them."""
    devices = list_devices(runs, names)
    # States of one device side by side, otherwise as the run listed its devices.
    names = list(dict.fromkeys(d.name for d in devices))
    floors_first = sorted(devices, key=lambda d: (not d.is_floor, names.index(d.name)))
    colours = _colours(floors_first)
    scenes = []
    for load in loads:
        here = [d for d in floors_first if load_of(d.row) == load and _has_packets(d)]
        if here:
            scenes.append(Scene(load, load_words(here[0].row.load), here, colours, floors_first))
    return scenes


def _colours(devices: Sequence[Device]) -> dict[str, str]:
    own = colour_devices({d.name: d.is_floor for d in devices})
    around = dict.fromkeys(d.row.device.surroundings for d in devices)
    # Names that are shades themselves have none left for their surroundings.
    if len(around) > N_SHADES or not {*own.values()} <= {*FLOOR_TOKENS, *DEVICE_TOKENS}:
        return colour_devices({d.label: d.is_floor for d in devices})
    measured = sorted(around, key=lambda one: [a != b for a, b in zip(one, USUAL, strict=True)])
    return {d.label: shade(own[d.name], measured.index(d.row.device.surroundings)) for d in devices}


def list_devices(runs: Sequence[AnalysedRun], names: Sequence[str] = ()) -> list[Device]:
    """Every variant of every run with a label no other variant of its load has.

    Where there are several runs it has the run's name: one of `names`, or its folder's.
    """
    devices = []
    called = names_among(analysis.variants for _, analysis in runs)
    around = words_among(row.device for _, analysis in runs for row in analysis.variants)
    for (run, analysis), run_name in zip(runs, names or run_names(runs), strict=True):
        by_name = {trial.name: trial for trial in analysis.trials}
        for row in analysis.variants:
            name = called(row)
            label = ", ".join((name, *around(row.device)))
            if len(runs) > 1:
                name, label = (f"{said} ({run_name})" for said in (name, label))
            trials = [by_name[name] for name in row.trials]
            where = dict.fromkeys(row.trials, run.path)
            devices.append(Device(label, name, row, trials, where))
    return devices


def _has_packets(device: Device) -> bool:
    return bool(device.row.latency.n)
