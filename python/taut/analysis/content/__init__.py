"""Content classes: packets that are slow, or fast, because of what is in them.

The question is asked of every named header field, every byte, word and bit that varies: do the
packets with one value lie in the slow (or fast) tail more often than chance allows? Latency and
content both depend on time: bursts, steps, drifts and timers make neighbours alike, and
identifiers step with time. A search that forgets this finds a class in every burst. So

- time is cut into blocks of neighbouring packets. Packets are ranked by their latency less their
  block's median, and a class is compared only with the packets of its own blocks: what differs
  between blocks never counts (tails.py);
- a block is one witness, however many slow packets of the class it holds: an episode that hits a
  run of packets counts once, so p-values hold for bursts of any shape inside a block;
- counters are recognised and left out, except for values that break their sequence (counters.py),
  and for values that come back with every wrap, of which it is said that something with the period
  of the wrap would look the same (recurring.py, period.py);
- a class that repeats with a short period cannot be told from a timer; one whose slow packets are
  found as often among the packets before it, or at some distance in time, is the work of a burst
  or a timer, not of content. Both are said, not reported as classes (control.py);
- every p-value is multiplied by the number of tests made (fields x values x depths x directions)
  before it is believed, and has to be below 1e-3 for the whole capture (search.py);
- what one class explains is taken away before the next is looked for, so that a byte of a slow
  port is not reported beside the port.

Packets of one class that all lie in one block are never reported as a class: nobody could tell
them from an episode. Runs of neighbours that differ from the rest by far are told by their position
(position.py).

Several captures of one device are searched together, one after the other in time: a value that
comes at another place in each, and is slow in each, is no period.
"""

from taut.analysis.content.heads import FrameHeads, MatchedFrames, read_heads
from taut.analysis.content.search import search_capture, search_captures
from taut.records.documents.content import ContentClass, ContentSearch

__all__ = [
    "ContentClass",
    "ContentSearch",
    "FrameHeads",
    "MatchedFrames",
    "read_heads",
    "search_capture",
    "search_captures",
]
