"""What a run's manifest says of taut itself: versions, hashes, the clone; and the writing of it."""

import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from taut.core.binaries import BINARIES, find_binary_or_none, sha256_of
from taut.core.credentials import hide_in
from taut.core.files import write_json
from taut.core.plugins import used
from taut.core.version import taut_version
from taut.records.documents.json_form import JsonObject, plain
from taut.records.documents.manifest import (
    MANIFEST_FILE,
    GitState,
    Manifest,
    PluginUsed,
    Program,
    Python,
    SpecOfRun,
    Tool,
)

_PACKAGES = ("numpy", "pyarrow", "duckdb", "pydantic", "pyroute2", "altair", "scipy")


def make_manifest(
    *,
    host: JsonObject,
    spec: SpecOfRun,
    seeds: Mapping[str, int],
    command_line: Sequence[str] = (),
) -> Manifest:
    """Collect the manifest; `host` is host.fingerprint.fingerprint(Host()).

    What the next part of a resumed run is compared with is without passwords, as it is written.
    """
    return Manifest(
        started_utc=datetime.now(UTC).isoformat(timespec="seconds"),
        taut=Tool(
            version=taut_version(),
            git=git_state(Path(__file__).resolve().parents[3]),
            binaries=binary_hashes(),
            command_line=hide_in(tuple(command_line)),
        ),
        python=Python(platform.python_version(), sys.executable, package_versions(_PACKAGES)),
        plugins=plugins_used("taut.devices", "taut.placements", "taut.checks"),
        host=hide_in(host),
        spec=spec,
        seeds=seeds,
    )


def write_manifest(run: Path, manifest: Manifest) -> None:
    """Write RUN/manifest.json, whole or not at all, with passwords blotted out."""
    write_json(run / MANIFEST_FILE, hide_in(plain(manifest)))


def plugins_used(*tables: str) -> tuple[PluginUsed, ...]:
    """Give the plug-ins of some tables that this process has imported and uses."""
    return tuple(
        PluginUsed(plugin.group, plugin.name, plugin.package, plugin.version)
        for plugin in used()
        if plugin.group in tables
    )


def binary_hashes() -> dict[str, Program | None]:
    """Path and SHA-256 of each of taut's programs; None for one that is not built."""
    found = {name: find_binary_or_none(name) for name in BINARIES}
    return {
        name: Program(str(path), sha256_of(path)) if path else None for name, path in found.items()
    }


def package_versions(names: Sequence[str]) -> dict[str, str | None]:
    """Versions of installed Python packages; None for one that is not."""
    versions: dict[str, str | None] = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = None
    return versions


def git_state(clone: Path) -> GitState | None:
    """Commit of the clone taut runs from and whether files differ from it; None without git."""
    if not (clone / ".git").exists():
        return None
    try:
        commit = _git(clone, "rev-parse", "HEAD").strip()
        changed = _git(clone, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError):
        return None
    return GitState(commit, bool(changed.strip()))


def _git(clone: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(clone), *arguments], check=True, capture_output=True, text=True
    ).stdout
