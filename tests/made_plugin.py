"""Packages with entry points, as pip leaves them in a folder; who has it in PYTHONPATH has them."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CHECK = """
from taut.host.check import Finding, Severity, passed
from taut.host.table import Check

def judge(see):
    {judge}

ROW = Check("{id}", "a made check", "the made thing is wrong", Severity.MINOR, judge,
    wanted="a made thing", why="a test wants it", source="a test")
"""
METRIC = """
from taut.analysis.metric import Metric, Shape, distribution_sql

ROW = Metric("{name}", "ns", "received - due, counted a second time by a plug-in",
    distribution_sql("received_ns - due_ns", "received_ns IS NOT NULL"))
DERIVED = Metric("{name}_derived", "ns", "the made metric, a second time", '''
SELECT direction, is_void, is_cold, value_ns, n FROM distribution WHERE metric = '{name}'
ORDER BY direction, is_void, is_cold, value_ns''', derived=True)
"""


def make_plugin(
    folder: Path,
    package: str,
    points: Mapping[str, Mapping[str, str]],
    modules: Mapping[str, str],
    version: str = "1.0",
) -> Path:
    """Leave a package there; `points` are its entry points by group, `modules` its sources."""
    info = folder / f"{package.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    head = f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
    (info / "METADATA").write_text(head)
    lines = [
        line
        for group, named in points.items()
        for line in (f"[{group}]", *(f"{name} = {target}" for name, target in named.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    for name, source in modules.items():
        (folder / f"{name}.py").write_text(source)
    return folder


def taut(folder: Path, *arguments: str, cwd: Path | None = None) -> tuple[int, str, str]:
    """Run the command of this tree with a folder's plug-ins: exit status, stdout, stderr."""
    done = subprocess.run(
        [sys.executable, "-m", "taut.cli.main", *arguments],
        env={**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "80"},
        cwd=cwd,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout, done.stderr


def taut_json(folder: Path, *arguments: str) -> Any:
    """Give the document that a command prints."""
    status, out, err = taut(folder, *arguments, "--json")
    assert status == 0, err
    return json.loads(out)


def python(folder: Path, code: str, *arguments: str | Path) -> Sequence[str]:
    """Run a script with a folder's plug-ins; give the lines it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
