"""docs/capacity.md, soak.md: what they tell to type works, in order, in one folder, cut short."""

import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from tutorials import Place

ROOT = Path(__file__).parents[2]
TYPED = re.compile(r"^    bin/(taut .*)$", re.MULTILINE)
# Of the examples that the pages name, what makes them long. Whatever the answer, it comes.
SHORTER = {
    "capacity.toml": (
        ('limit = "1m"', 'limit = "2s"\nrepeats = 1'),
        ('duration = "1s"', 'duration = "100ms"'),
        ('trial = "200ms"', 'trial = "50ms"'),
        ('sum = "1s"', 'sum = "100ms"'),
        # The second device is searched as the first.
        ('[[device]]\ndriver = "taut_forward"\nname = "buffered"\n', ""),
        ('options = { transmit = "buffered:32,100us" }\n', ""),
    ),
    "soak.toml": (('warm_up = "1s"', 'warm_up = "100ms"'),),
}
# And of the commands.
CUT = (
    ("trial=60s,sum=60s", "trial=100ms,sum=100ms"),
    ("--goal pdr ", "--goal pdr:trial=50ms,sum=100ms "),
    ("share=99.999%", "share=99.999%,trial=50ms,sum=100ms"),
    ("--duration 24h", "--duration 5s --every 1s"),
    ("--duration 1h", "--duration 2s --every 1s"),
    (" --every 60s", ""),
)
# A search in which this machine lets the loopback lose even at the lowest load ends with 1. How
# late packets are is the machine's doing too: 3 says that what was asked of them is not met.
STATUS = {"search": {0, 1}, "soak": {0, 3}}
LEFT = {
    "capacity.md": ["runs/capacity/search.json", "runs/capacity/report.html"],
    "soak.md": ["runs/soak/soak.json", "runs/soak/report.html", "taut.prom"],
}

pytestmark = [pytest.mark.smoke, pytest.mark.beside, pytest.mark.long, pytest.mark.timeout(600)]


def replaced(text: str, pairs: tuple[tuple[str, str], ...]) -> str:
    for long, short in pairs:
        text = text.replace(long, short)
    return text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a reader is, with examples cut short."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples", symlinks=True)
    for name, pairs in SHORTER.items():
        file = tmp_path / "examples" / name
        text = file.read_text()
        assert all(long in text for long, _ in pairs)
        file.write_text(replaced(text, pairs))
    return tmp_path


def started(command: str, folder: Path) -> subprocess.Popen[str]:
    """Type a command, cut short, and let whoever measures beside finish first."""
    command = replaced(command, CUT)
    if command.split()[1] in ("search", "soak") and "--dry-run" not in command:
        command += " --wait"
    return subprocess.Popen(
        Place(folder).argv(command),
        env=Place(folder).environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def assert_well_ended(process: subprocess.Popen[str], command: str) -> None:
    out, errors = process.communicate()
    assert process.returncode in STATUS.get(command.split()[1], {0}), (command, errors)
    assert out, command


@pytest.mark.parametrize("page", LEFT)
def test_what_a_page_tells_to_type_works_in_order(page: str, folder: Path) -> None:
    typed = TYPED.findall((ROOT / "docs" / page).read_text())
    under_way = None

    for command, following in pairwise([*typed, ""]):
        if command.startswith("taut watch"):
            assert under_way is not None
            seen = watched(command, folder, under_way[0])
            assert_well_ended(*under_way)
            assert "p50" in seen
            continue
        under_way = started(command, folder), command
        if not following.startswith("taut watch"):
            assert_well_ended(*under_way)

    assert len(typed) >= 5
    assert [name for name in LEFT[page] if not (folder / name).is_file()] == []


def watched(command: str, folder: Path, measuring: subprocess.Popen[str]) -> str:
    """What is typed in another terminal, again until something is measured there."""
    while measuring.poll() is None:
        look = started(command, folder)
        seen, _ = look.communicate()
        if look.returncode == 0:
            return seen
    raise AssertionError("it ended before anybody saw it")
