import re
from pathlib import Path

import pytest

from taut.cli.init import EXPERIMENT
from taut.cli.main import run_command
from taut.experiment.spec import parse_spec


def test_what_it_writes_is_an_experiment(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    assert run_command(["init", "my-bridge"]) == 0

    assert parse_spec((tmp_path / "my-bridge.toml").read_text()).name == "my-bridge"
    assert "taut run my-bridge.toml --dry-run" in capsys.readouterr().out


def test_every_key_that_is_commented_out_is_one():
    text = EXPERIMENT.format(name="x", file="x.toml")

    spec = parse_spec(re.sub(r"(?m)^#(?=\S)", "", text))

    assert [device.name for device in spec.device] == ["eager", "buffered", "linux_bridge"]
    assert spec.cores.device == 1
    assert spec.host[1].profile == "recommended"
    assert spec.traffic[0].both


def test_a_file_that_is_there_is_not_touched(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    mine = tmp_path / "experiment.toml"
    mine.write_text("mine")

    assert run_command(["init"]) == 2

    assert mine.read_text() == "mine"
    assert "experiment.toml: is there already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "words"),
    [("no such/folder", "cannot be written"), ("a b", "no name of an experiment")],
)
def test_a_name_that_cannot_be_is_one_line(name: str, words: str, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    assert run_command(["init", name]) == 2

    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
