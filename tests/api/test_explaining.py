"""`taut.explain` gives what `taut explain --json` prints."""

import json
from pathlib import Path

import pytest

import taut
from made_run import VARIANTS, make_run
from taut.cli.main import run_command


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trial that can be explained, and one that failed."""
    folder = tmp_path_factory.mktemp("explained") / "run"
    return make_run(folder, VARIANTS[1:2], repetitions=1, failed=True)


def test_it_is_the_document_of_the_command(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["explain", str(path), "--over", "p99", "--json"]) == 0

    assert taut.explain(taut.load(path), over="p99") == json.loads(capsys.readouterr().out)


def test_where_nothing_can_be_explained_the_reason_is_raised(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(taut.InputError, match="not explained: ") as raised:
        taut.explain(path, trial="001-*")

    assert run_command(["explain", str(path), "--trial", "001-*"]) == 2
    assert capsys.readouterr().err.endswith(f"taut: {raised.value}\n")
