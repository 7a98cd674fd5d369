"""In a guest, disturb a core while taut-trace records; on the host, explain what came out.

Under emulation times mean nothing. What the kernel notes, and what its kind is called, is the same.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from acceptance.guest import Boot
from taut.binaries.inject import GAPS, INJECTIONS
from taut.core.binaries import find_binary
from taut.explain import Explanation, Options, explain_gaps
from taut.explain.read.events import notes_of, read_events
from taut.explain.tell.gaps import tell_gap
from taut.records.clock import fit_of
from taut.records.convert import convert_events, convert_trial
from taut.records.documents.inject import InjectDocument
from taut.records.documents.json_form import read_document
from taut.records.documents.trace import TraceDocument
from taut.records.layout import RecordKind
from taut.records.raw_file import open_raw

CAUSES = {
    "tlb-shootdown": "tlb-shootdown",
    "membarrier": "membarrier",
    "page-fault": "page-fault",
    "preemption": "preemption:length=2ms",
}
"""As taut-inject takes them: what an emulated scheduler does around a preemption takes long."""
# Without csd events one function call is like another, but for the flush inside it.
CALLED = dict(zip(CAUSES, CAUSES, strict=True)) | {"membarrier": "function-call"}
"""What each is called on 6.1."""
MANY = 20
"""Enough to tell that it is no accident."""
_RATE = "50/s"
# An emulated poller looks at the clock every few hundred nanoseconds.
_THRESHOLD_NS = 3_000
# Twice what it takes at most (below).
_ARMED_WITHIN_S = 120
# Of the threads watched: numbers are given out in order, and these are the next.
_AHEAD = 100

# Only where the core is taken away, which is what a traced guest should look like. The trace is
# armed before anything runs: under emulation that takes a second on an idle guest, and a minute on
# one that is disturbed. Acts that find the poller's virtual CPU away are not sent; on a busy host
# these are most, and it is tried again.
_COMMAND = """
grep -q isolcpus= /proc/cmdline || exit 0
next=$(sh -c 'echo $$')
taut-trace --cores {core} --threads $(seq -s, $next $((next + {ahead}))) --out /out/traced &
trace=$!
for try in $(seq {armed_within_s}0); do
	grep -q armed /out/trace.err && break
	sleep 0.1
done
if ! grep -q armed /out/trace.err; then
	kill -TERM $trace
	echo "taut-trace was not ready after {armed_within_s} s: nothing was disturbed" >&2
	exit 1
fi
for cause in {causes}; do
	name=${{cause%%:*}}
	for try in $(seq 12); do
		taut-inject $cause --core {core} --rate {rate} --duration 2s --threshold {threshold_ns}ns \
			--accept-unstable-clock --json --out /out/$name >/tmp/said || exit 1
		[ $(grep -o '"sent":[0-9]*' /tmp/said | cut -d : -f 2) -ge {enough} ] && break
	done
done
kill -TERM $trace
wait $trace
"""


@dataclass(frozen=True)
class Traced:
    """One cause in one guest: what was sent, what was recorded, what explain made of it."""

    cause: str
    trace: TraceDocument
    n_sent: int
    """While the trace ran."""
    n_found: int
    """Of these, how often the cause has a share of a gap at that time."""
    verdicts: Mapping[str, int]
    """Of the gaps at what was sent."""
    explanation: Explanation

    def __str__(self) -> str:
        """For people, in one line."""
        named = ", ".join(f"{n} {name}" for name, n in self.verdicts.items())
        return (
            f"{self.cause}: {self.n_sent} sent, {self.n_found} found; verdicts there: {named};"
            f" clock {self.trace.others['clock']}"
        )


def programs() -> tuple[Path, ...]:
    """Give what the commands need in the guest."""
    return find_binary("taut-trace"), find_binary("taut-inject")


def command(core: str) -> str:
    """Give what the guest's shell has to run; the output is the file named `trace`."""
    return _COMMAND.format(
        core=core,
        causes=" ".join(CAUSES.values()),
        rate=_RATE,
        threshold_ns=_THRESHOLD_NS,
        armed_within_s=_ARMED_WITHIN_S,
        ahead=_AHEAD,
        enough=2 * MANY,
    )


def explain(boot: Boot, cause: str, folder: Path) -> Traced:
    """Judge the gaps of the guest's poller by what its kernel noted."""
    _write(boot, cause, folder)
    trace = read_document(TraceDocument, folder / "trace.json")
    injected = read_document(InjectDocument, folder / "inject.json")
    convert_trial(folder, folder)
    convert_events(folder, folder)
    events = read_events(folder)
    assert events is not None
    explanation = explain_gaps(
        pq.read_table(folder / "gaps.parquet"),
        events,
        trace.cores[0],
        notes_of(trace),
        options=Options(device_thread=injected.threads.victim, is_guest=True),
    )
    fit = fit_of(open_raw(folder / GAPS, RecordKind.GAP).header)
    sent = open_raw(folder / INJECTIONS, RecordKind.INJECTION)
    acts = np.concatenate([np.empty(0, sent.dtype), *sent.chunks()])
    start_ns, end_ns = fit.times_ns(acts["start_tsc"]), fit.times_ns(acts["end_tsc"])
    (verdicts,) = explanation.source.verdicts
    found, said = 0, Counter[str]()
    # Gaps are in order and apart.
    first = np.searchsorted(verdicts.spans.end_ns, start_ns, "left")
    last = np.searchsorted(verdicts.spans.start_ns, end_ns, "right")
    for low, high in zip(first.tolist(), last.tolist(), strict=True):
        stories = [tell_gap(verdicts, gap) for gap in range(low, high)]
        found += any(share.label == CALLED[cause] for story in stories for share in story.shares)
        said.update({story.cause for story in stories})
    return Traced(cause, trace, len(acts), found, dict(said.most_common()), explanation)


def _write(boot: Boot, cause: str, folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, content in boot.files.items():
        if name.startswith((f"{cause}/", "traced/")):
            (folder / Path(name).name).write_bytes(content)
