"""Every document taut writes: its name, what it is made of, and where it is found.

`taut schema` lists them. A document that is read or written belongs here; a test finds those that
do not.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from taut.records.documents.audit import AuditDocument
from taut.records.documents.capture import CaptureDocument
from taut.records.documents.check import CheckDocument
from taut.records.documents.comparison import ComparisonDocument
from taut.records.documents.content import ContentSearch
from taut.records.documents.count import CountDocument, EpisodesDocument
from taut.records.documents.described import Described
from taut.records.documents.effect import EffectDocument
from taut.records.documents.explanation import ExplainedRun
from taut.records.documents.generator import GeneratorResult
from taut.records.documents.host import (
    CmdlineDocument,
    DoctorDocument,
    LintDocument,
    VerifyDocument,
)
from taut.records.documents.inject import InjectDocument
from taut.records.documents.journal import JOURNAL_FORMAT, JournalRecord
from taut.records.documents.json_field import default_format
from taut.records.documents.json_form import Json
from taut.records.documents.json_schema import document_schema
from taut.records.documents.manifest import Manifest
from taut.records.documents.match import MatchReport
from taut.records.documents.noise import NoiseDocument
from taut.records.documents.pack import PackDocument
from taut.records.documents.plan import PlanDocument
from taut.records.documents.plugins import PluginsDocument
from taut.records.documents.published import PublishedTable
from taut.records.documents.results import Analysis, Results, TrialResult
from taut.records.documents.rfc import RfcDocument
from taut.records.documents.search import SearchDocument
from taut.records.documents.self_test import SelfTestDocument
from taut.records.documents.soak import SOAK_FORMAT, Row, SegmentStart, SoakDocument
from taut.records.documents.trace import TraceDocument
from taut.records.documents.trend import TrendDocument
from taut.records.documents.trial import TrialDocument
from taut.records.documents.trim import TrimDocument, WindowsOfTrim
from taut.records.documents.watch import WatchDocument


@dataclass(frozen=True)
class Catalogued:
    """One document; `kind` is its dataclass, a union of several, or a tuple of them for a list."""

    name: str
    kind: object
    where: str
    version: int | None = None
    """None: the format that its dataclass has as default, or 1."""

    @property
    def format(self) -> int:
        """Its version: a number that changes when readers have to."""
        if self.version is not None:
            return self.version
        kinds = [kind for kind in (self.kind, *get_args(self.kind)) if isinstance(kind, type)]
        return max((default_format(kind) or 1 for kind in kinds), default=1)

    def schema(self) -> Mapping[str, Json]:
        """Make its JSON Schema."""
        return document_schema(self.name, self.format, self.kind)


CATALOGUE = (
    Catalogued("manifest", Manifest, "manifest.json of a run"),
    Catalogued("trial", TrialDocument, "trial.json of each trial of a run"),
    Catalogued(
        "results",
        Results | tuple[TrialResult, ...],  # The list alone is format 1.
        "results.json of a run; taut run --json",
    ),
    Catalogued("summary", Analysis, "summary.json of a run"),
    Catalogued("generator", GeneratorResult, "generator.json of a trial; taut generate --out"),
    Catalogued("match", MatchReport, "match.json of taut-match"),
    Catalogued("trace", TraceDocument, "trace.json of a trial"),
    Catalogued("content", ContentSearch, "content.json of a trial of captures"),
    Catalogued("count", CountDocument, "count.json of taut-count"),
    Catalogued("episodes", EpisodesDocument, "episodes.json of taut-count"),
    Catalogued("published", tuple[PublishedTable, ...], "published.json of taut reproduce"),
    Catalogued("trim", TrimDocument, "trim.json of a run; taut trim --json"),
    Catalogued("windows", WindowsOfTrim, "windows.json of a trim that is not done"),
    Catalogued("effect", EffectDocument, "effect.json of a run; taut host effect --json"),
    Catalogued("captures", CaptureDocument, "taut analyze --json"),
    Catalogued("explanation", ExplainedRun, "taut explain --json"),
    Catalogued("self-test", SelfTestDocument, "taut explain --self-test --json"),
    Catalogued("comparison", ComparisonDocument, "taut compare --json"),
    Catalogued("check", CheckDocument, "taut check --json"),
    Catalogued("trend", TrendDocument, "taut trend --json"),
    Catalogued("search", SearchDocument, "search.json of a run; taut search --json"),
    Catalogued("soak", SoakDocument, "soak.json of a run; taut soak --json"),
    Catalogued("segment", SegmentStart, "segment.json of each segment of a soak"),
    Catalogued("row", Row, "each line of rows.jsonl of a segment of a soak", SOAK_FORMAT),
    Catalogued("watch", WatchDocument, "taut watch --json"),
    Catalogued("rfc", RfcDocument, "rfc.json of a run; taut rfc --json"),
    Catalogued("pack", PackDocument, "pack.json of a packed run"),
    Catalogued("audit", AuditDocument, "taut host audit --json; in the manifest of a run"),
    Catalogued("plan", PlanDocument, "taut host plan --json"),
    Catalogued("verify", VerifyDocument, "taut host verify --json"),
    Catalogued("cmdline", CmdlineDocument, "taut host cmdline --json"),
    Catalogued("lint", LintDocument, "taut host lint --json"),
    Catalogued("noise", NoiseDocument, "taut host noise --json"),
    Catalogued("doctor", DoctorDocument, "taut doctor --json"),
    Catalogued("plugins", PluginsDocument, "taut plugins --json"),
    Catalogued(
        "journal", JournalRecord, "each line of the journal of taut host apply", JOURNAL_FORMAT
    ),
    Catalogued("inject", InjectDocument, "inject.json of taut inject"),
    Catalogued("described", Described, "taut-generate --describe, and of every other program"),
)
