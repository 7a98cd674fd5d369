"""docs/api.md and the notebook do what they show: every cell is executed, in order."""

import ast
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import taut
from made_run import VARIANTS, make_run
from taut.api.measuring import read_experiment

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/api.md").read_text(), re.M | re.S)
# What measures for minutes, or changes the host: its call is checked instead.
NOT_EXECUTED = {"run": taut.run, "trim": taut.trim}


def call_of(block: str) -> ast.Call | None:
    """The call in a block that is not executed."""
    calls = [node for node in ast.walk(ast.parse(block)) if isinstance(node, ast.Call)]
    names = {f"taut.{name}" for name in NOT_EXECUTED}
    found = [call for call in calls if ast.unparse(call.func) in names]
    return found[0] if found else None


def test_the_pages_snippets_run_in_order(tmp_path: Path) -> None:
    make_run(tmp_path / "runs/first", VARIANTS[:2], repetitions=1)
    blocks = [block for block in BLOCKS if call_of(block) is None]

    done = subprocess.run(
        [sys.executable, "-c", "\n".join(blocks)], cwd=tmp_path, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    assert len(blocks) >= 5
    assert "events: there are none: it was not traced\n" in done.stdout
    assert "unknown 1" in done.stdout


@pytest.mark.parametrize("name", NOT_EXECUTED)
def test_calls_that_measure_have_arguments_that_are_taken(name: str) -> None:
    calls = [call for call in map(call_of, BLOCKS) if call is not None]
    [call] = [call for call in calls if ast.unparse(call.func) == f"taut.{name}"]
    given = [eval(ast.unparse(argument)) for argument in call.args]
    named = {str(word.arg): eval(ast.unparse(word.value)) for word in call.keywords}

    bound = inspect.signature(NOT_EXECUTED[name]).bind(*given, **named)

    experiment = bound.arguments["experiment"]
    spec, _ = read_experiment(
        ROOT / experiment if isinstance(experiment, str) else experiment, None
    )
    assert spec.device


@pytest.mark.smoke
@pytest.mark.beside
def test_the_notebook_runs_from_the_first_cell_to_the_last(tmp_path: Path) -> None:
    """Its cells in one namespace, as a kernel has them: no Jupyter is needed to execute them."""
    cells = json.loads((ROOT / "examples/packets.ipynb").read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]

    done = subprocess.run(
        [sys.executable, "-c", "\n".join(code)], cwd=tmp_path, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    [run] = (tmp_path / "runs").iterdir()
    assert f"{run.relative_to(tmp_path)}\n" in done.stdout
    assert [trial.is_whole for trial in taut.load(run).trials] == [True, True]
