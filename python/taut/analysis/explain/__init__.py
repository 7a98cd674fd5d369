"""The cause of every late packet: kernel events, gap logs and packet times on one clock.

docs/attribution.md defines verdicts, shares, grades and their precedence.

events, senders, naming     what was recorded, who sent what, how it is called
timeline, running, segments who had the core inside a gap
spans, stalls               gaps from a thread's log, or from events alone
kernel_path, network_runs,  a device that is the kernel: when its softirq let no packet out, and
layers, steps               which step on a packet's way had the core meanwhile
calibrate, shares           the cost of entry and exit; where the time of a gap went
counted, facts              which events a counter counts, and whether it did
judge, verdicts             the verdict of each gap, gaps as a table and told
packets, blame, episodes    the tail, what each packet is tied to, episodes and sums
stories, by_percentile      one line an episode; the tail by percentile and cause
predicted                   what the host's audit had said of each cause
unexplained                 why a trial cannot be explained, or only in part
document, perfetto          JSON, a Perfetto trace
acts, confusion, late_acts  what explain made of disturbances whose cause is known
"""

from taut.analysis.explain.document import as_document
from taut.analysis.explain.perfetto import write_perfetto
from taut.analysis.explain.process import explain_events, explain_gaps
from taut.analysis.explain.result import Explanation, Options
from taut.analysis.explain.trial import explain_trial

__all__ = [
    "Explanation",
    "Options",
    "as_document",
    "explain_events",
    "explain_gaps",
    "explain_trial",
    "write_perfetto",
]
