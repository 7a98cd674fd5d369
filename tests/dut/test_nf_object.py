from pathlib import Path

import pytest

from taut.core.errors import InputError
from taut.dut.nf_object import files_of, object_of, seen_from


@pytest.mark.parametrize(
    ("word", "file"),
    [
        ("null", None),
        ("delay:time=5us", None),
        ("so", None),
        (".so", None),
        ("bridge:a=0,b=./1.so", None),
        ("mine.so", "mine.so"),
        ("mine.so:port=5", "mine.so"),
        ("./mine", "./mine"),
        ("/opt/mine.so:file=/etc/x", "/opt/mine.so"),
    ],
)
def test_a_slash_or_the_ending_makes_a_word_a_file(word: str, file: str | None) -> None:
    assert object_of(word) == (None if file is None else Path(file))


def test_a_file_is_found_from_another_folder_and_a_name_stays() -> None:
    folder = Path("/home/me")

    assert seen_from(folder, "./mine.so:port=5,file=./x") == "/home/me/mine.so:port=5,file=./x"
    assert seen_from(folder, "../mine.so") == "/home/mine.so"
    assert seen_from(folder, "/opt/mine.so") == "/opt/mine.so"
    assert seen_from(folder, "delay:time=5us") == "delay:time=5us"


def test_a_relative_folder_is_one_of_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)

    assert seen_from(Path("sub"), "mine.so") == f"{tmp_path}/sub/mine.so"
    assert seen_from(Path("../sub"), "router:routes=r") == f"router:routes={tmp_path.parent}/sub/r"


def test_what_taut_s_own_functions_read_is_found_from_another_folder() -> None:
    folder = Path("/home/me")

    word = seen_from(folder, "router:routes=r/routes,errors=5,neighbours=/etc/n,addresses=")

    assert word == "router:routes=/home/me/r/routes,errors=5,neighbours=/etc/n,addresses="
    assert seen_from(folder, "firewall:rules=fw.nft") == "firewall:rules=/home/me/fw.nft"
    assert seen_from(folder, "firewall") == "firewall"
    assert list(files_of(word)) == [Path("/home/me/r/routes"), Path("/etc/n")]
    assert list(files_of("./mine.so:rules=x")) == [Path("mine.so")]


def test_a_comma_in_the_folder_is_refused_as_it_would_end_the_path() -> None:
    with pytest.raises(InputError, match=r"/a,b/fw\.nft: a comma ends a path here"):
        seen_from(Path("/a,b"), "firewall:rules=fw.nft")
