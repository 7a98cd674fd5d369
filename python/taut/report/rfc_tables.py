"""The tables of the RFCs, and taut's exact percentiles of all packets: a row a frame size.

Trials in which the generator was held up are in none of the numbers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from taut.analysis.load import bounds_words, frame_words, share_words
from taut.core.units import digits_of, format_ns
from taut.records.documents.rfc import (
    FIRST_BURST,
    LatencyFound,
    LatencyTrial,
    RfcDocument,
    RfcOfDevice,
)
from taut.report import cells
from taut.report.rfc_numbers import (
    UNSURE,
    counted,
    frame_len,
    marked,
    median_of,
    percentiles_of,
    shown,
    spread_of,
)
from taut.report.search import irregular_words


@dataclass(frozen=True)
class Table:
    """One of the RFC's tables: of each row the first cell names it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str


def _throughput(_: RfcDocument, rows: Sequence[RfcOfDevice]) -> Table:
    return Table(
        "Throughput",
        ("frame", "throughput", "bit rate", "most offered", "share", "note"),
        tuple(
            (
                frame_words(row.frame),
                _at_least(row.throughput_pps),
                _bits(row.throughput_pps, row.frame),
                _at_least(row.max_pps if row.is_max_known else None),
                _share(row.throughput_pps, row.max_pps if row.is_max_known else 0.0),
                _irregular(row),
            )
            for row in rows
        ),
        "The highest rate, of each direction, at which no frame was lost (26.1). Most offered: "
        "what stands for the maximum of the medium. Bits are those of frames with their FCS.",
    )


def _irregular(row: RfcOfDevice) -> str:
    return row.throughput.stopped or irregular_words(row.throughput.found[0])


def _of_latency(
    rows: Sequence[RfcOfDevice], make: Callable[[LatencyFound], tuple[str, ...]]
) -> tuple[tuple[str, ...], ...]:
    """Give the cells of each row with latency trials, behind its frame size and rate."""
    return tuple(
        (frame_words(row.frame), cells.rate(row.latency.load_pps), *make(row.latency))
        for row in rows
        if row.latency is not None
    )


def _trials(found: LatencyFound) -> str:
    return f"{len(counted(found.trials))} of {len(found.trials)}"


def _tags(found: LatencyFound) -> str:
    """Say of how many tagged packets, those lost or void among them, there is a latency."""
    good, _ = shown(found.trials)
    n_back = sum(one.n_tags for one in good)
    n = n_back + sum(one.n_tags_lost + one.n_tags_void for one in good)
    return share_words(n_back / n) if n else cells.NOTHING


_MARKED = "With ?: the generator was held up in all trials, and the numbers may be its own."
_COUNTED = (
    f"Trials: those that count, of all; in the others the generator itself was held up. {_MARKED}"
)
_TAGGED = (
    "Tags: the share of the tagged packets that have a latency; the others were lost, or the "
    "generator was late with them."
)


def _latency(document: RfcDocument, rows: Sequence[RfcOfDevice]) -> Table:
    if document.rfc == "8219":
        return _typical(rows)

    def make(found: LatencyFound) -> tuple[str, ...]:
        good, mark = shown(found.trials)
        tags = [one.tags_mean_ns for one in good if one.tags_mean_ns is not None]
        mean = cells.time(fmean(tags)) if tags else cells.NOTHING
        return marked(mean, mark), _tags(found), _trials(found)

    return Table(
        "Latency",
        ("frame", "rate", "latency", "tags", "trials"),
        _of_latency(rows, make),
        "At the throughput (26.2): the average, over the trials, of the latency of one tagged "
        "packet, from the stamp before it is handed over to the stamp behind its receipt: as of "
        f"a store and forward device, its sending counted in. {_TAGGED} {_COUNTED}",
    )


def _typical(rows: Sequence[RfcOfDevice]) -> Table:
    def make(found: LatencyFound) -> tuple[str, ...]:
        return (
            *_median_and_ends(found, lambda one: one.tags_p50_ns),
            *_median_and_ends(found, lambda one: one.tags_p99_9_ns),
            _tags(found),
        )

    return Table(
        "Latency: typical (TL) and worst case (WCL)",
        ("frame", "rate", "TL", "its p1, p99", "WCL", "its p1, p99", "tags"),
        _of_latency(rows, make),
        "At the throughput (7.2): median and 99.9th percentile of the tagged packets of each "
        "trial, and of those the median over the trials, with their 1st and 99th percentiles. "
        "Latency is from the stamp before a packet is handed over to the stamp behind its "
        f"receipt: as of a store and forward device, its sending counted in. {_TAGGED} {_MARKED}",
    )


def _median_and_ends(
    found: LatencyFound, of: Callable[[LatencyTrial], float | None]
) -> tuple[str, str]:
    trials, mark = shown(found.trials)
    low, high = percentiles_of(trials, of)
    ends = cells.NOTHING if low is None else f"{cells.time(low)}, {cells.time(high)}"
    return marked(cells.time(median_of(trials, of)), mark), marked(ends, mark)


