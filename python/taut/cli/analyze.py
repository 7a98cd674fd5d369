"""`taut analyze INGRESS EGRESS`: match two captures and measure every packet."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from taut.capture.native import MatchOptions
from taut.cli.capture_job import CaptureJob, Remove
from taut.core.errors import InputError
from taut.core.units import parse_duration_ns

CONTENT_FILE_BYTES = 400_000_000
"""Larger ingress files are searched by content only when asked: that takes longer than all else."""

_STDIN = Path("-")


class MatchIn(StrEnum):
    """Where frames are matched."""

    NATIVE = "native"
    ENGINE = "engine"


def analyze(
    ingress: Annotated[
        Path, typer.Argument(help="Capture before the device: pcap, pcapng; plain, .gz, .zst; -.")
    ],
    egress: Annotated[Path, typer.Argument(help="Capture after the device.")],
    key: Annotated[
        str,
        typer.Option(
            help="What makes two frames one packet: default (first 64 bytes without MACs and "
            "checksums), routed (nor TTL), probe, or byte ranges as 26-33,42-45/ffff0000."
        ),
    ] = "default",
    skip: Annotated[str, typer.Option(help="Warm-up at the start, kept apart.")] = "0s",
    window: Annotated[str, typer.Option(help="Packets take less than this.")] = "5s",
    offset: Annotated[
        str, typer.Option(help="How far the egress clock is ahead: taken off; -3ms: behind.")
    ] = "0ns",
    remove: Annotated[
        Remove | None,
        typer.Option(help="Estimate the clocks' drift or offset and take it off (reads twice)."),
    ] = None,
    engine: Annotated[
        str, typer.Option(help="The SQL engine: duckdb, postgres or spark.")
    ] = "duckdb",
    engine_url: Annotated[
        str | None, typer.Option(help="Where it is: postgresql://..., spark://...")
    ] = None,
    match: Annotated[
        MatchIn, typer.Option(help="Match natively, or by a join in the engine (with --json).")
    ] = MatchIn.NATIVE,
    content: Annotated[
        bool | None,
        typer.Option(
            help="Search for packets that are slow for what is in them "
            f"[default: for ingress files up to {CONTENT_FILE_BYTES // 1_000_000} MB]"
        ),
    ] = None,
    name: Annotated[str, typer.Option(help="What the device is called in the report.")] = "capture",
    out: Annotated[
        Path | None,
        typer.Option(help="The run directory; default: runs/NAME-TIME, none with --json alone."),
    ] = None,
    parquet: Annotated[
        Path | None, typer.Option(help="With --json: also write every packet to this file.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document on stdout, nothing else there.")
    ] = False,
) -> None:
    """Match two captures, before and after a device, and measure every packet.

    A table, a report and a run directory like that of `taut run`; docs/matching.md defines lost,
    duplicate, ambiguous and the other classes.
    """
    options = MatchOptions(
        key=key,
        window_ns=parse_duration_ns(window),
        skip_ns=parse_duration_ns(skip),
        egress_offset_ns=_signed_ns(offset),
    )
    if match is MatchIn.ENGINE and (out is not None or not as_json):
        raise InputError("--match engine: gives a document, no run directory; use it with --json")
    if parquet is not None:
        _check_parquet(parquet, is_alone=as_json and out is None and match is MatchIn.NATIVE)
    if remove is not None and not (ingress.is_file() and egress.is_file()):
        raise InputError("--remove: reads both captures twice; store them in files first")
    wants_content = content if content is not None else _is_small(ingress)
    job = CaptureJob(name, ingress, egress, options, engine, engine_url, wants_content, parquet)
    if remove is not None:
        job = job.without(remove)
    if out is None and as_json:
        document = job.document(match_in_engine=match is MatchIn.ENGINE)
    else:
        document = job.run(out, as_json=as_json)
    if as_json:
        json.dump(document, sys.stdout)
        print()


def _signed_ns(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    return sign * parse_duration_ns(text.removeprefix("-").removeprefix("+"))


def _check_parquet(parquet: Path, *, is_alone: bool) -> None:
    if not is_alone:
        raise InputError("--parquet: goes with --json; a run directory (--out) has packets.parquet")
    if not parquet.absolute().parent.is_dir():
        raise InputError(f"--parquet {parquet}: no such folder; make it first")


def _is_small(ingress: Path) -> bool:
    return ingress.is_file() and ingress.stat().st_size <= CONTENT_FILE_BYTES
