"""The cause of every late packet: kernel events, gap logs and packet times on one clock.

docs/attribution.md defines verdicts, shares, grades and their precedence.

The entries: trial.py explains a trial's late packets, process.py a polling thread without packets,
window.py threads of a program that is traced for a while. A trial's threads are judged by
threads.py, the gaps they logged by logged.py, a window of events at a time. Each goes through the
stages, in order; a stage imports only from those before it:

read/    what was recorded: events, senders, names, gaps, packets, counters
walk/    who had the core inside a gap: the timeline, stalls, a device that is the kernel
judge/   the verdict of each gap and late packet
tell/    sums, episodes, sentences, offenders
export/  JSON, a Perfetto trace

cause.py, causes/ (the table, a file for each kind) and grades.py are the vocabulary of all of them;
arrays.py has their operations on arrays.
"""

from taut.explain.export.document import as_document
from taut.explain.export.perfetto import write_perfetto
from taut.explain.process import explain_events, explain_gaps
from taut.explain.tell.result import Explanation, Options
from taut.explain.trial import explain_trial

__all__ = [
    "Explanation",
    "Options",
    "as_document",
    "explain_events",
    "explain_gaps",
    "explain_trial",
    "write_perfetto",
]
