"""Which percentiles are reported, their ranks, and how many packets must lie above one."""

from collections.abc import Mapping

PERCENTILES: Mapping[str, tuple[int, int]] = {
    "p50": (50, 100),
    "p90": (90, 100),
    "p99": (99, 100),
    "p99.9": (999, 1000),
    "p99.99": (9999, 10_000),
    "p99.999": (99_999, 100_000),
    "p99.9999": (999_999, 1_000_000),
}
"""Each percentile as numerator and denominator: ranks are then integers, and nothing rounds."""

SUPPORT = 10
"""A percentile with fewer packets above it than this says more about luck than about the path."""


def percentile_rank(n: int, fraction: tuple[int, int]) -> int:
    """Give the rank, from 1, of a percentile among n ascending values (SQL's percentile_disc)."""
    over, under = fraction
    return max(1, -(-n * over // under))


def share_above(name: str) -> float:
    """Give the share of packets above a percentile, 0 to 1."""
    over, under = PERCENTILES[name]
    return (under - over) / under


def is_supported(n: int, name: str) -> bool:
    """Whether of n packets at least SUPPORT lie above a percentile."""
    over, under = PERCENTILES[name]
    return n * (under - over) >= SUPPORT * under
