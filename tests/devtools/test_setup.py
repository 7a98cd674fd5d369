"""What setting a clone up leaves alone, and what `make clean` leaves behind."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SETUP = (ROOT / "devtools/setup.sh").read_text()
SYSTEMCTL = """#!/bin/sh
case "$1" in
is-enabled) case " $THERE " in *" $2 "*) echo enabled ;; *) exit 1 ;; esac ;;
disable) shift && printf '%s\\n' "$@" >>"$DISABLED" ;;
esac
"""
# Nothing is installed, and who calls is root.
AROUND = """set -eu
missing_packages() { printf ' %s' "$@"; }
without_services() { :; }
quietly() { "$@"; }
say() { :; }
id() { echo 0; }
wanted=openvswitch-switch-dpdk wanted_backports=suricata
"""


def function(name: str) -> str:
    found = re.search(rf"^{name}\(\) {{\n.*?^}}\n", SETUP, re.MULTILINE | re.DOTALL)
    assert found is not None, name
    return found[0]


@pytest.mark.parametrize(
    ("there", "disabled"),
    [
        ("", {"openvswitch-switch", "suricata"}),
        ("suricata", {"openvswitch-switch"}),
        ("openvswitch-switch suricata", set()),
    ],
)
def test_services_that_were_there_before_stay_as_they_are(
    tmp_path: Path, there: str, disabled: set[str]
) -> None:
    program = tmp_path / "systemctl"
    program.write_text(SYSTEMCTL)
    program.chmod(0o755)
    told = tmp_path / "disabled"
    told.touch()
    text = AROUND + function("absent_services") + function("install_devices") + "install_devices\n"

    subprocess.run(
        ["sh", "-c", text],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "THERE": there, "DISABLED": str(told)},
        check=True,
    )

    assert set(told.read_text().split()) == disabled


@pytest.mark.parametrize(
    ("script", "made"), [("build", "made/taut-clock"), ("make_bin", "bin/taut")]
)
def test_what_root_builds_is_for_everybody(tmp_path: Path, script: str, made: str) -> None:
    """Where root's own files are for root alone: a hardened host."""
    (tmp_path / "devtools").mkdir()
    shutil.copy(ROOT / "devtools" / script, tmp_path / "devtools")
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, text in {
        "meson": 'mkdir "$2" && touch "$2/build.ninja"',
        "ninja": 'touch "$2/taut-clock" && chmod +x "$2/taut-clock"',
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)

    subprocess.run(
        [tmp_path / "devtools" / script, "made"],
        env={"PATH": f"{programs}:{os.environ['PATH']}"},
        umask=0o077,
        capture_output=True,
        check=True,
    )

    for path in (tmp_path / made, (tmp_path / made).parent):
        assert path.stat().st_mode & 0o777 == 0o755


def test_what_root_sets_up_is_for_everybody() -> None:
    assert "\numask 022\n" in SETUP


def test_clean_removes_every_folder_that_something_builds_in() -> None:
    texts = [path.read_text() for path in (ROOT / "devtools").iterdir() if path.is_file()]
    texts.append((ROOT / "Makefile").read_text())
    named = {name for text in texts for name in re.findall(r"(?<![\w-])build-[a-z]+", text)}

    done = subprocess.run(
        ["make", "-n", "clean"], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert named - {"build-essential"} <= set(done.stdout.split())
