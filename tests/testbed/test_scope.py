import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from taut.core.errors import InputError, TautError
from taut.core.held import hold
from taut.testbed import cleanup
from taut.testbed.owner import read_owner
from taut.testbed.scope import RunScope


def test_a_run_has_a_folder_with_its_owner_and_leaves_nothing(tmp_path: Path) -> None:
    with RunScope(tmp_path) as scope:
        assert re.fullmatch(r"[a-z0-9]{4}", scope.id)
        owner = read_owner(scope.folder)
        assert owner is not None
        assert owner.pid == os.getpid()
        assert owner.is_alive()

    assert not scope.folder.exists()


def test_names_carry_the_id_and_fit(tmp_path: Path) -> None:
    with RunScope(tmp_path) as scope:
        assert scope.link_name("g0") == f"tt{scope.id}g0"
        assert scope.environment == {"TAUT_RUN": scope.id, "TAUT_RUN_DIR": str(scope.folder)}
        with pytest.raises(ValueError, match="longer than 15"):
            scope.link_name("generator-0")


def test_a_temporary_folder_is_named_before_it_is_made_and_deleted(tmp_path: Path) -> None:
    temporary = tmp_path / "run" / ".tmp-000"
    with RunScope(tmp_path / "base") as scope:
        with pytest.raises(FileNotFoundError):
            scope.make_temp(temporary)
        assert read_owner(scope.folder).temporary == (str(temporary),)
        temporary.parent.mkdir()
        scope.make_temp(temporary)
        (temporary / "packets.bin").touch()

    assert not temporary.exists()


def test_a_renamed_temporary_folder_is_forgotten(tmp_path: Path) -> None:
    temporary, final = tmp_path / ".tmp-000", tmp_path / "000"
    with RunScope(tmp_path / "base") as scope:
        scope.make_temp(temporary)
        temporary.rename(final)
        scope.release_temp(temporary, final)
        assert read_owner(scope.folder).temporary == ()

    assert list(final.iterdir()) == []


def test_two_runs_at_once_see_each_other_and_keep_apart(tmp_path: Path) -> None:
    with RunScope(tmp_path) as first, RunScope(tmp_path) as second:
        assert first.id != second.id
        (warning,) = second.others()
        assert first.id in warning
        assert "on other cores" in warning
        assert cleanup.clean(tmp_path) == []
        assert first.folder.is_dir()


def test_a_scope_left_by_an_error_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyError), RunScope(tmp_path) as scope:
        raise KeyError

    assert not scope.folder.exists()


