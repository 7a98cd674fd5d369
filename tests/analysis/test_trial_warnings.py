"""What results.json warns of in a trial, by its counters."""

import json
from pathlib import Path

from made_run import VARIANTS, make_run
from taut.analysis.results import analyse_run
from taut.records.rundir import RunDirectory


def test_gaps_that_a_hop_of_a_chain_only_counted_are_told_by_its_name(tmp_path: Path) -> None:
    run = RunDirectory(make_run(tmp_path, VARIANTS[1:2], repetitions=1))
    [path] = tmp_path.glob("trials/*/trial.json")
    document = json.loads(path.read_text())
    full, whole = ({"gaps": {"n": 9, "not_logged": n}} for n in (7, 0))
    document["dut"] |= {
        "stats": None,
        "hops": [
            {"name": "hop1", "core": 1, "stats": whole},
            {"name": "hop2", "core": 2, "stats": full},
            {"name": "hop3", "core": 3, "stats": None},
        ],
    }
    path.write_text(json.dumps(document))

    [trial] = analyse_run(run).trials

    assert [line for line in trial.warnings if "gaps of" in line] == [
        "7 gaps of hop2 were not logged, only counted"
    ]
