"""What debian/ says of the rest of the tree, and the wheel in an environment of its own.

Installing them in a bare Debian takes minutes: `make packages-test` does.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from taut.core.binaries import BINARIES
from taut.core.version import taut_version
from taut.host.host import Host
from taut.host.journal import Journal

ROOT = Path(__file__).parents[2]
CONTROL = (ROOT / "debian/control").read_text()
DEPENDS = set(re.findall(r"^(?:Depends:| {9}) ?([a-z0-9.+-]+)", CONTROL, re.MULTILINE))
# What a name that EAL is given is called in Debian 12, whose DPDK has the ABI 23.
PACKAGE_OF_DRIVER = {
    "net_virtio_user": "librte-net-virtio23",
    **{
        f"net_{name}": f"librte-net-{name.replace('_', '-')}23"
        for name in ("af_packet", "af_xdp", "memif", "null", "ring", "vhost")
    },
}


def test_each_half_and_the_package_have_one_version() -> None:
    python = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    programs = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())
    package = re.match(r"taut \(([^)]+)\)", (ROOT / "debian/changelog").read_text())

    assert programs is not None
    assert package is not None
    assert python == programs[1] == package[1]


def test_each_driver_that_a_port_opens_is_depended_on() -> None:
    sources = [path.read_text() for path in (ROOT / "dataplane/runtime").glob("port_*.c")]
    opened = {name for text in sources for name in re.findall(r'\.driver = "(net_\w+)"', text)}

    assert opened == PACKAGE_OF_DRIVER.keys()
    assert {PACKAGE_OF_DRIVER[name] for name in opened} <= DEPENDS


def removal(script: str, step: str, root: Path) -> str:
    """What a script of the package says, on a machine that has nothing compiled."""
    (root / "bin").mkdir()
    (root / "bin/py3clean").symlink_to("/bin/true")
    return subprocess.run(
        ["sh", ROOT / f"debian/taut.{script}", step],
        env={"PATH": f"{root}/bin:{os.environ['PATH']}", "DPKG_ROOT": str(root)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.parametrize(
    ("step", "name", "is_told"),
    [
        ("remove", "journal", True),
        ("remove", "journal.undone-1", False),
        ("remove", "journal.corrupt-1", False),
        ("upgrade", "journal", False),
    ],
)
def test_a_removal_says_what_puts_a_changed_host_back(
    tmp_path: Path, step: str, name: str, *, is_told: bool
) -> None:
    journal = Journal(Host(tmp_path))
    journal.folder.mkdir(parents=True)
    journal.path.with_name(name).touch()

    said = removal("prerm", step, tmp_path)

    assert ("install taut again and call `taut host undo`" in said) == is_told
    assert said.count("\n") == is_told


@pytest.mark.parametrize(
    ("put_away", "is_changed", "is_kept"),
    [
        ([], False, False),
        (["undone", "rebooted"], False, False),
        (["undone"], True, True),
        (["corrupt"], False, True),
    ],
)
def test_a_purge_keeps_journals_only_where_something_is_still_changed(
    tmp_path: Path, put_away: list[str], *, is_changed: bool, is_kept: bool
) -> None:
    journal = Journal(Host(tmp_path))
    with journal.locked():
        for word in put_away:
            journal.path.touch()
            journal.archive(word)
    if is_changed:
        journal.path.touch()

    said = removal("postrm", "purge", tmp_path)

    assert (tmp_path / "var/lib/taut").exists() == ("kept" in said) == is_kept
    assert ("install taut again and call `taut host undo`" in said) == is_changed
    left = [path.name.partition("-")[0] for path in (tmp_path / "var").rglob("*") if path.is_file()]
    assert left == ([] if not is_kept else ["journal"] if is_changed else ["journal.corrupt"])
    assert (tmp_path / "var/lib").exists()


@pytest.mark.parametrize("file", ["debian/rules", "debian/tests/doctor"])
def test_every_program_is_in_the_package_and_asked(file: str) -> None:
    assert set(BINARIES) <= set(re.findall(r"taut-\w+", (ROOT / file).read_text()))


def test_the_base_is_without_the_extras() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    named = {
        re.split(r"[\[><=]", line)[0] for name in ("postgres", "spark") for line in extras[name]
    }
    locked = set(
        re.findall(r"^([\w.-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    )

    assert named == {"psycopg", "pyspark"}
    assert not named & locked


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made of a copy: setuptools would take what it finds in build/ for its own."""
    tree, out = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    shutil.copytree(
        ROOT / "python", tree / "python", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__")
    )
    uv = Path(sys.executable).with_name("uv")
    command = [uv, "build", "--wheel", "--no-build-isolation", "--offline", "--quiet"]
    subprocess.run([*command, "-p", sys.executable, "-o", out, tree], check=True)
    return next(out.glob("*.whl"))


def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    """A template or a list that is not named in pyproject.toml would be missed where it is used."""
    files = [path for path in (ROOT / "python/taut").rglob("*") if path.is_file()]
    wanted = {str(path.relative_to(ROOT / "python")) for path in files if path.suffix != ".pyc"}

    with zipfile.ZipFile(wheel) as archive:
        has = {name for name in archive.namelist() if name.startswith("taut/")}

    assert wheel.name == f"taut-{taut_version()}-py3-none-any.whl"
    assert has == wanted


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """taut of a fresh environment, far from the clone; what it needs of others is this one's."""
    venv = tmp_path_factory.mktemp("venv")
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    install = [uv, "pip", "install", "--quiet", "--offline", "--no-deps"]
    subprocess.run([*install, "-p", venv / "bin/python", wheel], check=True)
    here = next(path for path in sys.path if path.endswith("site-packages"))
    site = next((venv / "lib").glob("python3*")) / "site-packages"
    # Behind its own: taut itself is the wheel's.
    (site / "others.pth").write_text(f"{here}\n")
    return venv / "bin/taut"


def run(program: Path, *words: str, path: str) -> subprocess.CompletedProcess[str]:
    """What a line of it says, with these folders in PATH alone."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TAUT_")}
    return subprocess.run(
        [program, *words], capture_output=True, text=True, env={**kept, "PATH": path}, cwd="/"
    )


def test_the_wheel_finds_the_programs_in_path(installed: Path) -> None:
    if not (ROOT / "bin/taut-forward").exists():
        pytest.skip("needs taut's programs: make build")

    version = run(installed, "--version", path="/usr/bin:/bin")
    found = run(installed, "generate", "--version", path=f"{ROOT / 'bin'}:/usr/bin:/bin")

    assert version.stdout == f"taut {taut_version()}\n"
    assert (found.returncode, found.stdout) == (0, f"taut-generate {taut_version()}\n")


def test_without_them_and_with_others_it_says_what_to_install(
    installed: Path, tmp_path: Path
) -> None:
    other = tmp_path / "taut-generate"
    other.write_text("#!/bin/sh\necho taut-generate 0.0.0\n")
    other.chmod(0o755)

    none = run(installed, "quick", path="/usr/bin:/bin")
    older = run(installed, "quick", path=f"{tmp_path}:/usr/bin:/bin")

    assert none.returncode == older.returncode == 2
    assert none.stderr.count("\n") == older.stderr.count("\n") == 1
    assert "program not found; install taut-dataplane or set TAUT_BIN_DIR" in none.stderr
    assert f"{other}: of version 0.0.0, taut is of version {taut_version()}; inst" in older.stderr
