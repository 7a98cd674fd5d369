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

A name is imported when it is first used: a plug-in's cause imports cause.py, and must not thereby
import the table it is to stand in.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

_MODULE_OF = {
    "Explanation": "taut.explain.tell.result",
    "Options": "taut.explain.tell.result",
    "as_document": "taut.explain.export.document",
    "explain_events": "taut.explain.process",
    "explain_gaps": "taut.explain.process",
    "explain_trial": "taut.explain.trial",
    "write_perfetto": "taut.explain.export.perfetto",
}

if not TYPE_CHECKING:

    def __getattr__(name):
        """Import one of the names of __all__. AttributeError: there is no such name."""
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_MODULE_OF[name]), name)
