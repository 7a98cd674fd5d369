"""The numbers of a distribution, as results.json and the documents of captures have them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from taut.records.documents.json_field import LEFT_OUT, key, rest

Interval: TypeAlias = tuple[int | None, int | None]
"""Low and high end in ns; None: that end is not known."""


@dataclass(frozen=True)
class Figures:
    """One population of one metric, in ns; None where no packet was seen."""

    n: int
    n_eff: Mapping[str, int] | None = None
    """By percentile: how many independent packets the packets are worth; None: not known."""
    min_ns: int | None = field(default=None, metadata=key("min"))
    mean_ns: float | None = field(default=None, metadata=key("mean"))
    stdev_ns: float | None = field(default=None, metadata=key("stdev"))
    percentiles_ns: Mapping[str, int | None] = field(
        default_factory=dict, metadata=rest(prefix="p")
    )
    max_ns: int | None = field(default=None, metadata=key("max"))
    definition: str | None = field(default=None, metadata=LEFT_OUT)
    """What defines the metric: in words."""

    @property
    def p50_ns(self) -> int | None:
        return self.percentiles_ns["p50"]

    def value_ns(self, name: str) -> float | None:
        """Give min, mean, stdev, max or a percentile; KeyError: there is no such figure."""
        if name in self.percentiles_ns:
            return self.percentiles_ns[name]
        others = {
            "min": self.min_ns,
            "mean": self.mean_ns,
            "stdev": self.stdev_ns,
            "max": self.max_ns,
        }
        return others[name]


NO_FIGURES = Figures(0)
"""Stands for a metric that was not measured."""


@dataclass(frozen=True)
class Blocks:
    """Blocks of time, and how many of them hold a packet as slow as each percentile."""

    n: int
    n_above: Mapping[str, int]


@dataclass(frozen=True)
class Doubt:
    """How far the percentiles of service latency are known."""

    unsupported_percentiles: tuple[str, ...]
    """Percentiles with too few independent packets above them."""
    n_above: Mapping[str, int]
    """How many packets lie above each percentile."""
    confidence_intervals: Mapping[str, Interval]
    """At 95 %. Without an upper end the percentile is only known to be at least the lower one."""
    blocks: Blocks | None
    """None: nobody knows when packets were late, so each counts as independent of the others."""
