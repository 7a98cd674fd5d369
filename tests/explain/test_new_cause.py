"""A new cause is one row: written into a copy of its kind's file, it appears in every place."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import taut
from made_plugin import make_plugin

TESTS = Path(__file__).parents[1]
ROW = """
CORE_SYNC = Cause(
    id="core-sync",
    title="a made call",
    why="A test had the core synchronise itself.",
    noun="the core's own synchronisation",
    evidence=Evidence.EVENT,
    seen_by="the function that was called",
    calls=("do_sync_core",),
    has_sender=True,
    colour=("#123456", "#abcdef"),
    remedies=("A06",),
    made=Injector("vcpu-hog"),
)
"""


HEAD = "from taut.explain.cause import Cause, Evidence, Injector\n"


def said(folder: Path, tree: Path) -> dict[str, object]:
    """What the places say in a tree, which may be a folder of plug-ins."""
    folder.mkdir()
    command = [sys.executable, TESTS / "every_place_of_a_cause.py", folder]
    paths = ":".join(map(str, (tree, TESTS, TESTS.parent / "devtools")))
    done = subprocess.run(
        [*command, "core-sync", "do_sync_core"],
        env={**os.environ, "PYTHONPATH": paths, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def with_row(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("row")
    tree = folder / "python"
    shutil.copytree(Path(taut.__file__).parent, tree / "taut")
    with (tree / "taut" / "explain" / "causes" / "calls.py").open("a") as kind:
        kind.write(ROW)
    return said(folder / "run", tree)


def test_without_its_row_nobody_knows_it(tmp_path: Path) -> None:
    found = said(tmp_path / "run", Path(taut.__file__).parents[1])

    assert found["verdict"] == "function-call"
    assert "core-sync" not in json.dumps(found)


def test_the_timeline_and_the_verdict_have_it(with_row: dict[str, object]) -> None:
    assert with_row["timeline"][0] == "core-sync"
    assert with_row["verdict"] == "core-sync"
    assert with_row["json"] == ["core-sync"]
    assert with_row["perfetto"]
    # Its sender is proved by the call, as of every cause with a sender.
    assert not with_row["missing"]


def test_words_and_remedies_are_the_row_s(with_row: dict[str, object]) -> None:
    who = 'by the core\'s own synchronisation (by "telemetry"/4711 on cpu0)'
    assert f"was taken for 60 µs {who}" in with_row["sentence"]
    assert "The core's own synchronisation" in with_row["terminal"]
    assert "A06" in with_row["terminal"]


def test_the_report_has_its_colour(with_row: dict[str, object]) -> None:
    assert with_row["report"] == ["--cause-core-sync"]
    assert with_row["style_sheet"]
    assert with_row["light"] == "#123456"


def test_the_self_test_makes_it_and_the_reference_lists_it(with_row: dict[str, object]) -> None:
    assert "vcpu-hog" in with_row["self_test"]
    assert with_row["not_proved"] == "not asked for"
    [line] = with_row["reference"]
    assert "A test had the core synchronise itself." in line
    assert "the function that was called" in line


def test_the_row_of_a_plugin_appears_in_the_same_places(
    tmp_path: Path, with_row: dict[str, object]
) -> None:
    """But for the reference, which is taut's own, and the end of the list of what is made."""
    points = {"taut.causes": {"core-sync": "made:CORE_SYNC"}}
    plugin = make_plugin(tmp_path / "plugin", "taut-made", points, {"made": HEAD + ROW})

    found = said(tmp_path / "run", plugin)

    assert found.pop("reference") == []
    assert str(found.pop("self_test")).endswith(", vcpu-hog")
    others = {"reference", "self_test"}
    assert found == {place: words for place, words in with_row.items() if place not in others}
