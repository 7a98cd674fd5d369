"""Apply killed at random points, and undone: the machine is as before, file by file."""

import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from taut.host.host import Host
from taut.host.journal import Journal

pytestmark = [pytest.mark.acceptance, pytest.mark.root, pytest.mark.timeout(900)]

TAUT = [sys.executable, "-m", "taut.cli.main", "host"]
N_KILLS = 20
SEED = 4
TREES = (
    "/proc/sys",
    "/proc/irq",
    "/sys/kernel/mm",
    "/sys/devices/system/clocksource",
    "/sys/devices/system/cpu",
    "/sys/devices/system/machinecheck",
    "/sys/devices/system/node",
    "/sys/devices/virtual/workqueue",
    "/sys/fs/cgroup/cpuset",
    "/sys/fs/cgroup/unified",
    "/sys/module",
)
FILES = ("/proc/swaps", "/sys/kernel/rcu_normal", "/sys/kernel/rcu_expedited")
QUEUES = "/sys/class/net/*/queues/*/*"

# Every one was seen to change while nobody applied anything, or counts.
CHANGE_BY_THEMSELVES = (
    r"/proc/sys/fs/(dentry-state|file-nr|inode-nr|inode-state|aio-nr)",
    r"/proc/sys/fs/quota/.*",
    r"/proc/sys/kernel/(ns_last_pid|pty/nr)",
    r"/proc/sys/kernel/random/(uuid|entropy_avail)",
    r"/proc/sys/kernel/sched_domain/.*",
    r"/proc/sys/net/netfilter/nf_conntrack_count",
    # Reading asks a counter, or makes a new secret.
    r"/proc/sys/net/ipv4/tcp_fastopen_key",
    r"/proc/irq/\d+/spurious",
    r"/sys/kernel/mm/ksm/(?!run|sleep|pages_to_scan).*",
    r"/sys/kernel/mm/(lru_gen|numa|page_idle)/.*",
    r"/sys/kernel/mm/transparent_hugepage/khugepaged/(pages_collapsed|full_scans)",
    r"/sys/kernel/mm/.*/stats/.*",
    r"/sys/devices/system/cpu/cpu\d+/cpuidle/state\d+/(usage|time|above|below|rejected)",
    r"/sys/devices/system/cpu/.*/(scaling_cur_freq|cpuinfo_cur_freq|cpuinfo_avg_freq)",
    r"/sys/devices/system/cpu/.*/(aperf|mperf|core_throttle_.*|package_throttle_.*)",
    r"/sys/devices/system/node/node\d+/(meminfo|numastat|vmstat)",
    r"/sys/devices/system/node/.*/(free|surplus)_hugepages",
    r"/sys/kernel/mm/hugepages/.*/(free|resv|surplus)_hugepages",
    r"/sys/fs/cgroup/.*/?(tasks|cgroup\.procs|cgroup\.threads|cpuset\.memory_pressure)",
    r"/sys/fs/cgroup/.*/?(cgroup\.stat|cpu\.stat(\.local)?|.*\.pressure|memory\..*|pids\..*)",
    r"/sys/module/page_reporting/parameters/(passes|reported_kib|walked)",
    r"/sys/module/[^/]+/(refcnt|initstate|sections/.*|notes/.*)",
    r"/sys/.*/power/(runtime_.*|wakeup_.*)",
)
_ITSELF = re.compile("|".join(CHANGE_BY_THEMSELVES))
# Links of other programs come and go.
_OF_A_LINK = re.compile(r"/(?:proc/sys/net/[^/]+/(?:conf|neigh)|sys/class/net)/([^/]+)/.*")


@pytest.fixture
def untouched_machine() -> Iterator[None]:
    if Journal(Host()).is_there:
        pytest.skip("this machine has a journal: taut host undo")
    yield
    _undo()


@pytest.mark.usefixtures("untouched_machine")
def test_apply_killed_anywhere_and_undone_leaves_the_machine_as_it_was() -> None:
    before = snapshot()
    assert differences(before, snapshot()) == []
    begun_s, n_lines, said = _a_whole_run()
    after = snapshot()
    assert _but_named(differences(before, after), said) == []
    before = after
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
        after = snapshot()
        left = _but_named(differences(before, after), undone.stdout)
        assert left == [], (report, undone.stdout)
        assert not Journal(Host()).is_there
        before |= {path: text for path, text in after.items() if "/effective_affinity" in path}

    print("\n".join(report))
    assert n_changed >= N_KILLS // 3, report


@pytest.mark.usefixtures("untouched_machine")
def test_a_whole_apply_is_verified_and_undone() -> None:
    before = snapshot()

    applied = subprocess.run(APPLY, capture_output=True, text=True, check=False)
    verified = subprocess.run([*TAUT, "verify"], capture_output=True, text=True, check=False)
    undone, again = _undo(), _undo()

    print(applied.stdout)
    assert applied.returncode == 0, (applied.stdout, applied.stderr)
    assert verified.returncode == 0, verified.stdout
    assert undone.returncode == 0, undone.stdout
    assert _but_named(differences(before, snapshot()), undone.stdout) == []
    assert (again.returncode, again.stdout) == (0, "Nothing to undo.\n")


APPLY = [*TAUT, "apply", "--profile", "recommended", "--yes"]
if (os.cpu_count() or 1) > 1:
    APPLY += ["--cores", str((os.cpu_count() or 1) - 1)]


def snapshot() -> dict[str, bytes]:
    """Give every readable file of the trees that does not change by itself."""
    found = {}
    for path in _paths():
        if _ITSELF.fullmatch(path):
            continue
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            found[path] = os.read(descriptor, 1 << 20)
        except OSError:
            continue
        finally:
            os.close(descriptor)
    return found


def differences(before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    """Give the paths that differ, but of links that are only in one of both."""
    links = [{link(path) for path in tree} for tree in (before, after)]
    comparable = links[0] & links[1]
    return sorted(
        f"{path}: {before.get(path)!r} {after.get(path)!r}"
        for path in before.keys() | after.keys()
        if before.get(path) != after.get(path) and link(path) in comparable
    )


def link(path: str) -> str | None:
    """Name the network interface a path is of."""
    found = _OF_A_LINK.fullmatch(path)
    return found[1] if found else None


def _paths() -> Iterator[str]:
    for tree in TREES:
        for folder, _, names in os.walk(tree):
            yield from (f"{folder}/{name}" for name in names)
    yield from FILES
    yield from (str(path) for path in Path("/").glob(QUEUES.lstrip("/")))


def _but_named(differing: list[str], said: str) -> list[str]:
    """Leave out interrupts of which undo says that they did not fire, so could not move back."""
    named = re.findall(
        r"interrupt (\d+): its mask is as before, its core not", " ".join(said.split())
    )
    files = tuple(f"/proc/irq/{number}/effective_affinity" for number in named)
    return [text for text in differing if not files or not text.startswith(files)]


def _undo() -> subprocess.CompletedProcess[str]:
    return subprocess.run([*TAUT, "undo"], capture_output=True, text=True, check=False)


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
