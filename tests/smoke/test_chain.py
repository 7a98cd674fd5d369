"""Two forwarders in a row: what goes in comes out or is counted, and a stall is told by its hop."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from acceptance_run import (
    TAUT,
    Run,
    Trial,
    explained,
    finished,
    in_a_trial,
    passed,
    run_taut,
    started,
)
from foreign_program import HOG, running
from stops import stop_for
from taut.analysis.budget import is_chosen

pytestmark = [pytest.mark.smoke, pytest.mark.root]

SPEC = """
name = "chain"
duration = "4s"
warm_up = "200ms"
deadline = "20s"
floor = false
[[device]]
driver = "chain"
options = {{ hops = [{{ nf = ["null"] }}, {{ nf = ["skeleton"] }}] }}
[[traffic]]
rates = ["100kpps"]
both = {both}
"""
ONE_FORWARDER = """
[[device]]
name = "stamping"
driver = "taut_forward"
options = { stamp_every = 3 }
[[device]]
name = "as_usual"
driver = "taut_forward"
[[traffic]]
rates = ["100kpps"]
"""
STOP_NS = 60_000_000
LATE_NS = 30_000_000
"""More than a hop waits for its turn, less than a stop."""


@pytest.fixture(scope="module")
def both_ways(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A second of packets in both directions, with its report."""
    folder = tmp_path_factory.mktemp("chain")
    return passed(run_taut(folder, SPEC.format(both="true"), "--set", "duration=1s", draw=True))


def test_what_goes_in_comes_out_or_is_counted(both_ways: Run) -> None:
    [trial] = both_ways.trials
    counted = trial.meta["generator"]["counters"]
    first, second = (hop["stats"] for hop in trial.meta["dut"]["hops"])
    ports = [first["ports"][0], first["ports"][1], second["ports"][0], second["ports"][1]]
    refused = sum(port["tx_refused"] for port in ports)
    # Each hop sends what it received, or says what it could not send.
    for into, out in ((0, 1), (1, 0), (2, 3), (3, 2)):
        assert ports[into]["rx"] == ports[out]["tx"] + ports[out]["tx_refused"]
    # Nothing is lost between two hops.
    assert ports[2]["rx"] == ports[1]["tx"]
    assert ports[1]["rx"] == ports[2]["tx"]
    assert ports[0]["rx"] + ports[3]["rx"] == counted["sent"]
    assert counted["sent"] == counted["matched"] + counted["lost"]
    assert counted["lost"] == refused
    assert [nf["name"] for stats in (first, second) for nf in stats["nfs"]] == ["null", "skeleton"]


def test_hops_have_cores_threads_and_gaps_of_their_own(both_ways: Run) -> None:
    [trial] = both_ways.trials
    first, second = trial.meta["dut"]["hops"]
    assert (first["name"], second["name"]) == ("hop 1", "hop 2")
    assert not set(first["threads"]) & set(second["threads"])
    assert {*first["threads"], *second["threads"]} == set(trial.meta["dut"]["threads"])
    takes_turns = any("take turns" in note for note in trial.meta["cores"]["notes"])
    assert takes_turns == (first["core"] == second["core"])
    assert takes_turns == ("hops of a chain take turns" in both_ways.stderr)
    for hop in (first, second):
        assert len(trial.gaps(hop["name"])[0]) == hop["stats"]["gaps"]["n"]
    latency = both_ways.result("chain")["latency_ns"]
    assert 0 < latency["p50"] <= latency["p99"]
    assert "hop 1 on core" in (both_ways.path / "report.html").read_text()


def hop_of(run: int, number: int) -> int:
    """Find the process of the first or second hop below a taut by its ports."""
    wanted = f"hop1.sock,role={'server' if number == 1 else 'client'}"
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace")
            session = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if wanted in words and words.split("\0")[0].endswith("taut-forward") and session == run:
            return int(entry.name)
    raise AssertionError(f"no hop {number}")