def _all_packets(_: RfcDocument, rows: Sequence[RfcOfDevice]) -> Table:
    def make(found: LatencyFound) -> tuple[str, ...]:
        good, mark = shown(found.trials)
        n_lost = sum(one.lost for one in good)
        n_due = n_lost + sum(one.received for one in good)
        void = [one.void for one in good]
        medians = [
            median_of(good, of)
            for of in (lambda one: one.p50_ns, lambda one: one.p99_ns, lambda one: one.p99_9_ns)
        ]
        most = max((one.max_ns for one in good if one.max_ns is not None), default=None)
        return (
            cells.count(n_lost),
            cells.NOTHING if None in void else _share(sum(filter(None, void)), n_due),
            *(marked(cells.time(ns), mark) for ns in (*medians, most)),
            _trials(found),
        )

    return Table(
        "Latency of all packets on time",
        ("frame", "rate", "lost", "void", "p50", "p99", "p99.9", "max", "trials"),
        _of_latency(rows, make),
        "Of the same trials, beyond what the RFC asks for: the median over the trials of each "
        "percentile, exactly, and the highest maximum. Lost: with what was refused. Void: packets "
        "that the generator was late with, lost or not; they are in no latency. – stands where an "
        f"older taut measured: there they are among the latencies. {_COUNTED}",
    )


def _variation(document: RfcDocument, rows: Sequence[RfcOfDevice]) -> Table:
    def make(found: LatencyFound) -> tuple[str, ...]:
        good, mark = shown(found.trials)
        return (
            *_median_and_ends(found, lambda one: one.pdv_p99_9_ns),
            *(
                marked(cells.time(median_of(good, of)), mark)
                for of in (
                    lambda one: one.ipdv_min_ns,
                    lambda one: one.ipdv_p50_ns,
                    lambda one: one.ipdv_max_ns,
                )
            ),
        )

    return Table(
        "Packet delay variation",
        ("frame", "rate", "PDV", "its p1, p99", "IPDV min", "median", "max"),
        _of_latency(rows, make) if document.rfc == "8219" else (),
        "Of all packets of the latency trials (7.3), without void ones: PDV is the 99.9th "
        "percentile of latency less the minimum of all, IPDV the difference of two packets sent "
        "one after the other. Medians over the trials that count, of PDV with the 1st and 99th "
        "percentiles.",
    )


def _reordering(_: RfcDocument, rows: Sequence[RfcOfDevice]) -> Table:
    return Table(
        "Reordering",
        ("frame", "rate", "received", "reordered", "longest extent", "3-reordered"),
        _of_latency(rows, _order_of),
        "Of all latency trials (RFC 4737): packets that came behind one with a higher number; how "
        "many arrivals back the first such one was; and how many had three such ones right before "
        "them, which TCP takes for a loss. A direction by itself, whatever the flow.",
    )


def _order_of(found: LatencyFound) -> tuple[str, ...]:
    received = sum(one.received for one in found.trials)
    known = [one.reordered for one in found.trials if one.reordered is not None]
    if not known:
        return cells.count(received), cells.NOTHING, cells.NOTHING, cells.NOTHING
    late = sum(known)
    extents = [one.longest_extent for one in found.trials if one.longest_extent is not None]
    third = sum(one.n_reordered[2] for one in found.trials if len(one.n_reordered) > 2)
    words = f"{late:,} ({share_words(late / received)})" if late and received else f"{late:,}"
    return (
        cells.count(received),
        words,
        f"{max(extents):,}" if extents else cells.NOTHING,
        cells.count(third),
    )


def _loss(_: RfcDocument, rows: Sequence[RfcOfDevice]) -> Table:
    shares = sorted({at.share for row in rows for at in row.loss or ()}, reverse=True)

    def cell(row: RfcOfDevice, share: float) -> str:
        at = next((at for at in row.loss or () if at.share == share), None)
        if at is None:
            return ""
        return marked(share_words(at.loss_ratio), UNSURE if at.instrument_limited else "")

    return Table(
        "Frame loss rate",
        ("frame", *(share_words(share) for share in shares)),
        tuple(
            (frame_words(row.frame), *(cell(row, share) for share in shares))
            for row in rows
            if row.loss
        ),
        "Lost and unsent over due (26.3), at shares of the most that can be offered, down to two "
        "in a row at which nothing is lost. With ?: the generator itself was held up in every "
        "attempt; the median one stands here, and may be its own doing.",
    )