_KILLED = """
import os, signal, subprocess, sys
from pathlib import Path
from taut.testbed.cleanup import run_processes
from taut.testbed.scope import RunScope
with RunScope(Path(sys.argv[1])) as scope:
    temporary = Path(sys.argv[2])
    scope.make_temp(temporary)
    (temporary / "packets.bin").touch()
    (scope.folder / "link0.sock").touch()
    # No setpriv here: a child that would outlive its parent.
    subprocess.Popen(["sleep", "1000"], env={**os.environ, **scope.environment})
    while not run_processes(scope.id):  # until the kernel shows its environment
        pass
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_run_left_is_found_and_removed(tmp_path: Path) -> None:
    base, temporary = tmp_path / "base", tmp_path / ".tmp-000"
    subprocess.run([sys.executable, "-c", _KILLED, base, temporary], check=False)
    (folder,) = [path for path in base.iterdir() if path.is_dir()]
    assert temporary.is_dir()
    assert len(cleanup.run_processes(folder.name)) == 1

    removed = cleanup.clean(base)

    assert any(line.startswith("process ") for line in removed)
    assert f"temporary folder {temporary}" in removed
    assert cleanup.run_processes(folder.name) == []
    assert not temporary.exists()
    assert not folder.exists()
    assert cleanup.clean(base) == []


def test_only_a_temporary_folder_with_the_runs_mark_is_deleted(tmp_path: Path) -> None:
    base, others, link = tmp_path / "base", tmp_path / "home", tmp_path / "link"
    others.mkdir()
    (others / "thesis.tex").touch()
    with RunScope(tmp_path / "elsewhere") as other:
        marked_by_another = tmp_path / ".tmp-other"
        other.make_temp(marked_by_another)
        subprocess.run([sys.executable, "-c", _KILLED, base, tmp_path / ".tmp-000"], check=False)
        (folder,) = base.iterdir()
        empty = tmp_path / ".tmp-empty"
        empty.mkdir()
        link.symlink_to(others)
        owner = read_owner(folder)
        assert owner is not None
        named = (others, others / "thesis.tex", link, marked_by_another, empty)
        replace(owner, temporary=tuple(map(str, named))).write(folder)

        cleanup.clean(base)

        assert (link / "thesis.tex").exists()
        assert marked_by_another.is_dir()
        # A run that dies right after it made one has not marked it yet.
        assert not empty.exists()


@pytest.mark.parametrize("fault", ["a link", "for all", "for a group", "a file", "another's"])
def test_a_base_that_is_not_this_users_alone_is_refused(tmp_path: Path, fault: str) -> None:
    base, real = tmp_path / "base", tmp_path / "real"
    real.mkdir(mode=0o700)
    if fault == "another's" and os.geteuid() != 0:
        pytest.skip("needs root")
    if fault == "a link":
        base.symlink_to(real)
    elif fault == "a file":
        base.touch()
    else:
        base.mkdir()
        base.chmod({"for all": 0o1777, "for a group": 0o770}.get(fault, 0o700))
    if fault == "another's":
        os.chown(base, 65534, 65534)

    with pytest.raises(InputError, match=f"{base}: "), RunScope(base):
        pass
    with pytest.raises(InputError, match="set XDG_RUNTIME_DIR"):
        cleanup.clean(base)
    with pytest.raises(InputError, match="set XDG_RUNTIME_DIR"):
        cleanup.live_runs(base)

    assert list(real.iterdir()) == []


def test_a_base_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(InputError, match="cannot be made: Not a directory"):
        RunScope(tmp_path / "file" / "base").__enter__()


def test_a_folder_killed_before_its_owner_was_written_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".new-ab12-999999999-1").mkdir()

    assert cleanup.clean(tmp_path) == [f"folder {tmp_path / '.new-ab12-999999999-1'}"]


def test_a_folder_whose_owner_is_not_understood_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "ab12").mkdir()
    (tmp_path / "ab12" / "owner.json").write_text('{"format": 99}')

    assert cleanup.clean(tmp_path) == []
    assert (tmp_path / "ab12").is_dir()


def test_a_run_whose_folder_somebody_removed_says_so(tmp_path: Path) -> None:
    with RunScope(tmp_path) as scope:
        shutil.rmtree(scope.folder)
        with pytest.raises(TautError, match="somebody removed the folder"):
            scope.make_temp(tmp_path / "x")


@pytest.mark.parametrize("gone", ["owner.json", "its folder", "the base"])
def test_a_run_whose_folder_somebody_removed_undoes_what_it_made(tmp_path: Path, gone: str) -> None:
    temporary = tmp_path / ".tmp-000"
    with RunScope(tmp_path / "base") as scope:
        scope.make_temp(temporary)
        child = subprocess.Popen(["sleep", "1000"], env={**os.environ, **scope.environment})
        while not cleanup.run_processes(scope.id):  # until the kernel shows its environment
            pass
        if gone == "owner.json":
            (scope.folder / gone).unlink()
        else:
            shutil.rmtree(scope.folder if gone == "its folder" else scope.base)

    try:
        assert child.wait(10) == -signal.SIGKILL
    finally:
        child.kill()
    assert not temporary.exists()
    assert not scope.folder.exists()


def test_of_two_that_clean_up_at_once_the_second_waits_and_looks_again(tmp_path: Path) -> None:
    (tmp_path / ".new-ab12-999999999-1").mkdir()
    removed: list[str] = []
    second = threading.Thread(target=lambda: removed.extend(cleanup.clean(tmp_path)))
    first = hold(tmp_path, os.O_DIRECTORY)
    assert first is not None
    try:
        second.start()
        second.join(0.5)
        assert second.is_alive()
        (tmp_path / ".new-ab12-999999999-1").rmdir()
    finally:
        os.close(first)
    second.join(60)

    assert removed == []


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("find_groups", lambda run_id: [Path(f"/sys/fs/cgroup/taut-{run_id}-c0")]),
        ("run_processes", lambda _: [4711]),
        ("netlink.namespaces", lambda run_id: [f"taut-{run_id}-gen"]),
    ],
)
def test_what_does_not_go_keeps_the_runs_folder_for_the_next_cleanup(
    name: str,
    left: Callable[[str], list[object]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cleanup, "_remove_network", lambda _: [])
    monkeypatch.setattr(cleanup, "remove_groups", lambda _: [])
    with RunScope(tmp_path) as scope, monkeypatch.context() as patched:
        patched.setattr(f"taut.testbed.cleanup.{name}", lambda *_: left(scope.id))
        [said] = cleanup.remove_run(scope.folder)
        [again] = cleanup.remove_run(scope.folder)
        assert said == again
        assert said.startswith(f"run {scope.id}: still there, and tried again: ")
        assert read_owner(scope.folder) is not None

    assert not scope.folder.exists()


def test_a_folder_that_cannot_be_removed_is_not_told_as_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".new-ab12-999999999-1").mkdir()
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)

    assert cleanup.clean(tmp_path) == []


def test_a_folder_being_made_is_left_alone(tmp_path: Path) -> None:
    from taut.core.processes import process_start_time

    folder = tmp_path / f".new-ab12-{os.getpid()}-{process_start_time(os.getpid())}"
    folder.mkdir()

    assert cleanup.clean(tmp_path) == []
    assert folder.is_dir()


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")
def test_a_killed_runs_namespaces_and_hugepages_go(tmp_path: Path) -> None:
    from taut.testbed import hugepages, netlink

    pages = int(hugepages.NR_HUGEPAGES.read_text())
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from taut.testbed.scope import RunScope\n"
        "from taut.testbed.links import LINKS\n"
        "with RunScope(Path(sys.argv[1])) as scope, LINKS['veth'].open(scope, 2):\n"
        "    scope.add_hugepages(2)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path], check=False)
    (run_id,) = [path.name for path in tmp_path.iterdir() if path.is_dir()]
    assert f"taut-{run_id}-gen" in netlink.namespaces()

    removed = cleanup.clean(tmp_path)

    assert f"namespace taut-{run_id}-gen" in removed
    assert "2 hugepages" in removed
    assert not [name for name in netlink.namespaces() if run_id in name]
    assert not [name for name in netlink.links() if run_id in name]
    assert int(hugepages.NR_HUGEPAGES.read_text()) <= pages + 64  # others may run too
