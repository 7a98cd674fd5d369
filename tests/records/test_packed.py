"""What a packed run is refused for: built entry by entry, or a whole one that is damaged."""

import errno
import json
import os
import stat
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from taut.cli.main import run_command
from taut.core.errors import InputError
from taut.records.packed import open_packed, write_packed

FILES = {"manifest.json": b"{}", "report.html": b"words " * 40, "trials/0/packets.parquet": b"PAR1"}


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    write_packed(folder_of(tmp_path / "run", FILES), tmp_path / "run.taut")
    return tmp_path / "run.taut"


def folder_of(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def unpacked(file: Path, folder: Path) -> dict[str, bytes]:
    folder.mkdir()
    with open_packed(file) as found:
        found.extract(folder)
    return contents(folder)


def test_a_folder_that_cannot_be_listed_is_not_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = folder_of(tmp_path / "run", FILES)
    scandir = os.scandir

    def refusing(path: str) -> object:
        if Path(path) == run / "trials":
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(PermissionError, match="trials"):
        write_packed(run, tmp_path / "run.taut")
    assert not (tmp_path / "run.taut").exists()


def said_of(name: str, content: bytes) -> dict[str, object]:
    return {"path": name, "size": len(content), "sha256": sha256(content).hexdigest()}


def built(file: Path, packed: dict[str, bytes], **changes: object) -> Path:
    """A packed run whose pack.json says what it holds, but for `changes`."""
    document = {
        "format": 1,
        "taut": "0.1.0",
        "run": "run",
        "files": [said_of(*one) for one in packed.items()],
        "left_out": None,
    }
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in packed.items():
            archive.writestr(name, content)
        archive.writestr("pack.json", json.dumps(document | changes))
    return file


def refused(file: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What `taut unpack` says of a file that it refuses; nothing is left of it."""
    out = file.parent / "out" / "run"

    assert run_command(["unpack", str(file), "--out", str(out)]) == 2

    [line] = capsys.readouterr().err.splitlines()
    assert not out.exists()
    assert not any(out.parent.glob("*"))
    return line


def test_the_same_run_is_the_same_bytes_in_another_place_and_order(
    packed: Path, tmp_path: Path
) -> None:
    backwards = dict(reversed(FILES.items()))
    run = folder_of(tmp_path / "elsewhere" / "run", backwards)
    (run / ".tmp-report.html").write_text("half")
    (run / "trials" / ".tmp-1").mkdir()
    (run / "manifest.json").chmod(0o600)

    write_packed(run, tmp_path / "again.taut")

    assert (tmp_path / "again.taut").read_bytes() == packed.read_bytes()
    assert unpacked(packed, tmp_path / "out") == FILES


def test_records_are_left_out_where_asked(tmp_path: Path) -> None:
    run = folder_of(tmp_path / "run", FILES)

    document = write_packed(run, tmp_path / "less.taut", without_records=True)

    assert document.left_out is not None
    assert (document.left_out.n_files, document.left_out.n_bytes) == (1, 4)
    kept = unpacked(tmp_path / "less.taut", tmp_path / "out")
    assert kept.keys() == {"manifest.json", "report.html"}


def test_a_byte_that_is_wrong_is_seen_or_does_no_harm(packed: Path, tmp_path: Path) -> None:
    whole = packed.read_bytes()
    n_refused = 0
    for at in range(0, len(whole), 11):
        packed.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            found = unpacked(packed, tmp_path / str(at))
        except InputError as error:
            n_refused += 1
            assert str(error).startswith(str(packed))
        else:
            # A time, or a version that nobody asks for.
            assert found == FILES

    assert n_refused > len(whole) // 22


def test_a_file_that_is_cut_off_is_refused(packed: Path) -> None:
    whole = packed.read_bytes()
    for n in range(0, len(whole), 9):
        packed.write_bytes(whole[:n])
        with (
            pytest.raises(InputError, match=r"damaged or cut off|no packed run"),
            open_packed(packed),
        ):
            pass


@pytest.mark.parametrize(
    "name",
    [
        "../up",
        "/up",
        "a/../../up",
        "a//b",
        "./a",
        ".hidden",
        "a/.taut-scratch",
        "a\\b",
        "a/",
        "a\nb",
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = built(tmp_path / "odd.taut", FILES | {name: b""})

    assert "is no name of a file in a run; unpack none of it" in refused(file, capsys)


def test_a_link_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "odd.taut"
    with zipfile.ZipFile(file, "w") as archive:
        entry = zipfile.ZipInfo("up")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, "/etc/passwd")
        said = {"format": 1, "taut": "", "run": "", "files": [said_of("up", b"/etc/passwd")]}
        archive.writestr("pack.json", json.dumps(said))

    assert "up is a link or a device; unpack none of it" in refused(file, capsys)


def many(files: dict[str, bytes]) -> list[dict[str, object]]:
    return [said_of(*one) for one in files.items()]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": 9, "taut": "3.1"}, "format 9, packed by taut 3.1; this one reads as far as 1"),
        ({"files": many(FILES | {"more": b""})}, "its files are not those of pack.json: 'more'"),
        ({"files": many(FILES)[1:]}, "its files are not those of pack.json: 'manifest.json'"),
        ({"files": many(FILES) * 2}, "pack.json names a file twice"),
        ({"files": many(FILES | {"manifest.json": b"{ }"})}, "manifest.json is of another size"),
        ({"files": many(FILES | {"manifest.json": b"[]"})}, "manifest.json has another SHA-256"),
        ({"files": many(FILES | {"report.html/a": b""})}, "'report.html/a' is no name of a file"),
        ({"files": 3}, "files: a list expected, a number found; the file is damaged"),
    ],
)
def test_what_is_not_as_it_says_is_refused(
    changes: dict[str, object], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in refused(built(tmp_path / "odd.taut", FILES, **changes), capsys)


def test_a_run_for_which_there_is_no_room_is_refused_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    size = 1 << 60
    file = tmp_path / "bomb.taut"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a", b"", zipfile.ZIP_DEFLATED)
        archive.getinfo("a").file_size = size
        said = [said_of("a", b"") | {"size": size}]
        document = {"format": 1, "taut": "", "run": "", "files": said}
        archive.writestr("pack.json", json.dumps(document))

    assert "the run takes 1,152,921,504,607 MB, and" in refused(file, capsys)


def test_what_is_no_packed_run_is_told_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text").write_text("text")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("a", "a")

    assert "text: no packed run; `taut pack RUN` writes one" in refused(tmp_path / "text", capsys)
    assert "there is no pack.json in it" in refused(tmp_path / "other.zip", capsys)
    assert "no such file" in refused(tmp_path / "none.taut", capsys)


def test_a_link_in_a_run_is_not_packed(tmp_path: Path) -> None:
    run = folder_of(tmp_path / "run", FILES)
    (run / "figures").symlink_to(tmp_path)

    with pytest.raises(InputError, match="figures: no file but a link or a device"):
        write_packed(run, tmp_path / "run.taut")

    assert not (tmp_path / "run.taut").exists()
