"""Where what was recorded does not say who. Grey and red."""

from taut.explain.cause import Cause, Evidence

TRACE_LOST = Cause(
    id="trace-lost",
    title="events were lost",
    why="The kernel's trace buffer overflowed at that time; what happened is not known.",
    noun="not known: events were lost",
    did="{stood} for {time}, and the events of that time were lost",
    evidence=Evidence.EXCLUSION,
    seen_by="the trace's own word that events of that time are missing",
    colour=("#d6336c", "#ff8fb3"),
    ask="a larger trace buffer, or fewer events",
    not_made="needs a trace buffer that is too small (taut-trace --buffer)",
)

UNKNOWN = Cause(
    id="unknown",
    title="unknown",
    why="Nothing that was recorded explains it.",
    noun="not known",
    did="{stood} for {time}, and nothing recorded says why",
    evidence=Evidence.EXCLUSION,
    seen_by="no event, no packet and no log that says why",
    colour=("#80868f", "#8f96a3"),
    ask="what the line names as missing",
    not_made="is what is left",
)
