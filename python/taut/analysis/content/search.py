"""Search all columns for classes, and correct for all that was tried.

The allowed error, 1e-3 for a whole capture, is shared equally by the kinds of description (named
fields, bytes and bits, 16-bit and 32-bit words, values of counters), so that the many words do not
make the few fields blind; within a kind each p-value is multiplied by the number of tests
(Bonferroni). A test is one class at one depth of one tail by one of the two methods of tails.py,
whether it was computed or screened away; of a counter's value, one direction (recurring.py).
"""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from taut.analysis.content.candidates import (
    ALLOWED_ERROR,
    MAX_CLASSES,
    CandidateSearch,
    log_correction,
)
from taut.analysis.content.columns import Counted, searchable_columns
from taut.analysis.content.control import span_packets
from taut.analysis.content.fields import Kind
from taut.analysis.content.heads import MatchedFrames, count_matched, read_heads
from taut.analysis.content.kept import count_kept, join_captures, keep_frames, read_kept
from taut.analysis.content.position import find_positions
from taut.analysis.content.recurring import CounterSearch
from taut.analysis.content.screen import Candidate, Screen
from taut.analysis.content.tails import Tail, TimeBlocks
from taut.records.documents.content import ContentSearch, Excluded

MAX_PACKETS = 2_000_000
MIN_PACKETS = 1000
_N_METHODS = 2
_SCREEN_SHARE = 0.6  # of the log of p needed
_MAX_EXCLUDED = 40


def search_capture(
    raw: Path,
    packets_parquet: Path,
    *,
    together_with: Sequence[Path] = (),
    keep: Path | None = None,
    resolution_ns: int = 1,
    max_packets: int = MAX_PACKETS,
) -> ContentSearch:
    """Search the frames' heads in the folder `raw`, joined with the matched packets.

    `together_with` are frames that other captures of the device left; `keep`: leave them so.
    `resolution_ns` is the unit of latencies, of coarse time stamps.
    """
    n = count_matched(packets_parquet)
    if n > max_packets:
        return _not_searched(n, max_packets)
    frames = read_heads(raw, packets_parquet)
    if keep is not None:
        keep_frames(frames, keep)
    n_together = n + sum(map(count_kept, together_with))
    if n_together > max_packets:
        return _not_searched(n_together, max_packets)
    captures = [frames, *map(read_kept, together_with)]
    return search_captures(captures, resolution_ns=resolution_ns, max_packets=max_packets)


def search_captures(
    captures: Sequence[MatchedFrames], *, resolution_ns: int = 1, max_packets: int = MAX_PACKETS
) -> ContentSearch:
    """Search captures of one device together; the result is told of the first one."""
    n_first, n = len(captures[0].position), sum(len(c.position) for c in captures)
    if n_first < MIN_PACKETS or n > max_packets:
        return _not_searched(n_first if n_first < MIN_PACKETS else n, max_packets)
    return _search(join_captures(captures), resolution_ns)


def _not_searched(n: int, max_packets: int) -> ContentSearch:
    if n < MIN_PACKETS:
        reason = f"{n} packets are too few to tell content from chance; {MIN_PACKETS} are needed"
    else:
        reason = f"{n} packets are more than the {max_packets} that are searched"
    return ContentSearch(n, not_searched=reason)


def _search(frames: MatchedFrames, resolution_ns: int) -> ContentSearch:
    blocks = TimeBlocks(frames.latency_ns, frames.captures)
    both = (Tail(blocks, "slower"), Tail(blocks, "faster"))
    tails = [tail for tail in both if len(tail.depths)]
    if not tails:
        return ContentSearch(len(frames.position), not_searched="no packet is slower than others")
    n_depths = sum(len(tail.depths) for tail in tails)
    counted: dict[str, Counted] = {}
    n_tests = dict.fromkeys(Kind, 0)
    candidates: list[Candidate] = []
    for column in searchable_columns(frames.heads, counted):
        screen = Screen(column, tails)
        n_tests[column.kind] += screen.n_classes * n_depths * _N_METHODS
        # The screen is generous: what falls short by far in it needs no exact test.
        needed = np.log(ALLOWED_ERROR) - log_correction(n_tests[column.kind])
        candidates += [c for c in screen.candidates() if c.log_p < _SCREEN_SHARE * needed]
    columns = [c.column for c in counted.values() if not c.counter.is_slow]
    counters = CounterSearch(frames, blocks, tails, columns, span_packets(frames))
    n_tests[Kind.COUNT] = counters.n_tests
    search = CandidateSearch(frames, blocks, tails, n_tests)
    classes = list(search.classes(candidates))
    values = counters.classes(search.alive, log_correction(n_tests[Kind.COUNT]))
    classes += islice(values, MAX_CLASSES - len(classes))
    return ContentSearch(
        n_packets=len(frames.position),
        n_tests=sum(n_tests.values()),
        classes=sorted(classes, key=lambda c: (-c.tail.of_tail, -abs(c.shift_ns))),
        excluded=_excluded({**search.rejected, **counters.rejected}, counted),
        tests_by_kind={kind.name.lower(): n for kind, n in n_tests.items()},
        counters=[recurring.document() for recurring in counters.recurring],
        positions=find_positions(frames, search.alive, resolution_ns),
        n_captures=len(frames.starts),
    )


def _excluded(rejected: dict[str, str], counted: dict[str, Counted]) -> list[Excluded]:
    """What stands out and is no class, then what counts; words only repeat their bytes."""
    fields = {name: str(c.counter) for name, c in counted.items() if c.column.kind is not Kind.WORD}
    return [Excluded(*item) for item in {**rejected, **fields}.items()][:_MAX_EXCLUDED]