@pytest.mark.timing
@pytest.mark.long
def test_explain_names_the_hop_that_was_stopped(tmp_path: Path) -> None:
    stops = []
    with started(tmp_path, SPEC.format(both="false"), "--trace", "continuous") as taut:
        in_a_trial(tmp_path / "run", taut, "taut-generate")
        time.sleep(1)
        for number in (2, 1, 2, 1, 2, 1):
            pid = hop_of(taut.pid, number)
            stops.append((f"hop {number}", stop_for(pid, STOP_NS)))
            time.sleep(0.3)
        run = finished(tmp_path, taut)
    if run.status == 2 and "trace" in run.stderr:
        pytest.skip(run.stderr.strip())
    [trial] = passed(run).trials

    argv = [*TAUT, "explain", str(run.path), "--over", "30ms"]
    document, text = (
        explained(
            subprocess.run([*argv, *more], capture_output=True, text=True, timeout=200)
        ).stdout
        for more in (["--json"], [])
    )
    [found] = json.loads(document)["trials"]

    last_ns = int(trial.packets["due_ns"].max())
    inside = [
        (hop, window)
        for hop, times in stops
        if (window := (trial.at_ns(times[0]), trial.at_ns(times[1])))[1] < last_ns - STOP_NS
        and not generator_stood(trial, *window)
    ]
    assert {hop for hop, _ in inside} == {"hop 1", "hop 2"}
    for hop, (start, end) in inside:
        stories = [s for s in found["worst"] if s["gap"] and covers(s["gap"], start, end)]
        assert {story["gap"]["thread"] for story in stories} == {hop}, (hop, found["worst"])
        assert {story["cause"] for story in stories} == {"stopped"}
        assert all(f": {hop}'s core" in story["line"] for story in stories)
        assert f"{hop.capitalize()}'s core" in text
        assert n_late(trial, start, end) > 0
    roles = {one["role"] for one in found["offenders"] if one["cause"] == "stopped"}
    assert {"hop 1", "hop 2"} <= roles


