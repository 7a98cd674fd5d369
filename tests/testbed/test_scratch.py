"""Scratch is private, gone when left, and swept when its maker was killed; nothing else is."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from taut.core.errors import InputError
from taut.testbed.carriers import carriers
from taut.testbed.scratch import VARIABLE, Scratch, find_dead, made_whole, sweep

MARK = ".taut-scratch"

_HELD = """
import subprocess, sys
from taut.testbed.scratch import VARIABLE, Scratch
with Scratch("duckdb") as folder:
    (folder / "spilt").write_bytes(bytes(2_000_000))
    (folder / "deep/deeper").mkdir(parents=True)
    (folder / "deep/deeper/link").symlink_to(sys.argv[1])
    # A child that would outlive its parent, which says so in its environment.
    subprocess.Popen(["sleep", "1000"], env={VARIABLE: str(folder)}, stdout=subprocess.DEVNULL)
    print(folder, flush=True)
    sys.stdin.read()
"""

_MADE_AGAIN_AND_AGAIN = """
from taut.testbed.scratch import Scratch
for _ in range(200):
    with Scratch("count") as folder:
        (folder / "a").write_text("a")
        assert (folder / "a").read_text() == "a"
"""

_KILLED_AT_EACH_STEP = """
import os, signal, sys
from taut.testbed.scratch import Scratch, sweep

def use(until):
    steps = 0
    def step(event, arguments):
        nonlocal steps
        if event == "open" or event.startswith(("os.", "fcntl.", "shutil.", "tempfile.")):
            steps += 1
            if steps == until:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(step)
    with Scratch("count", sweeping=False) as folder:
        (folder / "a/b").mkdir(parents=True)
        (folder / "a/b/c").write_text("c")
    os._exit(0)

n_swept, until = 0, 1
while True:
    child = os.fork()
    if not child:
        use(until)
    if os.waitpid(child, 0)[1] == 0:
        break
    n_swept += len(sweep())
    left = os.listdir(os.environ["TMPDIR"])
    assert not left, f"killed at step {until}: {left}"
    until += 1
