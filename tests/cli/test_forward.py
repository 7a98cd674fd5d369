from pathlib import Path

import pytest

from taut.cli.exec_program import arguments_after
from taut.cli.forward import read_config, to_arguments
from taut.core.errors import InputError


def test_a_file_becomes_arguments(tmp_path: Path) -> None:
    path = tmp_path / "f.toml"
    path.write_text(
        'ports = ["memif:a", "memif:b"]\nnf = ["null"]\ntransmit = "single"\ncore = 1\n'
        'eal = ["--log-level=8"]\n'
    )

    assert " ".join(to_arguments(read_config(path))) == (
        "--port memif:a --port memif:b --nf null --transmit single --core 1 -- --log-level=8"
    )


def test_a_shared_object_lies_beside_the_file(tmp_path: Path) -> None:
    path = tmp_path / "f.toml"
    path.write_text('ports = ["ring:a"]\nnf = ["./mine.so:port=5"]\n')

    assert read_config(path).nf == (f"{tmp_path}/mine.so:port=5",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('ports = ["ring:a"]\ntransmitt = "eager"\n', "transmitt"),
        ("burst = 4\n", "ports: missing"),
        ("ports = []\n", "ports"),
        ("ports = [\n", "no TOML"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "f.toml"
    path.write_text(text)

    with pytest.raises(InputError, match=words) as raised:
        read_config(path)

    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"f\.toml: No such file"):
        read_config(tmp_path / "f.toml")


def test_arguments_are_handed_over_as_typed() -> None:
    typed = ["taut", "generate", "--tx", "ring:a", "--", "-l", "1"]

    assert arguments_after("generate", typed) == ["--tx", "ring:a", "--", "-l", "1"]
