"""A run directory made of capture pairs: the same files a live run leaves, one trial a pair."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from taut.capture.companions import refuse_twice
from taut.capture.native import HEADS, Matched, MatchOptions, Progress, run_match
from taut.core.errors import InputError
from taut.core.files import TEMPORARY_PREFIX, write_json
from taut.host.fingerprint import fingerprint
from taut.host.host import Host
from taut.records import parquet
from taut.records.convert import convert_trial
from taut.records.documents.generator import GeneratorResult
from taut.records.documents.json_form import plain
from taut.records.documents.load import CAPTURE
from taut.records.documents.manifest import Manifest, SpecOfRun
from taut.records.documents.match import CaptureSide, MatchCounts, capture_of
from taut.records.documents.trial import TRIAL_FILE, WHOLE, Dut, Traffic, TrialDocument
from taut.records.manifest import make_manifest, write_manifest
from taut.records.rundir import RunDirectory, TrialDirectory
from taut.records.tables import PACKETS
from taut.testbed.scratch import made_whole

RATE_DIGITS = 3
"""A measured rate is rounded to so many digits, so that captures of one load have one name."""


@dataclass(frozen=True)
class Pair:
    """Two captures of the same packets."""

    name: str
    ingress: Path
    egress: Path
    offered_pps: float | None = None
    """None: take the rate from the ingress time stamps."""


def analyse_pairs(
    pairs: Sequence[Pair],
    out: Path,
    options: MatchOptions,
    progress: Callable[[str], None] = lambda _: None,
    *,
    bytes_done: Progress | None = None,
    with_heads: bool = True,
    companions: Sequence[TrialDirectory] = (),
    command_line: Sequence[str] = (),
) -> RunDirectory:
    """Match every pair into a new run directory; analysis.results.analyse_run does the rest.

    `companions` are captures of the same device, to be searched by content together with these.
    Interrupted or killed it leaves none, or one that the next in the same place removes.
    """
    run = RunDirectory(out)
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: not a folder; give --out a new directory")
    with made_whole(out):
        run.trials_path.mkdir()
        for index, pair in enumerate(pairs, 1):
            progress(f"matching {pair.name}")
            _match_pair(run, pair, index, options, bytes_done, with_heads, companions)
        write_manifest(out, _manifest(pairs, options, command_line))
    return run


def _match_pair(
    run: RunDirectory,
    pair: Pair,
    index: int,
    options: MatchOptions,
    bytes_done: Progress | None,
    with_heads: bool,
    companions: Sequence[TrialDirectory],
) -> None:
    name = f"{index:03d}-{pair.name}-capture-r1"
    temporary = run.trials_path / f"{TEMPORARY_PREFIX}{name}"
    raw = temporary / "raw"
    raw.mkdir(parents=True)
    write = ["packets", *(["heads"] if with_heads else [])]
    matched = run_match(pair.ingress, pair.egress, options, raw, write=write, progress=bytes_done)
    refuse_twice(matched.report, companions)
    convert_trial(raw, temporary)
    if with_heads:
        # Kept beside the packets until the search by content has read it.
        (raw / HEADS).rename(temporary / HEADS)
    together_with = tuple(str(trial.path.absolute()) for trial in companions)
    document = _trial_document(pair, name, index, matched, temporary, together_with)
    write_json(temporary / TRIAL_FILE, plain(document))
    shutil.rmtree(raw)
    temporary.rename(run.trials_path / name)


def _manifest(
    pairs: Sequence[Pair], options: MatchOptions, command_line: Sequence[str]
) -> Manifest:
    document = make_manifest(
        host=fingerprint(Host(), []),
        spec=SpecOfRun(
            name=CAPTURE,
            others={
                "pairs": [[str(pair.ingress), str(pair.egress)] for pair in pairs],
                "options": vars(options),
            },
        ),
        seeds={},
        command_line=command_line,
    )
    warning = "the host above is where the captures were analysed, not where they were taken"
    return replace(document, warnings=(warning,))


def _trial_document(
    pair: Pair,
    name: str,
    index: int,
    matched: Matched,
    folder: Path,
    together_with: tuple[str, ...],
) -> TrialDocument:
    """Make trial.json of a pair; the captures stand where a live run has its generator."""
    report = matched.report
    rate_pps = measured_pps(report.ingress)
    named_pps = float(f"{rate_pps:.{RATE_DIGITS}g}") if rate_pps else None
    return TrialDocument(
        index=index,
        name=name,
        status=WHOLE,
        repetition=1,
        started_utc=datetime.now(UTC).isoformat(timespec="milliseconds"),
        dut=Dut(
            name=pair.name, driver=CAPTURE, link=CAPTURE, path=f"{pair.ingress} to {pair.egress}"
        ),
        traffic=Traffic(
            name=CAPTURE,
            frame=frame_sizes(folder / PACKETS),
            flows=1,
            both=False,
            offered_pps=pair.offered_pps or named_pps,
            duration_ns=max(report.ingress.last_ns - report.ingress.first_ns, 0),
            warm_up_ns=report.skip_ns,
        ),
        generator=GeneratorResult(packet_counters(matched.counts), rate_pps, rate_pps),
        capture=capture_of(report, together_with),
    )


def measured_pps(side: CaptureSide) -> float:
    """The mean rate of a file by its time stamps; 0 where it cannot be told."""
    span_ns = side.last_ns - side.first_ns
    return (side.frames - 1) * 1e9 / span_ns if side.frames > 1 and span_ns > 0 else 0.0


def packet_counters(counts: MatchCounts) -> dict[str, int]:
    """Give a live run's counters; frames without a packet (ambiguous, truncated) are left out."""
    sent = counts.matched + counts.lost
    extra = counts.duplicates + counts.orphans + counts.beyond_window
    return {
        "due": sent,
        "sent": sent,
        "unsent": 0,
        "received": counts.matched + extra,
        "matched": counts.matched,
        "lost": counts.lost,
        "late": counts.beyond_window,
        "duplicates": counts.duplicates,
        "orphans": counts.orphans,
        "out_of_sequence": counts.out_of_sequence,
        "void": 0,
    }


def frame_sizes(packets: Path) -> str:
    """The frame size in bytes, or "mixed"; read from the file's statistics, not its rows."""
    metadata = parquet.read_metadata(packets)
    column = metadata.schema.names.index("frame_len")
    found: set[int] = set()
    for group in range(metadata.num_row_groups):
        statistics = metadata.row_group(group).column(column).statistics
        found |= {statistics.min, statistics.max}
    return str(found.pop()) if len(found) == 1 else "mixed"
