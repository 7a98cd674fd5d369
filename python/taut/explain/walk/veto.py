"""The veto: a thread that stands still lets no packet out; where packets passed, it worked.

Whatever a log or the kernel's events say of a stall, it ended where packets prove that its thread
worked. It is cut there before it is judged; what is cut is counted.
"""

from dataclasses import dataclass, replace

import numpy as np

from taut.explain import causes
from taut.explain.arrays import AFTER_ALL, Ints
from taut.explain.causes import CAUSES, NUMBER
from taut.explain.read.passages import Passages
from taut.explain.read.spans import Spans
from taut.explain.walk.segments import CLASS_NUMBER, Segments


@dataclass(frozen=True)
class Vetoed:
    """How many stalls, and how much of their time, packets prove wrong."""

    n: int = 0
    time_ns: int = 0
    """The time that was cut off the stalls."""
    unseen_ns: int = 0
    """How much of it was cut off stalls that ended in a switch that was not recorded."""


# While one of these has the core, the thread does not run at all. An interrupt that begins after a
# packet came out is a new one; a turn of another thread is the one that had ended.
_OFF_CORE = [NUMBER[cause] for cause in CAUSES if cause.away or cause is causes.UNKNOWN]


def cut_device(spans: Spans, passages: Passages, n_held: int) -> tuple[Spans, Vetoed]:
    """Cut a device's logged gaps where more packets came out than the iteration can have had.

    `n_held`: how many packets its transmit policy may have kept from earlier iterations.
    """
    at = spans.start_ns, spans.end_ns
    passed = passages.near(*at).inside(*at, spans.error_ns)
    is_wrong = passed.n > spans.n_packets + n_held
    return _cut(spans, np.where(is_wrong, passed.first_ns, spans.end_ns))


def cut_generator(spans: Spans, passages: Passages) -> tuple[Spans, Vetoed]:
    """Cut gaps of the generator in which it received, or sent a second time."""
    at = spans.start_ns, spans.end_ns
    stamps = passages.near(*at).stamped(*at)
    end = np.minimum(np.minimum(stamps.received_ns, stamps.sent_again_ns), spans.end_ns)
    return _cut(spans, end)


def _cut(spans: Spans, end: Ints) -> tuple[Spans, Vetoed]:
    taken_ns = spans.end_ns - end
    return replace(spans, end_ns=end), Vetoed(int(np.count_nonzero(taken_ns)), int(taken_ns.sum()))


def cut_segments(whole: Segments, passages: Passages, unseen: Ints) -> tuple[Segments, Vetoed]:
    """Cut interruptions of a thread that only the kernel's events show.

    If a packet came out during one, whatever ran instead had ended by then, other threads' turns
    after it included: the switch back was not seen. Later interrupts are stalls of their own, and
    so is what begins with the thread's next switch away, which shows that it was back.
    `unseen`: when the thread was found to be back though no switch said so, in order.
    """
    start, end = whole.start_ns, whole.end_ns
    if not len(start):
        return whole, Vetoed()
    begun_ns = np.full(len(whole.visit_span), AFTER_ALL)
    np.minimum.at(begun_ns, whole.visit, start)
    is_away = whole.visit_class[whole.visit] == CLASS_NUMBER["switch"]
    fresh = is_away & (start == begun_ns[whole.visit])
    fresh[0], fresh[1:] = True, fresh[1:] | (start[1:] > end[:-1])
    stretch = np.cumsum(fresh) - 1
    first = np.flatnonzero(fresh)
    until = end[np.append(first[1:] - 1, len(start) - 1)]
    passed = passages.inside(start[first], until)
    back_ns = np.where(passed.n > 0, passed.first_ns, AFTER_ALL)[stretch]
    is_old = (begun_ns[whole.visit] < back_ns) | np.isin(whole.cause, _OFF_CORE)
    cut = np.where(is_old, np.minimum(end, back_ns), end)
    keep = cut > start
    left = replace(
        whole,
        span=whole.span[keep],
        start_ns=start[keep],
        end_ns=cut[keep],
        visit=whole.visit[keep],
    )
    taken_ns = np.where(keep, end - cut, end - start)
    n = len(np.unique(stretch[taken_ns > 0]))
    least, most = (np.searchsorted(unseen, times, "right") for times in (start[first], until))
    unseen_ns = taken_ns[(most > least)[stretch]].sum()
    return left, Vetoed(n, int(taken_ns.sum()), int(unseen_ns))
