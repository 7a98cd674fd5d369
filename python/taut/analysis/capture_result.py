"""The numbers of a matched pair of captures: what `taut analyze --json` prints.

Without a run directory nobody counts when packets were late: they are taken as independent, and
n_eff is null.  Nothing heavy is imported: for nine million packets a side, pyarrow and an
engine would take longer to start than the matching takes.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from taut.analysis.statistics import Integers, summary_of
from taut.capture.clocks import estimate_clocks
from taut.core.units import digits_of, length_words
from taut.records.documents.capture import (
    BothSides,
    CaptureDocument,
    Classes,
    ClockEstimate,
    HistogramDocument,
    SideOfCapture,
)
from taut.records.documents.figures import NO_FIGURES, Figures
from taut.records.documents.match import CaptureSide, MatchCounts, MatchReport

HISTOGRAM_BIN_NS = 100
_COARSE_NS = 100
"""Time stamps in units from here on are told: latencies of a device may be no longer."""
_MICROSECOND = 1_000
_LEAST_FRAMES = 10
"""Of fewer frames the stamps may all be whole by chance."""
_HEAD_BYTES = 64  # the keys default and routed are of these
_FCS_BYTES = 4
_KEYS_WITHOUT_FCS = {"default": "12-59", "routed": "12-20,23,26-59"}
"""Of untagged frames; without TTL and checksum of IPv4, and hop limit of IPv6."""

_PASSED_OVER = frozenset(("bad_length", "bad_time", "other_link_type", "resynchronised"))
"""Notes of a file some of whose records may be no frames: editcap counts them, too."""

Series = Callable[[str], tuple[Integers, Integers]]
"""Values of a metric, ascending, and how often each occurred; the warm-up is left out."""

DEFINITIONS = {
    "jitter": "absolute difference of the latencies of two neighbours in the ingress file, both "
    "matched, whatever their flow",
    "ipdv": "latency minus that of the frame before it in the ingress file, both matched, whatever "
    "their flow",
    "inter_departure": "ingress time stamp minus that of the packet before it; none beside a frame "
    "that is ambiguous or truncated",
    "inter_arrival": "egress time stamp minus that of the packet received before it",
}
"""Of packets that were captured: nobody says which flow they are of."""


def capture_document(report: MatchReport, counts: MatchCounts, series: Series) -> CaptureDocument:
    """Make the document of `taut analyze --json`, without intervals: they start scipy.

    `counts` and `series` come from the native matcher or from an engine: the same numbers.
    """
    latency = summary_of(*series("latency"), intervals=False)
    metrics = {name: _metric(name, series) for name in DEFINITIONS}
    clocks = estimate_clocks(report.envelope)
    return CaptureDocument(
        ingress=_side(report.ingress),
        egress=_side(report.egress),
        classes=classes(counts),
        skipped_warmup=counts.skipped_warmup,
        transfer_rate=transfer_rate(counts),
        latency=latency.figures(),
        unsupported_percentiles=tuple(latency.unsupported()),
        histogram=HistogramDocument(HISTOGRAM_BIN_NS, histogram(*series("latency"))),
        metrics=metrics,
        clocks=clocks,
        key=report.key,
        window_ns=report.window_ns,
        skip_ns=report.skip_ns,
        egress_offset_ns=report.egress_offset_ns,
        egress_drift_ppb=report.egress_drift_ppb,
        warnings=tuple(warnings(report, counts, clocks, {"latency": latency.figures(), **metrics})),
    )


def _metric(name: str, series: Series) -> Figures:
    summary = summary_of(*series(name), intervals=False)
    return replace(summary.figures(), definition=DEFINITIONS[name])


def classes(counts: MatchCounts) -> Classes:
    return Classes(
        matched=counts.matched,
        lost=counts.lost,
        duplicate_keys=counts.duplicate_keys,
        duplicates=counts.duplicates,
        orphans=counts.orphans,
        negative=counts.negative,
        beyond_window=counts.beyond_window,
        out_of_sequence=counts.out_of_sequence,
        ambiguous=BothSides(counts.ambiguous_ingress, counts.ambiguous_egress),
    )


def transfer_rate(counts: MatchCounts) -> float | None:
    """Share of the packets sent that were received; None when none was sent."""
    sent = counts.matched + counts.lost
    return counts.matched / sent if sent else None


def histogram(values: Integers, n: Integers) -> tuple[tuple[int, int], ...]:
    """Packets by latency in bins of HISTOGRAM_BIN_NS: lower edge and count, empty bins left out."""
    bins: dict[int, int] = {}
    for value, count in zip((values // HISTOGRAM_BIN_NS).tolist(), n.tolist(), strict=True):
        bins[value * HISTOGRAM_BIN_NS] = bins.get(value * HISTOGRAM_BIN_NS, 0) + count
    return tuple(sorted(bins.items()))


def failed_sums(counts: MatchCounts) -> list[str]:
    """Say which sums of docs/matching.md do not come out; empty when all do."""
    sums = {
        "ingress_frames": ("matched", "lost", "ambiguous_ingress", "truncated_ingress"),
        "egress_frames": (
            *("matched", "duplicates", "beyond_window", "orphans"),
            *("ambiguous_egress", "truncated_egress"),
        ),
    }
    n: dict[str, int] = vars(counts)
    return [
        f"{name} is {n[name]} but {' + '.join(parts)} is {sum(n[p] for p in parts)}"
        for name, parts in sums.items()
        if n[name] != sum(n[p] for p in parts)
    ]


def warnings(
    report: MatchReport,
    counts: MatchCounts,
    clocks: ClockEstimate,
    metrics: Mapping[str, Figures],
) -> list[str]:
    """What a reader must know before believing the numbers, a line each."""
    sides = (report.ingress, report.egress)
    found = [note.text for side in sides for note in side.notes]
    n_unmatched = counts.ingress_frames + counts.egress_frames - 2 * counts.matched
    found += [line for side in sides for line in _leap(side, n_unmatched)]
    found += [f"sums do not reconcile: {failure}" for failure in failed_sums(counts)]
    if not counts.matched:
        found.append(_nothing_matched(report))
    elif counts.skipped_warmup == counts.matched:
        found.append("every matched packet is within --skip: nothing is measured")
    if counts.negative:
        found.append(
            f"{counts.negative} latencies are negative: the egress clock is behind, or the files"
            " were given in the wrong order"
        )
    if counts.ambiguous_ingress:
        found.append(
            f"{counts.ambiguous_ingress} ingress frames share {counts.duplicate_keys} keys "
            "and match nothing: give --key more or other bytes"
        )
    for side, short in zip(sides, (counts.truncated_ingress, counts.truncated_egress), strict=True):
        if short and report.key == "probe":
            found.append(
                f"{side.path}: {short} frames are no probes of taut, or too short to tell; "
                "they take no part"
            )
        elif short:
            found.append(
                f"{side.path}: {short} frames hold fewer bytes than the key needs; "
                "give --key bytes that were captured"
            )
    found += _coarse_stamps(report, metrics)
    found += [
        f"{side.path}: {side.dropped} packets were dropped while it was captured, as it says: "
        f"up to so many of the {become} are not the device's"
        for side, become in zip(sides, ("orphans", "lost"), strict=True)
        if side.dropped
    ]
    found += _ends_apart(report, counts, metrics)
    if clocks.is_drift_shown:
        found.append(growth_words(clocks))
    return found


def _coarse_stamps(report: MatchReport, metrics: Mapping[str, Figures]) -> list[str]:
    """Say what stamps of whole microseconds, or the like, do to latencies."""
    found, off_ns = [], 0
    for side, between, become, sign in (
        (report.ingress, "inter_departure", "longer", 1),
        (report.egress, "inter_arrival", "shorter", -1),
    ):
        unit_ns = side.resolution_ns or 1
        if unit_ns < _COARSE_NS or side.frames < _LEAST_FRAMES:
            continue
        if unit_ns > _MICROSECOND and (
            unit_ns == metrics.get(between, NO_FIGURES).min_ns
            or _are_more_alike(metrics.get("latency", NO_FIGURES), unit_ns, report)
        ):
            continue  # the pace of a file that was made: packets at multiples of a time
        off_ns += sign * unit_ns
        unit = length_words(unit_ns)
        found.append(
            f"{side.path}: time stamps are whole {unit}: a latency is up to {unit} {become} than "
            "it was if they are cut, which its intervals do not contain; capture nanoseconds "
            "(tcpdump --nano)"
        )
    if off_ns:
        become = "longer" if off_ns > 0 else "shorter"
        found.append(
            f"time stamps of the two files are not as coarse: all latencies are "
            f"{length_words(abs(off_ns) // 2)} {become} on average than they were if stamps are cut"
        )
    return found


def _are_more_alike(latency: Figures, unit_ns: int, report: MatchReport) -> bool:
    """Whether most latencies differ by less than stamps cut to a unit would make them.

    False where both files are as coarse: what both cut off is in no latency.
    """
    slow_ns = latency.percentiles_ns.get("p90")
    if slow_ns is None or latency.min_ns is None:
        return False
    finest_ns = min(side.resolution_ns or 1 for side in (report.ingress, report.egress))
    return finest_ns < unit_ns and slow_ns - latency.min_ns < unit_ns // 2


def _leap(side: CaptureSide, n_unmatched: int) -> list[str]:
    """Name the frame whose stamp lets later ones match nothing; no line where they match."""
    leap = side.leap
    if leap is None or leap.frames_behind > n_unmatched:
        return []
    number, taken_out_by = str(leap.pos + 1), f"editcap FILE OUT {leap.pos + 1}"
    if any(note.others.get("kind") in _PASSED_OVER for note in side.notes):
        number, taken_out_by = f"{number}, without those passed over,", "editcap"
    return [
        f"{side.path}: frame {number} is stamped {length_words(leap.ahead_ns)} later than one "
        f"behind it, more than the window: {leap.frames_behind} frames match as of its time, and "
        "up to so many count as lost or orphans; if its stamp is wrong, take it out "
        f"({taken_out_by}), if the clock was set back, cut the file there"
    ]


def _ends_apart(
    report: MatchReport, counts: MatchCounts, metrics: Mapping[str, Figures]
) -> list[str]:
    """Say where one file holds a time that the other does not: nothing of it can have matched.

    Measured latencies have the clocks' offset in them, so none is left here. Packets that were lost
    at an end are not meant: it has to last longer than packets are apart, and latencies differ.
    """
    latency = metrics.get("latency", NO_FIGURES)
    if latency.min_ns is None or latency.max_ns is None:
        return []
    apart = (metrics.get(name, NO_FIGURES).max_ns for name in ("inter_departure", "inter_arrival"))
    usual_ns = max(latency.max_ns - latency.min_ns, *(longest or 0 for longest in apart))
    starts_ns = report.egress.first_ns - latency.min_ns - report.ingress.first_ns
    ends_ns = report.egress.last_ns - latency.min_ns - report.ingress.last_ns
    found = []
    for name, n, become, early_ns, late_ns in (
        ("ingress", counts.lost, "lost", starts_ns, -ends_ns),
        ("egress", counts.orphans, "orphans", -starts_ns, ends_ns),
    ):
        if n and early_ns > usual_ns:
            found.append(
                f"the {name} file begins {length_words(early_ns)} before the other one: its frames "
                f"of that time count as {become}; if the other capture began later, cut this one "
                "(editcap -A)"
            )
        if n and late_ns > usual_ns:
            found.append(
                f"the {name} file goes on for {length_words(late_ns)} after the other one ends: "
                f"its frames of that time count as {become}; if the other capture ended earlier, "
                "cut this one (editcap -B)"
            )
    return found


def drift_words(clocks: ClockEstimate) -> str:
    """Write how fast two clocks part, with its uncertainty; empty where it is not known."""
    drift, doubt = clocks.drift_ppb, clocks.drift_uncertainty_ppb
    if drift is None or doubt is None:
        return ""
    return f"{digits_of(drift)} ± {digits_of(doubt, 2)} ns a second"


def growth_words(clocks: ClockEstimate) -> str:
    """Say how the least latency changes, and by what; a drift has to be known."""
    grows, fills = ("falls", "empties") if (clocks.drift_ppb or 0) < 0 else ("grows", "fills")
    why = f"two clocks that part (--remove drift takes it off), or a queue that {fills}"
    if clocks.is_beyond_clocks:
        why = f"a queue that {fills}, or a clock that is set; no two part so fast by themselves"
    return f"the least latency {grows} by {drift_words(clocks).removeprefix('-')}: {why}"


def _nothing_matched(report: MatchReport) -> str:
    ingress, egress = report.ingress, report.egress
    if not ingress.frames or not egress.frames:
        return "nothing matched: a file has no frames"
    apart_ns = egress.first_ns - ingress.first_ns
    if abs(apart_ns) >= report.window_ns:
        return (
            f"nothing matched: the files start {apart_ns / 1e9:.6g} s apart, more than the window; "
            f"if their clocks differ, give --offset {apart_ns}ns"
        )
    said = "nothing matched: the device changes bytes of the key; give --key those it leaves alone"
    if report.key not in ("routed", "network", "probe"):
        said += ", or network if it pushes or pops a VLAN tag"
    key = _KEYS_WITHOUT_FCS.get(report.key)
    if key and any(
        _HEAD_BYTES <= side.longest_frame < _HEAD_BYTES + _FCS_BYTES for side in (ingress, egress)
    ):
        said += f"; frames may hold their FCS: try --key {key}"
    return said


def _side(side: CaptureSide) -> SideOfCapture:
    return SideOfCapture(
        path=side.path,
        frames=side.frames,
        truncated=side.too_short_for_key + side.cut_off,
        first_ns=side.first_ns if side.frames else None,
        last_ns=side.last_ns if side.frames else None,
        too_short_for_key=side.too_short_for_key,
        cut_off=side.cut_off,
        snapped=side.snapped,
        backwards=side.backwards,
        dropped=side.dropped,
        format=side.format,
        compression=side.compression,
        resolution_ns=side.resolution_ns if side.frames else None,
    )
