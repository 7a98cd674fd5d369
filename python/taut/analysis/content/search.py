"""Search all columns for classes, and correct for all that was tried.

The allowed error, 1e-3 for a whole capture, is shared equally by the kinds of description (named
fields, bytes and bits, 16-bit and 32-bit words), so that the many words do not make the few fields
blind; within a kind each p-value is multiplied by the number of tests (Bonferroni). A test is one
class at one depth of one tail by one of the two methods of tails.py, whether it was computed or
screened away.
"""

from pathlib import Path

import numpy as np

from taut.analysis.content.columns import searchable_columns
from taut.analysis.content.explain import ALLOWED_ERROR, Explanation, log_correction
from taut.analysis.content.fields import Kind
from taut.analysis.content.heads import (
    FrameHeads,
    Ints,
    MatchedFrames,
    count_matched,
    join_heads,
    read_stamps,
)
from taut.analysis.content.result import ContentSearch, Excluded
from taut.analysis.content.screen import Candidate, Screen
from taut.analysis.content.tails import Tail, TimeBlocks
from taut.capture.native import HEADS

MAX_PACKETS = 2_000_000
MIN_PACKETS = 1000
_N_METHODS = 2
_SCREEN_SHARE = 0.6  # of the log of p needed
_MAX_EXCLUDED = 40


def search_capture(
    raw: Path, packets_parquet: Path, *, max_packets: int = MAX_PACKETS
) -> ContentSearch:
    """Search the frames' heads in the folder `raw`, joined with the matched packets."""
    n = count_matched(packets_parquet)
    if n > max_packets:
        return _not_searched(n, max_packets)
    frames = join_heads(raw / HEADS, read_stamps(packets_parquet))
    return find_content_classes(
        frames.heads, frames.latency_ns, frames.time_ns, frames.position, max_packets=max_packets
    )


def find_content_classes(
    heads: FrameHeads,
    latency_ns: Ints,
    time_ns: Ints,
    position: Ints | None = None,
    *,
    max_packets: int = MAX_PACKETS,
) -> ContentSearch:
    """Find fields whose values separate slow or fast packets from those around them.

    All arrays are of the matched packets, in ingress order; without `position` they are counted.
    """
    n = len(latency_ns)
    if not MIN_PACKETS <= n <= max_packets:
        return _not_searched(n, max_packets)
    place = np.arange(n) if position is None else position
    return _search(MatchedFrames(place, time_ns, latency_ns, heads))


def _not_searched(n: int, max_packets: int) -> ContentSearch:
    if n < MIN_PACKETS:
        reason = f"{n} packets are too few to tell content from chance; {MIN_PACKETS} are needed"
    else:
        reason = f"{n} packets are more than the {max_packets} that are searched"
    return ContentSearch(n, not_searched=reason)


def _search(frames: MatchedFrames) -> ContentSearch:
    blocks = TimeBlocks(frames.latency_ns)
    both = (Tail(blocks, "slower"), Tail(blocks, "faster"))
    tails = [tail for tail in both if len(tail.depths)]
    if not tails:
        return ContentSearch(len(frames.position), not_searched="no packet is slower than others")
    n_depths = sum(len(tail.depths) for tail in tails)
    excluded: dict[str, str] = {}
    n_tests = dict.fromkeys(Kind, 0)
    candidates: list[Candidate] = []
    for column in searchable_columns(frames.heads, excluded):
        screen = Screen(column, tails)
        n_tests[column.kind] += screen.n_classes * n_depths * _N_METHODS
        # The screen is generous: what falls short by far in it needs no exact test.
        needed = np.log(ALLOWED_ERROR) - log_correction(n_tests[column.kind])
        candidates += [c for c in screen.candidates() if c.log_p < _SCREEN_SHARE * needed]
    explanation = Explanation(frames, blocks, tails, n_tests)
    classes = sorted(
        explanation.classes(candidates), key=lambda c: (-c.tail.of_tail, -abs(c.shift_ns))
    )
    excluded |= explanation.work_of_time
    return ContentSearch(
        n_packets=len(frames.position),
        n_tests=sum(n_tests.values()),
        classes=classes,
        excluded=[Excluded(*item) for item in excluded.items()][:_MAX_EXCLUDED],
        tests_by_kind={kind.name.lower(): n for kind, n in n_tests.items()},
    )
