"""Programs that taut did not start: one that polls, and one that takes its core."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from waiting import wait_for

HOG = """
import ctypes, os, time
kernel = ctypes.CDLL(None)
kernel.prctl(15, b"taut-hog", 0, 0, 0)
kernel.prctl(1, 9, 0, 0, 0)  # killed with the thread that started it
while True:
    until = time.monotonic() + {work_s}
    while time.monotonic() < until: pass
    time.sleep({sleep_s})
"""


@contextmanager
def running(
    argv: list[str], core: int, *, nice: int = -20, **more: Any
) -> Iterator[subprocess.Popen[str]]:
    """A process of ours on one core, which it hardly shares, until the block is left.

    It is no part of our own session: where the kernel schedules by session (sched(7), autogroup),
    what is weighty on one core leaves the rest of its session next to nothing on the others.
    """
    weighted = ["nice", "-n", str(nice), *argv]
    before = os.sched_getaffinity(0)
    # Inherited: it is pinned from its first instruction on, however late that comes.
    os.sched_setaffinity(0, {core})
    try:
        process = subprocess.Popen(weighted, text=True, start_new_session=True, **more)
    finally:
        os.sched_setaffinity(0, before)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def polling_testpmd(folder: Path, core: int, *, nice: int = -20) -> Iterator[int]:
    """DPDK's test forwarder between two ports that make and drop packets; gives its number."""
    argv = ["stdbuf", "-oL", "dpdk-testpmd", f"--lcores=0@{core},1@{core}", "--main-lcore=0"]
    argv += ["--no-pci", "--no-telemetry", "--no-huge", "-m", "64", "--no-shconf"]
    argv += ["--vdev=net_null0", "--vdev=net_null1", "--", "--auto-start", "--nb-cores=1"]
    argv += ["--total-num-mbufs=2048", "--no-lsc-interrupt"]
    log = folder / "testpmd.log"
    more = {"nice": nice, "stdin": subprocess.PIPE}
    with log.open("w") as out, running(argv, core, stdout=out, **more) as process:
        wait_for("testpmd", lambda: "Press enter" in log.read_text() or process.poll() is not None)
        assert process.poll() is None, log.read_text()
        yield process.pid
