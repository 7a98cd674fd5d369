"""What results.json warns of in a trial, by what generator and device counted."""

from collections.abc import Iterator

from taut.analysis.load import rate_words, share_words
from taut.core.units import format_ns
from taut.records.documents.generator import GapCounters, GeneratorResult
from taut.records.documents.results import TrialFigures
from taut.records.documents.trial import Dut

_MANY = 0.01
"""From this share of what was sent on, frames that are no probes may be what is lost."""


def warnings_of(figures: TrialFigures, generator: GeneratorResult, dut: Dut) -> list[str]:
    """Give what is odd in a trial's counters, one line each."""
    found: list[str] = [f"sums do not reconcile: {s}" for s in figures.sums_failures]
    if not figures.rate_ok:
        found.append(
            f"rate: {figures.achieved_pps:.0f} of {figures.offered_pps:.0f} pkt/s achieved, "
            f"{figures.unsent} unsent"
        )
    if figures.instrument_limited:
        found.append(f"instrument-limited: {share_words(figures.void_share)} of packets are void")
    least = figures.metrics.latency().min_ns
    if least is not None and least < 0:
        found.append(f"negative latency: {least} ns; the clock or the stamps are wrong")
    for who, gaps in _logs(generator, dut):
        if gaps is not None and gaps.not_logged:
            found.append(f"{gaps.not_logged} gaps of {who} were not logged, only counted")
    dropped = sum(port.rx_missed + port.rx_no_mbuf for port in generator.ports or ())
    if dropped and figures.lost:
        found.append(
            f"the generator's own port dropped {dropped} frames: the loss is not the device's alone"
        )
    if min(figures.foreign, figures.lost) > _MANY * figures.sent:
        found.append(
            f"{figures.foreign} frames came back that are no probes, and {figures.lost} probes did "
            "not: the device may move what they carry (a tunnel, a tag, NAT64; docs/measure.md, "
            '"What taut sends"); measure it by two captures (`taut analyze`); or it answers them '
            "(ICMP), or others send there"
        )
    short = _shorter_than_the_deadline(generator)
    if short is not None and figures.lost:
        found.append(short)
    if not figures.warm.matched:
        when = " after the warm-up" if figures.matched else ""
        found.append(f"no packet came back{when}")
    if dut.died is not None:
        found.append(dut.died)
    return found


def _shorter_than_the_deadline(generator: GeneratorResult) -> str | None:
    """Say what counts as lost where more was sent within the deadline than is kept; None: less."""
    kept, pps = generator.in_flight, generator.achieved_pps
    if kept is None or not pps or pps * kept.deadline_ns <= kept.capacity * 1e9:
        return None
    if generator.counters.get("due", 0) <= kept.capacity * max(len(generator.directions), 1):
        return None
    return (
        f"what was not back within {format_ns(kept.capacity * 1e9 / pps)} counts as lost: of "
        f"{rate_words(pps)} no more is kept, and the deadline of {format_ns(kept.deadline_ns)} "
        "is longer; ask for a shorter one, or a lower rate"
    )


def _logs(generator: GeneratorResult, dut: Dut) -> Iterator[tuple[str, GapCounters | None]]:
    """Give what each polling thread counted of its gaps; a chain has one a hop."""
    yield "the generator", generator.gaps
    hops = [(hop.name, hop.stats) for hop in dut.hops or ()]
    for who, stats in [("the device", dut.stats), *hops]:
        yield who, None if stats is None else stats.gaps
