"""devtools/check_commits names the commit that does not build, wherever in a range it stands."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WHO = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **WHO, "GIT_CONFIG_GLOBAL": "/dev/null"}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)


def commit(repository: Path, path: str, text: str) -> None:
    (repository / path).parent.mkdir(parents=True, exist_ok=True)
    (repository / path).write_text(text)
    (repository / path).chmod(0o755)
    assert run("git", "add", ".", cwd=repository).returncode == 0
    assert run("git", "commit", "-qm", f"{path}: {text}", cwd=repository).returncode == 0


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose build is one program, with one commit that builds."""
    (tmp_path / "devtools").mkdir()
    shutil.copy(ROOT / "devtools" / "check_commits", tmp_path / "devtools")
    (tmp_path / ".gitignore").write_text(".venv\n")
    (tmp_path / ".venv").symlink_to((ROOT / ".venv").resolve())
    run("git", "init", "-q", cwd=tmp_path)
    commit(tmp_path, "python/taut/__init__.py", "")
    commit(tmp_path, "devtools/build", "#!/bin/sh\ntrue\n")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "broken", "mended"),
    [
        ("devtools/build", "#!/bin/sh\nexit 1\n", "#!/bin/sh\ntrue\n"),
        ("python/taut/x.py", "import taut.gone\n", "import taut\n"),
    ],
)
def test_a_commit_that_the_next_one_mends_is_named(
    repository: Path, path: str, broken: str, mended: str
) -> None:
    commit(repository, path, broken)
    commit(repository, path, mended)

    done = run("devtools/check_commits", "HEAD~2..HEAD", cwd=repository)

    assert done.returncode == 1
    [line] = [line for line in done.stderr.splitlines() if "does not build" in line]
    assert line.endswith(f"{path}: {' '.join(broken.split(chr(10)))}".rstrip())


def test_a_range_that_builds_passes(repository: Path) -> None:
    commit(repository, "python/taut/x.py", "import taut\n")

    done = run("devtools/check_commits", "HEAD~2..HEAD", cwd=repository)

    assert done.returncode == 0, done.stderr
    assert "2 of 2 commits build" in done.stdout
