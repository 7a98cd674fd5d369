from pathlib import Path

import pytest

from taut.cli.main import run_command


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing-here"], "no such folder"),
        (["{empty}"], "no whole trial"),
    ],
)
def test_what_is_no_run_is_said_in_one_line(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled = [argument.format(empty=tmp_path) for argument in arguments]

    assert run_command(["explain", *filled]) == 2

    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1
