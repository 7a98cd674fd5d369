"""Made-up rows and segments of a soak."""

from collections.abc import Mapping, Sequence

from taut.records.documents.soak import (
    SHARES,
    Clean,
    Course,
    Latency,
    Row,
    Segment,
    SegmentStart,
    SoakDocument,
)

SECOND_NS = 1_000_000_000


def latency(n: int, p50_ns: int = 1_000, max_ns: int = 9_000) -> Latency:
    if not n:
        return Latency(0, dict.fromkeys(SHARES), None)
    return Latency(n, dict.fromkeys(SHARES, p50_ns), max_ns)


def row(
    n: int = 0,
    *,
    every_s: int = 300,
    sent: int = 1_000,
    lost: int = 0,
    void: int = 0,
    above: Mapping[str, int] | None = None,
    max_ns: int = 9_000,
    p50_ns: int = 1_000,
    memory: int = 50_000_000,
) -> Row:
    above = above or {}
    return Row(
        n=n,
        start_ns=n * every_s * SECOND_NS,
        end_ns=(n + 1) * every_s * SECOND_NS,
        counters={
            "due": sent,
            "sent": sent,
            "unsent": 0,
            "lost": lost,
            "void": void,
            "lost_void": 0,
        },
        latency=latency(sent - lost, p50_ns, max_ns),
        on_time=latency(sent - lost - void, p50_ns, max_ns),
        above=above,
        above_on_time=above,
        memory_bytes={"taut": memory},
        n_gaps=0,
        gaps_ns=0,
        took_ns=1_000,
        sum_ns=float((sent - lost) * p50_ns),
    )


def segment(rows: Sequence[Row], trial: str = "000-eager-r1", device: str = "eager") -> Segment:
    start = SegmentStart(
        trial=trial,
        device=device,
        is_control=False,
        started_utc="2026-01-01T00:00:00.000+00:00",
        tsc_hz=1_000_000_000,
        warm_up_ns=0,
        planned_ns=3_600 * SECOND_NS,
        every_ns=300 * SECOND_NS,
        exact_bits=18,
        sub_bits=14,
    )
    return Segment(start, "whole", None, tuple(rows))


def course(segments: Sequence[Segment], clean: Sequence[Clean] = ()) -> Course:
    rows = [one for part in segments for one in part.rows]
    return Course(
        device="eager",
        segments=tuple(segments),
        measured_ns=sum(part.measured_ns for part in segments),
        counters={name: sum(one.counters[name] for one in rows) for name in rows[0].counters},
        latency=latency(sum(one.latency.n for one in rows)),
        on_time=latency(sum(one.on_time.n for one in rows)),
        trends=(),
        clean=tuple(clean),
        causes=(),
        beyond=None,
    )


def document(of: Course) -> SoakDocument:
    return SoakDocument("soak", of.measured_ns, 300 * SECOND_NS, of, None, (), None, ())
