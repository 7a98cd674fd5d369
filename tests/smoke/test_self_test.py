"""`taut explain --self-test` on this machine, whatever else it does."""

import json
import os
import subprocess

import pytest

from acceptance_run import TAUT

pytestmark = [pytest.mark.smoke, pytest.mark.root]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_injected_shootdowns_and_faults_get_their_verdicts() -> None:
    names = ("tlb-shootdown", "page-fault")
    argv = [*TAUT, "explain", "--self-test", "--duration", "2s", "--json"]
    argv += [word for name in names for word in ("--cause", name)]

    done = subprocess.run(argv, capture_output=True, text=True, timeout=120)

    if "tracefs" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    by_cause = {row["cause"]: row for row in document["causes"]}
    for name in names:
        row = by_cause[name]
        assert row["n_acts"] > 50
        # A busy machine puts longer stalls around the acts: half is far from chance.
        assert row["recall"] > 0.5, row
        assert row["precision"] > 0.5, row


def test_an_unknown_cause_is_bad_input() -> None:
    argv = [*TAUT, "explain", "--self-test", "--duration", "10ms", "--cause", "gremlins"]

    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)

    assert done.returncode == 2
    assert "gremlins" in done.stderr
