"""`taut analyze` of captures that a test has made."""

import json
from pathlib import Path
from typing import Any

import pytest

from made_captures import MadePair, pcap_bytes, write_capture
from taut.cli.main import run_command


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run_command(["analyze", *arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def write_sides(folder: Path, pair: MadePair) -> list[str]:
    return [
        str(write_capture(folder / f"{side}.pcap", pcap_bytes(frames)))
        for side, frames in enumerate((pair.ingress, pair.egress))
    ]
