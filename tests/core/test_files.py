import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from taut.core.files import remove_unfinished, whole, whole_path, write_json, write_whole

_WRITES_HALF = """
import sys
from pathlib import Path
from taut.core.files import whole
with whole(Path(sys.argv[1])) as temporary:
    temporary.write_text("half")
    print("half", flush=True)
    sys.stdin.read()
"""


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"n": 1})

    with pytest.raises(TypeError):
        write_json(path, {"n": object()})

    assert json.loads(path.read_text()) == {"n": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_text_of_any_bytes_is_written_as_it_was_read(tmp_path: Path) -> None:
    write_whole(tmp_path / "a", b"\xff \xc3\xa9\n".decode(errors="surrogateescape"))

    assert (tmp_path / "a").read_bytes() == b"\xff \xc3\xa9\n"


@pytest.fixture
def half(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A writer of the file `a` that is in the middle of it."""
    with subprocess.Popen(
        [sys.executable, "-c", _WRITES_HALF, str(tmp_path / "a")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "half\n"
        yield process
        process.kill()


def test_a_killed_writer_leaves_the_old_file_and_the_next_one_writes_it(
    tmp_path: Path, half: subprocess.Popen[str]
) -> None:
    (tmp_path / "a").write_text("old")
    half.kill()
    half.wait()
    found = (tmp_path / "a").read_text()

    write_whole(tmp_path / "a", "new")

    assert found == "old"
    assert (tmp_path / "a").read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_what_killed_writers_left_is_removed_and_what_is_written_is_not(
    tmp_path: Path, half: subprocess.Popen[str]
) -> None:
    (tmp_path / ".tmp-trial").mkdir()
    remove_unfinished(tmp_path)
    while_written = sorted(p.name for p in tmp_path.iterdir())
    half.kill()
    half.wait()

    remove_unfinished(tmp_path)

    assert while_written == [".tmp-a", ".tmp-trial"]
    assert [p.name for p in tmp_path.iterdir()] == [".tmp-trial"]


def test_two_writers_of_a_file_take_turns(tmp_path: Path, half: subprocess.Popen[str]) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _WRITES_HALF, str(tmp_path / "a")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as second:
        with pytest.raises(subprocess.TimeoutExpired):
            second.wait(1)
        half.communicate("")
        assert second.wait(60) == 0

    assert (tmp_path / "a").read_text() == "half"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_an_error_names_the_file_that_was_to_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, whole(tmp_path / "nowhere/a"):
        pass

    assert caught.value.filename == str(tmp_path / "nowhere/a")


def test_a_device_is_written_to_and_stays_one(tmp_path: Path) -> None:
    node = tmp_path / "null"
    try:
        os.mknod(node, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        node.write_text("x")
    except OSError:  # nobody's right here, or of no use on this file system
        node.unlink(missing_ok=True)
        node.symlink_to("/dev/null")

    write_whole(node, "new")

    assert stat.S_ISCHR(node.stat().st_mode)
    assert [p.name for p in tmp_path.iterdir()] == ["null"]


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(subprocess.check_output, ["cat", pipe], timeout=10, text=True)
        write_whole(pipe, "new")

        assert found.result() == "new"
    assert pipe.is_fifo()
    assert [p.name for p in tmp_path.iterdir()] == ["pipe"]


def test_a_link_to_a_file_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    (tmp_path / "link").symlink_to("a")

    write_whole(tmp_path / "link", "new")

    assert (tmp_path / "a").read_text() == "old"
    assert (tmp_path / "link").read_text() == "new"
    assert not (tmp_path / "link").is_symlink()


def test_a_link_of_the_system_is_followed_whatever_it_leads_to(tmp_path: Path) -> None:
    program = "from taut.core.files import *; write_whole(Path('/dev/stdout'), 'new')"
    (tmp_path / "out").write_text("old ")
    with (tmp_path / "out").open("a") as out:
        subprocess.run([sys.executable, "-c", program], stdout=out, check=True)

    assert (tmp_path / "out").read_text() == "old new"
    assert Path("/dev/stdout").is_symlink()


def test_an_error_of_a_device_names_it(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("/dev/full")

    with pytest.raises(OSError, match="No space left") as caught:
        write_whole(tmp_path / "a", "new")

    assert caught.value.filename == str(tmp_path / "a")


def test_a_path_has_one_spelling_from_every_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)

    assert whole_path(Path("lab"), "x") == whole_path(Path(), "./lab/y/../x") == f"{tmp_path}/lab/x"
    assert whole_path(Path("/a"), "b/c") == str(Path("/a/b/c").absolute())
    assert whole_path(Path("lab"), "/etc/x") == "/etc/x"
