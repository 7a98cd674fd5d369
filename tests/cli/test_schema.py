"""`taut schema`: which there are, and each as JSON that names its document."""

import json
import subprocess

import pytest

from documents_by_schema import validator_of
from taut.cli.main import run_command
from taut.core.binaries import BINARIES, find_binary, find_binary_or_none
from taut.records.documents.catalogue import CATALOGUE

NAMES = ("experiment", *(of.name for of in CATALOGUE))


def schema(name: str, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    assert run_command(["schema", name]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_all_are_listed_with_version_and_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["schema"]) == 0

    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows] == list(NAMES)
    assert "results 2" in rows[NAMES.index("results")]
    assert "taut run --json" in rows[NAMES.index("results")]


@pytest.mark.parametrize("name", NAMES)
def test_it_prints_each(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert str(schema(name, capsys)["$id"]).startswith(f"urn:taut:schema:{name}:")


def test_an_unknown_one_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["schema", "result"]) == 2

    error = capsys.readouterr().err
    assert error == "taut: schema 'result': no document of taut; did you mean 'results'?\n"


@pytest.mark.smoke
@pytest.mark.beside
def test_schedules_and_their_options_are_those_of_the_generator(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = json.dumps(schema("experiment", capsys))

    for words in (
        '"enum": ["constant", "jittered", "poisson", "burst", "step"]',
        "frames in a train",
    ):
        assert words in text


def test_without_the_generator_any_schedule_may_be_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    monkeypatch.setenv("TAUT_BIN_DIR", str(tmp_path))
    assert find_binary_or_none(BINARIES[0]) is None

    text = json.dumps(schema("experiment", capsys))

    assert "frames in a train" not in text


def test_what_a_command_prints_is_as_its_schema_has_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["host", "lint", "--here", "isolcpus=1", "nohz_ful=1", "--json"]) == 3

    printed = json.loads(capsys.readouterr().out)
    assert printed["problems"]
    assert validator_of("lint").is_valid(printed)


@pytest.mark.smoke
@pytest.mark.beside
@pytest.mark.parametrize("program", BINARIES)
def test_what_a_program_says_of_itself_is_as_its_schema_has_it(program: str) -> None:
    command = [find_binary(program), "--describe"]

    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    assert told["options"]
    assert validator_of("described").is_valid(told)
