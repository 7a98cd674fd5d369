"""Apply killed at random points, and undone: the machine is as before, file by file."""

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from host_snapshot import INTERRUPTS, differences, left_after_undo, snapshot
from taut.cli.main import run_command
from taut.core.cpus import cpuset_cores
from taut.host.host import Host
from taut.host.journal import Journal

pytestmark = [pytest.mark.acceptance, pytest.mark.root, pytest.mark.timeout(900)]

TAUT = [sys.executable, "-m", "taut.cli.main", "host"]
N_KILLS = 20
SEED = 4


@pytest.fixture
def untouched_machine() -> Iterator[None]:
    if Journal(Host()).is_there:
        pytest.skip("this machine has a journal: taut host undo")
    yield
    _undo()


@pytest.mark.long
@pytest.mark.usefixtures("untouched_machine")
def test_apply_killed_anywhere_and_undone_leaves_the_machine_as_it_was() -> None:
    before = snapshot()
    assert differences(before, snapshot()) == []
    begun_s, n_lines, said = _a_whole_run()
    assert left_after_undo(before, said) == []
    before = snapshot()
    draw = random.Random(SEED)
    report = [f"a whole run: journal after {begun_s:.2f} s, {n_lines} lines in the end"]
    n_changed = 0

    for number in range(N_KILLS):
        # Some while it still audits; the rest anywhere among its writes, whatever the load is.
        if number % 5 == 0:
            where = _killed_after(draw.uniform(0, begun_s))
        else:
            where = _killed_at_line(draw.randrange(n_lines * 5 // 6), draw.uniform(0, 0.003))
        meanwhile = differences(before, snapshot())
        n_changed += bool(meanwhile)
        undone = _undo()
        report.append(f"{where}: {len(meanwhile)} files differ")

        assert undone.returncode == 0, (report, undone.stdout, undone.stderr)
        assert left_after_undo(before, undone.stdout) == [], (report, undone.stdout)
        assert not Journal(Host()).is_there
        interrupts = snapshot(INTERRUPTS).items()
        before |= {path: text for path, text in interrupts if "/effective_affinity" in path}

    print("\n".join(report))
    assert n_changed >= N_KILLS // 3, report


@pytest.mark.usefixtures("untouched_machine")
def test_a_whole_apply_is_verified_and_undone() -> None:
    before = snapshot()

    applied = subprocess.run(APPLY, capture_output=True, text=True, check=False)
    verified = subprocess.run([*TAUT, "verify"], capture_output=True, text=True, check=False)
    undone, again = (
        subprocess.run([*TAUT, "undo"], capture_output=True, text=True, check=False)
        for _ in range(2)
    )

    print(applied.stdout)
    assert applied.returncode == 0, (applied.stdout, applied.stderr)
    assert verified.returncode == 0, verified.stdout
    assert undone.returncode == 0, undone.stdout
    assert left_after_undo(before, undone.stdout) == []
    assert (again.returncode, again.stdout) == (0, "Nothing to undo.\n")


APPLY = [*TAUT, "apply", "--profile", "recommended", "--yes"]
if len(cpuset_cores()) > 1:
    APPLY += ["--cores", str(cpuset_cores()[-1])]


def _undo() -> subprocess.CompletedProcess[str]:
    """Undo in this process: the start of another takes longer, and proves nothing here."""
    with redirect_stdout(StringIO()) as said:
        status = run_command(["host", "undo"])
    return subprocess.CompletedProcess([*TAUT, "undo"], status, said.getvalue())


def _started() -> subprocess.Popen[bytes]:
    return subprocess.Popen(APPLY, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _killed_after(at_s: float) -> str:
    with _started() as apply:
        try:
            apply.wait(at_s)
        except subprocess.TimeoutExpired:
            apply.kill()
    return f"after {at_s:.2f} s: status {apply.returncode}"


def _killed_at_line(number: int, more_s: float) -> str:
    """Kill it once its journal has so many lines, or before all are there, and a moment later."""
    journal = Journal(Host()).path
    with _started() as apply:
        while apply.poll() is None and _n_lines(journal) < number:
            time.sleep(0.0002)
        time.sleep(more_s)
        apply.kill()
    return f"at line {number} and {more_s * 1e3:.1f} ms: status {apply.returncode}"


def _n_lines(journal: Path) -> int:
    try:
        return journal.read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def _a_whole_run() -> tuple[float, int, str]:
    """Say when an apply has its journal, how many lines in the end, and what undo says."""
    journal = Journal(Host()).path
    start_ns = time.monotonic_ns()
    with _started() as apply:
        while apply.poll() is None and not journal.exists():
            time.sleep(0.0005)
        begun_ns = time.monotonic_ns()
    n_lines = _n_lines(journal)
    undone = _undo()
    assert apply.returncode == 0
    assert undone.returncode == 0, undone.stdout
    return (begun_ns - start_ns) / 1e9, n_lines, undone.stdout