def generator_stood(trial: Trial, start: int, end: int) -> bool:
    """Whether it stood so long beside a stop that what came back late can be its own fault."""
    starts, ends = trial.gaps("generator")
    beside = (starts < end + LATE_NS) & (ends > start)
    return bool((ends - starts)[beside].max(initial=0) >= LATE_NS // 2)


def test_budget_of_each_direction_sums_to_the_latency_of_its_packets(both_ways: Run) -> None:
    [trial] = both_ways.trials
    budgets = both_ways.result("chain")["budgets"]
    assert [budget["direction"] for budget in budgets] == [0, 1]
    for budget in budgets:
        names = [part["name"] for part in budget["parts"]]
        hops = ["hop 1", "hop 2"] if budget["direction"] == 0 else ["hop 2", "hop 1"]
        assert [name for name in names if name.startswith("hop") and "to" not in name] == hops
        assert (budget["out_of_order"], budget["without_all_stamps"]) == (0, 0)
        for column, told in budget["columns"].items():
            parts = [part["mean_ns"][column] for part in budget["parts"]]
            assert sum(parts) == pytest.approx(told["latency_ns"])
            assert min(parts) > -budget["resolution_ns"]
        # The mean is that of the packets as the generator recorded them.
        rows = trial.packets
        latency_ns = rows["received_ns"] - rows["sent_ns"]
        is_it = rows["direction"] == budget["direction"]
        is_it &= is_chosen(rows["seq"].astype(np.uint64), budget["every"])
        assert budget["n"] == is_it.sum()
        assert budget["columns"]["mean"]["latency_ns"] == pytest.approx(latency_ns[is_it].mean())
    for hop in trial.meta["dut"]["hops"]:
        stamps, ports = hop["stats"]["stamps"], hop["stats"]["ports"]
        assert (stamps["every"], stamps["not_kept"]) == (budgets[0]["every"], 0)
        n_seen = sum(port["rx"] + port["tx"] for port in ports)
        assert stamps["n"] == pytest.approx(n_seen / stamps["every"], rel=0.001, abs=8)
    assert "Latency budget" in both_ways.stdout
    assert "Latency budget" in (both_ways.path / "report.html").read_text()


@pytest.mark.long
def test_single_forwarder_has_a_budget_when_it_is_asked_to_stamp(tmp_path: Path) -> None:
    spec = SPEC.format(both="false").split("[[device]]")[0] + ONE_FORWARDER
    run = passed(run_taut(tmp_path, spec, "--set", "duration=1s"))

    [budget] = run.result("stamping")["budgets"]
    assert budget["every"] == 3
    assert [p["name"] for p in budget["parts"] if p["kind"] == "element"] == ["device"]
    assert "budgets" not in run.result("as_usual")
    assert not run.trial("as_usual").path.joinpath("stamps.parquet").exists()


@pytest.mark.timing
@pytest.mark.long
def test_budget_holds_a_stopped_hop_to_account(tmp_path: Path) -> None:
    # So few packets that the ring before a hop holds all of a stop.
    spec = SPEC.format(both="false").replace("100kpps", "5kpps")
    with started(tmp_path, spec) as taut:
        in_a_trial(tmp_path / "run", taut, "taut-generate")
        time.sleep(1)
        for _ in range(4):
            stop_for(hop_of(taut.pid, 2), STOP_NS)
            time.sleep(0.3)
        run = passed(finished(tmp_path, taut))

    [budget] = run.result("chain")["budgets"]
    latency_ns = budget["columns"]["p99"]["latency_ns"]
    held = {part["name"]: part["mean_ns"]["p99"] for part in budget["parts"]}
    assert latency_ns > LATE_NS
    assert held["waiting for hop 2"] + held["hop 2"] > 0.8 * latency_ns, held


@pytest.mark.timing
@pytest.mark.long
def test_explain_names_the_hop_whose_core_a_fifo_thread_took(tmp_path: Path) -> None:
    spec = SPEC.format(both="false").replace("100kpps", "5kpps")
    with started(tmp_path, spec, "--trace", "continuous") as taut:
        in_a_trial(tmp_path / "run", taut, "taut-generate")
        [core] = os.sched_getaffinity(hop_of(taut.pid, 2))
        # It starts elsewhere: beside two loops that go before all others it would not get that far.
        hog = HOG.format(work_s=STOP_NS / 1e9, sleep_s=0.4)
        with running([sys.executable, "-c", hog], min(os.sched_getaffinity(0) - {core})) as it:
            os.sched_setscheduler(it.pid, os.SCHED_FIFO, os.sched_param(50))
            os.sched_setaffinity(it.pid, {core})
            run = finished(tmp_path, taut)
    if run.status == 2 and "trace" in run.stderr:
        pytest.skip(run.stderr.strip())
    [trial] = passed(run).trials

    argv = [*TAUT, "explain", str(run.path), "--over", "30ms", "--json"]
    told = explained(subprocess.run(argv, capture_output=True, text=True, timeout=200)).stdout
    [found] = json.loads(told)["trials"]
    # Hops that take turns on one core lose it together: which one is told is whose turn it was.
    hit = {hop["name"] for hop in trial.meta["dut"]["hops"] if hop["core"] == core}
    stories = [s for s in found["worst"] if s["gap"] and "taut-hog" in s["line"]]
    assert {story["cause"] for story in stories} == {"fifo-preemption"}
    assert {story["gap"]["thread"] for story in stories} <= hit
    [budget] = run.result("chain")["budgets"]
    latency_ns = budget["columns"]["p99"]["latency_ns"]
    held = {part["name"]: part["mean_ns"]["p99"] for part in budget["parts"]}
    assert latency_ns > LATE_NS
    assert sum(held[f"waiting for {hop}"] + held[hop] for hop in hit) > 0.8 * latency_ns, held


def covers(gap: dict[str, int], start: int, end: int) -> bool:
    return bool(gap["start_ns"] < (start + end) // 2 < gap["end_ns"])


def n_late(trial: Trial, start: int, end: int) -> int:
    rows = trial.packets
    inside = (rows["sent_ns"] < end) & (rows["received_ns"] > end)
    return int(np.count_nonzero(inside & (rows["received_ns"] - rows["sent_ns"] > LATE_NS)))
