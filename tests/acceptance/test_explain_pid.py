"""Acceptance 10 of explain: another DPDK program, by its number."""

import json
import os
import sys
from pathlib import Path

import pytest

from acceptance_run import TAUT, explained
from foreign_program import HOG, polling_testpmd, running
from waiting import least_ran, name_of, wait_for, watched

pytestmark = [pytest.mark.acceptance, pytest.mark.root, pytest.mark.timing]

CORE = max(os.sched_getaffinity(0))
FIFO = "import os\nos.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))\n"


@pytest.mark.parametrize(
    ("cause", "hog"),
    [
        pytest.param("preemption", HOG.format(work_s=60, sleep_s=0), id="fair"),
        pytest.param(
            "fifo-preemption",
            FIFO + HOG.format(work_s=0.002, sleep_s=0.008),
            id="fifo",
            marks=pytest.mark.long,
        ),
    ],
)
def test_10_a_hog_on_the_core_of_a_testpmd_is_found(tmp_path: Path, cause: str, hog: str):
    with (
        polling_testpmd(tmp_path, CORE) as pid,
        running([sys.executable, "-c", hog], CORE) as process,
    ):
        wait_for("the hog", lambda: name_of(process.pid) == "taut-hog")
        argv = [*TAUT, "explain", str(pid), "--cores", str(CORE), "--duration", "3s", "--json"]
        done, looks = watched(argv, process.pid, pid)

    [found] = json.loads(explained(done).stdout)["trials"]
    spans = least_ran(looks, 3)
    name, rows = f'"taut-hog"/{process.pid}', found["gaps"]
    told_s = sum(row["by"].get(name, 0) for row in rows) / 1e9
    assert told_s >= 0.9 * min(had_s for had_s, _ in spans) > 0, (spans, rows)
    [row] = [row for row in rows if row["cause"] == cause]
    assert name in row["by"]
    # The noise, as the kernel counts it: what neither the hog nor testpmd had of the core.
    if all(had_s > 3 - had_s - polled_s for had_s, polled_s in spans):
        assert row == rows[0]
        assert next(iter(row["by"])) == name
        assert row["by"][name] >= 0.5 * row["total_ns"]