def _recovery(_: RfcDocument, rows: Sequence[RfcOfDevice]) -> Table:
    made = []
    for row in rows:
        if row.recovery is None:
            continue
        good, mark = shown(row.recovery.trials)
        # Where nothing was lost there was no overload to recover from.
        overloaded = [one for one in good if one.lost_before or one.lost_after]
        times = [one.recovery_ns for one in overloaded if one.recovery_ns is not None]
        lost = [one.lost_before for one in good if one.lost_before is not None]
        void = [one.lost_void_after for one in good if one.lost_void_after is not None]
        ends = f"{cells.time(min(times))}, {cells.time(max(times))}" if times else cells.NOTHING
        made.append(
            (
                frame_words(row.frame),
                _at_least(row.throughput_pps),
                cells.rate(row.recovery.overload_pps),
                marked(cells.time(fmean(times)) if times else cells.NOTHING, mark),
                marked(ends, mark),
                f"{0 if mark else len(times)} of {len(row.recovery.trials)}",
                cells.count(sum(lost)) if lost else cells.NOTHING,
                cells.count(sum(void)) if void else cells.NOTHING,
            )
        )
    return Table(
        "System recovery",
        (
            "frame",
            "throughput",
            "overload",
            "recovery",
            "least, most",
            "trials",
            "lost before",
            "void after",
        ),
        tuple(made),
        "From the end of the overload, when the rate falls to half of it, to the last packet lost "
        "(26.5), averaged over so many trials. Lost before: under the overload; where that is "
        "nothing, there was none to recover from. Void after: lost afterwards while the generator "
        "was held up; where one of these came last, before 1,000 others were back, nobody knows "
        "the time. With ?: as above.",
    )


def _bursts(document: RfcDocument, rows: Sequence[RfcOfDevice]) -> Table:
    made = []
    for row in rows:
        if row.bursts is None:
            continue
        good, mark = shown(row.bursts.longest)
        lengths = [float(one.length) for one in good]
        average = fmean(lengths)
        implied_ns = 1e9 * average / row.max_pps
        throughput = row.throughput_pps or 0.0
        free = 1 - throughput / row.max_pps
        is_at_limit = any(one.is_at_limit for one in good)
        made.append(
            (
                frame_words(row.frame),
                marked(_frames(average) + ("!" if is_at_limit else ""), mark),
                ", ".join(map(_frames, (min(lengths), max(lengths), spread_of(lengths)))),
                marked(cells.time(implied_ns), mark),
                marked(cells.time(implied_ns * free), mark),
                f"{len(counted(row.bursts.longest))} of {len(row.bursts.longest)}",
            )
        )
    limit = format_ns(document.recipe.burst_most_ns)
    return Table(
        "Back-to-back frames",
        ("frame", "average", "min, max, sd", "implied buffer", "corrected buffer", "N"),
        tuple(made),
        "The longest burst, at the most that can be offered, of which nothing is lost (RFC 9004 "
        "6.3, 6.4). Implied buffer time: the average over that rate; corrected: without what the "
        "device, at its throughput, sent meanwhile. N: searches that count, of all; each doubles "
        f"the burst from {FIRST_BURST} frames on, then halves between, until its ends are "
        f"{100 * document.recipe.burst_step:g} % or one frame apart. With !: some burst had the "
        f"most that is allowed ({limit}), so it is no limit of the device. With ?: in all of them "
        "the generator was held up or sent more slowly than at that rate, so that it is of the "
        "whole path.",
    )


def reset_words(row: RfcOfDevice) -> str:
    """Make RFC 6201's statement: loss and times, averaged, and what they are of."""
    assert row.reset is not None
    good, mark = shown(row.reset.trials)
    known = [one for one in good if one.lost is not None]
    back = [one for one in known if one.reset_ns is not None]
    of = f"Reset by stopping and starting {row.device} ({frame_words(row.frame)}, "
    of += f"{cells.rate(row.reset.load_pps)}; RFC 6201 4.2.2)"
    if not known:
        return f"{of}: packets were not recorded, so for how long nothing came is not known."
    if not back:
        return f"{of}: it did not come back; {len(row.reset.trials)} trials."
    n_gone = len(known) - len(back)
    gone = f" In {n_gone} of them it did not come back; these are in no average." if n_gone else ""
    times = [one.reset_ns for one in back if one.reset_ns is not None]
    by_loss = [one.by_loss_ns for one in back if one.by_loss_ns is not None]
    lost = [one.lost for one in back if one.lost is not None]
    n_void = sum(one.lost_void or 0 for one in back)
    void = f" ({n_void:,} more in all, while the generator was held up)" if n_void else ""
    return (
        f"{of}: no packet for {format_ns(fmean(times))}{mark} on average "
        f"({format_ns(min(times))} to {format_ns(max(times))}); {fmean(lost):,.0f} packets lost, "
        f"which at that rate are {format_ns(fmean(by_loss))}{void}; "
        f"{len(counted(row.reset.trials))} of {len(row.reset.trials)} trials count"
        + (", for the generator was held up meanwhile." if mark else ".")
        + gone
    )


def _at_least(pps: float | None) -> str:
    return cells.NOTHING if pps is None else bounds_words(pps, None)[0]


def _bits(pps: float | None, frame: str) -> str:
    length = frame_len(frame)
    if pps is None or length is None:
        return cells.NOTHING
    return f"{digits_of(pps * length * 8 / 1e6, 4)} Mbit/s"


def _share(pps: float | None, most: float) -> str:
    return cells.NOTHING if pps is None or not most else share_words(pps / most)


def _frames(n: float | None) -> str:
    return cells.NOTHING if n is None else f"{n:,.0f}"


TABLES = (
    _throughput,
    _latency,
    _all_packets,
    _variation,
    _loss,
    _recovery,
    _bursts,
    _reordering,
)
"""Each makes one of the tables of a device; one without rows is not shown."""
