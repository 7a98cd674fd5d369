"""docs/plugins.md and examples/plugin: every command and snippet of the page is executed."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from made_plugin import make_plugin, python, taut, taut_json
from taut.core.plugins import Plugin
from taut.host.checks import CHECKS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/plugins.md").read_text()


def blocks(kind: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```\n", TEXT, re.MULTILINE | re.DOTALL)
    return [text for name, text in found if name == kind]


COMMANDS = [line for block in blocks("sh") for line in block.splitlines()]
# What needs packets sent, and root for veth.
MEASURES = [line for line in COMMANDS if line.startswith(("taut run", "pytest"))]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example installed as the page says, from a copy: a build leaves files."""
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copytree(ROOT / "examples/plugin", folder / "examples/plugin")
    assert COMMANDS[0] == "pip install ./examples/plugin"
    # Nothing is fetched: what it depends on is this tree, what builds it is in its environment.
    offline = ["--no-index", "--no-build-isolation", "--no-deps", "--target", folder / "site"]
    command = [sys.executable, "-m", "pip", "install", "-q", *offline, "./examples/plugin"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "site"


def run(line: str, site: Path) -> str:
    """Execute a line of the page where the example lies; give what it prints."""
    program, *words = shlex.split(line)
    module = {"taut": "taut.cli.main", "pytest": "pytest"}[program]
    # Caches would be the example's, and marks of this tree are not its.
    quietly = ["-q", "-p", "no:cacheprovider", "--rootdir=."] if program == "pytest" else []
    done = subprocess.run(
        [sys.executable, "-m", module, *quietly, *words],
        env={**os.environ, "PYTHONPATH": str(site), "COLUMNS": "80"},
        cwd=site.parent,
        capture_output=True,
        text=True,
    )
    # 1: a check of this machine fails, or a need of the doctor is unmet.
    assert done.returncode == 0 or "doctor" in line, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_its_members_stand_beside_taut_s_own(site: Path) -> None:
    said = {line: run(line, site) for line in COMMANDS[1:] if line not in MEASURES}

    assert said["taut plugins"] == blocks("")[0]
    assert "packet_socket: yes, a Python loop between two packet sockets\n" in said["taut doctor"]
    assert "SOCK01" in said["taut host plan --only SOCK01"]
    audit = taut_json(site, "host", "audit", "--watch", "0s")
    assert [check["id"] for check in audit["checks"]] == [*(c.id for c in CHECKS), "SOCK01"]
    schema = json.loads(said["taut schema experiment"])
    assert "packet_socket" in schema["$defs"]["DeviceSpec"]["properties"]["driver"]["enum"]
    words = "taut host plan --device pack"
    completing = {"COMP_WORDS": words, "COMP_CWORD": "4", "_TAUT_COMPLETE": "bash_complete"}
    assert complete(site, completing) == "plain,packet_socket\n"


def complete(site: Path, asked: Mapping[str, str]) -> str:
    return subprocess.run(
        [sys.executable, "-m", "taut.cli.main"],
        env={**os.environ, **asked, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.smoke
@pytest.mark.root
@pytest.mark.beside
@pytest.mark.parametrize("line", MEASURES)
def test_it_is_measured_and_conforms(line: str, site: Path) -> None:
    run(line, site)

    if line.startswith("taut run"):
        folder = site.parent / "runs/plugin"
        manifest = json.loads((folder / "manifest.json").read_text())
        shown = "{" + blocks("json")[0] + "}"
        assert manifest["plugins"] == json.loads(shown)["plugins"]
        trials = json.loads((folder / "results.json").read_text())["trials"]
        assert {trial["dut"] for trial in trials} >= {"packet_socket", "linux_bridge"}
        assert all(trial["status"] == "whole" for trial in trials)
        assert "plug-in taut.devices.packet_socket" in (folder / "report.html").read_text()


def test_the_table_of_the_groups_is_that_of_the_tables(tmp_path: Path) -> None:
    make_plugin(tmp_path, "taut-made", {"taut.none": {"x": "x:X"}}, {})

    [row] = taut_json(tmp_path, "plugins")["plugins"]

    groups = re.findall(r"^\| `(taut\.\w+)` \| an? `(\w+)` \(`([\w/.]+)`\)", TEXT, re.MULTILINE)
    assert row["why_not"].endswith(f"there are {', '.join(group for group, _, _ in groups)}")
    for _, kind, path in groups:
        assert f"\nclass {kind}" in (ROOT / path).read_text()


def test_its_metric_and_its_cause_are_members_that_conform(tmp_path: Path) -> None:
    metric, cause = blocks("python")
    points = {"taut.metrics": {"sent_early": "m:BEFORE_DUE"}, "taut.causes": {"agent": "c:AGENT"}}
    make_plugin(tmp_path, "taut-made", points, {"m": metric, "c": cause})

    lines = python(
        tmp_path,
        "import sys\n"
        "from pathlib import Path\n"
        "from c import AGENT\n"
        "from m import BEFORE_DUE\n"
        "from taut.explain.causes import CAUSES\n"
        "from taut.testing import causes, metrics\n"
        "from taut.testing.packets import packet\n"
        "metrics.conforms(BEFORE_DUE)\n"
        "causes.conforms(AGENT)\n"
        "rows = [packet(0, sent_after_ns=-30), packet(1), packet(2, sent_after_ns=-10)]\n"
        "print(metrics.values_of(BEFORE_DUE, rows, Path(sys.argv[1])), AGENT in CAUSES)\n",
        tmp_path,
    )

    assert lines == ["[10, 30] True"]


def test_a_device_that_cannot_be_imported_ends_an_experiment_in_one_line(tmp_path: Path) -> None:
    points = {"taut.devices": {"packet_socket": "bad:X"}}
    make_plugin(tmp_path, "taut-made", points, {"bad": "import no_such_module"})

    status, out, err = taut(
        tmp_path, "run", str(ROOT / "examples/plugin/experiment.toml"), "--dry-run", cwd=tmp_path
    )

    assert (status, out) == (2, "")
    plugin = Plugin("taut.devices", "packet_socket", "taut-made", "1.0", "bad:X")
    why = "cannot be imported: ModuleNotFoundError: No module named 'no_such_module'"
    assert err == f"taut: plug-in {plugin}: {why}; mend or uninstall it\n"
