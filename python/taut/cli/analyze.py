"""`taut analyze INGRESS EGRESS`: match two captures and measure every packet."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from taut.capture.companions import find_companions
from taut.capture.native import MatchOptions
from taut.cli.capture_job import CaptureJob, Remove
from taut.cli.options import DetailsOption, EngineUrlOption, JsonOption, run_directory_option
from taut.core.errors import InputError
from taut.core.files import refuse_odd_bytes
from taut.core.units import parse_duration_ns, parse_signed_duration_ns
from taut.records.documents.json_form import plain
from taut.storage.engines import engine_kind

CONTENT_FILE_BYTES = 400_000_000
"""Larger ingress files are searched by content only on request: it takes longest of all."""


class MatchIn(StrEnum):
    """Where frames are matched."""

    NATIVE = "native"
    ENGINE = "engine"


EXAMPLES = (
    "taut analyze before.pcap after.pcap",
    "taut analyze before.pcap after.pcap --skip 1s --json",
)


_IngressArgument = Annotated[
    Path, typer.Argument(help="Capture before the device: pcap, pcapng; plain, .gz, .zst; -.")
]
_KeyOption = Annotated[
    str,
    typer.Option(
        metavar="KEY",
        help="What makes two frames one packet: default (first 64 bytes without MACs and "
        "checksums), routed (nor TTL), network (nor VLAN tags), probe, or byte ranges as "
        "26-33,42-45/ffff0000.",
    ),
]
_SkipOption = Annotated[str, typer.Option(metavar="TIME", help="Warm-up at the start, kept apart.")]
_WindowOption = Annotated[str, typer.Option(metavar="TIME", help="Packets take less than this.")]
_OffsetOption = Annotated[
    str,
    typer.Option(
        metavar="TIME", help="How far the egress clock is ahead: taken off; -3ms: behind."
    ),
]
_RemoveOption = Annotated[
    Remove | None,
    typer.Option(
        metavar="drift|offset|both",
        help="Estimate the clocks' drift or offset and take it off (reads twice).",
    ),
]
_EngineOption = Annotated[
    str | None,
    typer.Option(
        metavar="ENGINE",
        help="Count by this SQL engine: duckdb, postgres or spark (default: natively, by none).",
    ),
]
_MatchOption = Annotated[
    MatchIn,
    typer.Option(
        metavar="native|engine",
        help="Match natively, or by a join in the engine (with --json).",
    ),
]
_ContentOption = Annotated[
    bool | None,
    typer.Option(
        help="Search for values that slow or fast packets have in common "
        f"[default: for ingress files up to {CONTENT_FILE_BYTES // 1_000_000} MB]"
    ),
]
_WithRunsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--with",
        metavar="RUN",
        help="Search by content together with what an earlier run analysed of this device; "
        "repeatable.",
    ),
]
_NameOption = Annotated[
    str, typer.Option(metavar="NAME", help="What the device is called in the report.")
]
_OutOption = Annotated[Path | None, run_directory_option("runs/NAME-TIME, none with --json alone")]
_ParquetOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="With --json: also write every packet to this file."),
]


def analyze(
    ingress: _IngressArgument,
    egress: Annotated[Path, typer.Argument(help="Capture after the device.")],
    key: _KeyOption = "default",
    skip: _SkipOption = "0s",
    window: _WindowOption = "5s",
    offset: _OffsetOption = "0ns",
    remove: _RemoveOption = None,
    engine: _EngineOption = None,
    engine_url: EngineUrlOption = None,
    match: _MatchOption = MatchIn.NATIVE,
    content: _ContentOption = None,
    with_runs: _WithRunsOption = None,
    name: _NameOption = "capture",
    out: _OutOption = None,
    parquet: _ParquetOption = None,
    details: DetailsOption = False,
    as_json: JsonOption = False,
) -> None:
    """Match two captures, before and after a device, and measure every packet.

    A table, a report and a run directory like that of `taut run`; docs/matching.md defines lost,
    duplicate, ambiguous and the other classes.
    """
    _check_engine(engine, engine_url)
    _check_name(name)
    _check_captures(ingress, egress, reads_twice=remove is not None)
    options = MatchOptions(
        key=key,
        window_ns=parse_duration_ns(window),
        skip_ns=parse_duration_ns(skip),
        egress_offset_ns=parse_signed_duration_ns(offset),
    )
    if match is MatchIn.ENGINE and (out is not None or not as_json):
        raise InputError("--match engine: gives a document, no run directory; use it with --json")
    if parquet is not None:
        _check_parquet(parquet, is_alone=as_json and out is None and match is MatchIn.NATIVE)
    if with_runs and content is False:
        raise InputError("--with: searches by content, which --no-content forbids; leave one out")
    companions = find_companions(with_runs or [])
    wants_content = content if content is not None else bool(companions) or _is_small(ingress)
    job = CaptureJob(
        name, ingress, egress, options, engine, engine_url, wants_content, parquet, companions
    )
    if remove is not None:
        job = job.corrected(remove)
    if out is None and as_json:
        document = job.document(match_in_engine=match is MatchIn.ENGINE)
    else:
        document = job.run(out, as_json=as_json, details=details)
    if as_json:
        json.dump(plain(document), sys.stdout)
        print()


def _check_engine(engine: str | None, url: str | None) -> None:
    # Without one a URL is of no use, as with one that runs inside taut.
    engine_kind(engine or "duckdb", url)


def _check_name(name: str) -> None:
    if not name.strip() or "/" in name or name.startswith("."):
        raise InputError(f"--name {name!r}: it names folders, too: leave out /, and a . in front")


def _check_captures(ingress: Path, egress: Path, *, reads_twice: bool) -> None:
    if str(ingress) == str(egress) == "-":
        raise InputError("analyze: only one of the captures can be read from stdin; name a file")
    if ingress.exists() and egress.exists() and ingress.samefile(egress):
        raise InputError(
            f"analyze: {egress}: the same file twice, whose frames would all match themselves; "
            "name the other capture"
        )
    if reads_twice and not (ingress.is_file() and egress.is_file()):
        raise InputError("--remove: reads both captures twice; store them in files first")


def _check_parquet(parquet: Path, *, is_alone: bool) -> None:
    if not is_alone:
        raise InputError("--parquet: goes with --json; a run directory (--out) has packets.parquet")
    refuse_odd_bytes(parquet)
    if not parquet.absolute().parent.is_dir():
        raise InputError(f"--parquet {parquet}: no such folder; make it first")


def _is_small(ingress: Path) -> bool:
    return ingress.is_file() and ingress.stat().st_size <= CONTENT_FILE_BYTES