print(n_swept)
"""

_HALF_MADE = """
import sys
from pathlib import Path
from taut.testbed.scratch import made_whole
with made_whole(Path(sys.argv[1])):
    (Path(sys.argv[1]) / "trials").mkdir()
    print(flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of temporary files of the test's own."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@contextmanager
def held_elsewhere(outside: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Scratch of another process, with things in it, and a child of its own."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HELD, str(outside)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        folder = Path(process.stdout.readline().strip())
        yield process, folder
    finally:
        process.kill()
        process.communicate()
        for child in carriers(VARIABLE, str(folder)):
            os.kill(child, signal.SIGKILL)


def test_it_is_private_and_gone_when_left(temporary: Path) -> None:
    with Scratch("count") as folder:
        (folder / "a/b").mkdir(parents=True)
        (folder / "a/b/c").touch()

        assert folder.parent == temporary
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700

    assert list(temporary.iterdir()) == []


def test_one_left_by_an_error_is_gone_too(temporary: Path) -> None:
    with pytest.raises(KeyError), Scratch("count"):
        raise KeyError

    assert list(temporary.iterdir()) == []


def test_what_lives_is_never_swept(tmp_path: Path, temporary: Path) -> None:
    with held_elsewhere(tmp_path) as (_, theirs), Scratch("count") as ours:
        assert find_dead() == sweep() == []
        assert sorted(temporary.iterdir()) == sorted([theirs, ours])
        assert (theirs / "spilt").is_file()
        assert len(carriers(VARIABLE, str(theirs))) == 1


def test_what_a_killed_maker_left_is_named_and_the_next_one_removes_it(
    tmp_path: Path, temporary: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "thesis.tex").touch()
    with held_elsewhere(outside) as (process, theirs):
        process.kill()
        process.wait()

        named = find_dead()
        with Scratch("count") as ours:
            left = list(temporary.iterdir())

        assert named == [f"scratch folder {theirs} (2.0 MB)"]
        assert left == [ours]
        assert carriers(VARIABLE, str(theirs)) == []
        assert (outside / "thesis.tex").is_file()


def test_one_that_died_while_it_made_or_removed_it_is_swept(temporary: Path) -> None:
    unmarked = temporary / "taut-count-aaaaaaaa.scratch"
    emptied = temporary / "taut-count-bbbbbbbb.scratch"
    unmarked.mkdir(mode=0o700)
    emptied.mkdir(mode=0o700)
    (emptied / MARK).touch()

    swept = sweep()

    assert [line.split()[2] for line in swept] == [str(unmarked), str(emptied)]
    assert list(temporary.iterdir()) == []


def test_whenever_its_maker_is_killed_it_is_swept(temporary: Path) -> None:
    n_swept = subprocess.run(
        [sys.executable, "-c", _KILLED_AT_EACH_STEP], check=True, stdout=subprocess.PIPE, text=True
    ).stdout

    assert int(n_swept) >= 10  # made, held, marked, used, emptied, unmarked


def test_what_is_not_taut_s_is_never_touched(tmp_path: Path, temporary: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / MARK).touch()
    (temporary / "taut-count-cccccccc.scratch").symlink_to(home)
    (temporary / "taut-count-dddddddd.scratch").write_text("a file")
    os.mkfifo(temporary / "taut-count-eeeeeeee.scratch")
    for name in ("taut-pictures", "count-ffffffff.scratch", "taut-count-12345678"):
        (temporary / name).mkdir()
        (temporary / name / MARK).touch()
    without_mark = temporary / "taut-count-gggggggg.scratch"
    without_mark.mkdir(mode=0o700)
    (without_mark / "thesis.tex").touch()
    mark_is_a_link = temporary / "taut-count-hhhhhhhh.scratch"
    mark_is_a_link.mkdir(mode=0o700)
    (mark_is_a_link / MARK).symlink_to(home / MARK)
    before = sorted(tmp_path.rglob("*"))

    assert find_dead() == sweep() == []
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.root
@pytest.mark.beside
@pytest.mark.parametrize("is_empty", [True, False])
def test_another_user_s_is_never_touched(temporary: Path, is_empty: bool) -> None:
    theirs = temporary / "taut-count-aaaaaaaa.scratch"
    theirs.mkdir(mode=0o700)
    if not is_empty:
        (theirs / MARK).touch()
    os.chown(theirs, 65534, 65534)

    assert find_dead() == sweep() == []
    assert theirs.is_dir()


def test_who_makes_and_who_sweeps_do_not_hurt_each_other(temporary: Path) -> None:
    makers = [subprocess.Popen([sys.executable, "-c", _MADE_AGAIN_AND_AGAIN]) for _ in range(3)]
    while any(maker.poll() is None for maker in makers):
        sweep()

    assert [maker.returncode for maker in makers] == [0, 0, 0]
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("place", ["nowhere", "file"])
def test_a_place_that_takes_none_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TMPDIR", str(tmp_path / place))

    with pytest.raises(InputError, match=rf"{place}: no folder .* set TMPDIR to another$"):
        Scratch("count")


@contextmanager
def half_made(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has not finished a folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HALF_MADE, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def make(path: Path) -> None:
    with made_whole(path):
        (path / "whole").touch()


def test_a_folder_is_whole_or_not_there(tmp_path: Path) -> None:
    make(tmp_path / "deep/run")
    with pytest.raises(KeyError), made_whole(tmp_path / "failed"):
        (tmp_path / "failed/half").touch()
        raise KeyError

    assert [path.name for path in (tmp_path / "deep/run").iterdir()] == ["whole"]
    assert not (tmp_path / "failed").exists()


@pytest.mark.parametrize("name", ["run", "another"])
def test_what_a_killed_maker_left_is_removed_by_the_next_there_or_beside(
    tmp_path: Path, name: str
) -> None:
    with half_made(tmp_path / "runs/run"):
        pass
    left = list((tmp_path / "runs/run").iterdir())

    make(tmp_path / "runs" / name)

    assert len(left) == 2
    assert list((tmp_path / "runs").rglob("*")) == [
        tmp_path / "runs" / name,
        tmp_path / "runs" / name / "whole",
    ]


def test_a_folder_in_use_or_of_others_is_refused_and_left(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home/thesis.tex").touch()
    (tmp_path / "empty").mkdir()
    with half_made(tmp_path / "run"):
        before = sorted(tmp_path.rglob("*"))
        for name in ("run", "home"):
            with pytest.raises(InputError, match=f"{name}: not empty"):
                make(tmp_path / name)

        assert sorted(tmp_path.rglob("*")) == before
    make(tmp_path / "empty")
