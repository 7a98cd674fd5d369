"""Acceptance 3, 4, 5 and 6 of explain: causes made on purpose, on real runs, are named."""

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from acceptance_run import TAUT, VOID, Run, Trial, explained, passed, run_taut
from foreign_program import running
from stops import calm_stop, with_stops
from taut.analysis.load import share_words
from taut.core.binaries import find_binary
from taut.explain import Explanation, Options, explain_gaps, explain_trial
from taut.explain.read.events import no_events, read_events, read_notes
from taut.records.convert import convert_events, convert_trial
from waiting import ran_by_thread, wait_for, wait_until_ran

pytestmark = [pytest.mark.acceptance, pytest.mark.root]

HEAD = """
name = "explain"
duration = "3s"
warm_up = "500ms"
deadline = "500ms"
floor = false
trace = true
"""
EAGER = '[[device]]\ndriver = "taut_forward"\nname = "eager"\n'
# Sixteen network functions that each spin for 120 ns, one packet at a time: some 400 kpkt/s.
SLOW = "options = { burst = 1, nf = [" + ", ".join(['"delay:time=120ns"'] * 16) + "] }\n"
DEVICES = (
    EAGER
    + EAGER.replace("eager", "buffered")
    + 'options = { transmit = "buffered:32,100us" }\n'
    + EAGER.replace("eager", "slow")
    + SLOW
)
LOADS = {
    "even": 'rates = ["100kpps"]\ndevices = ["eager"]',
    "sparse": 'rates = ["20kpps"]\ndevices = ["eager", "buffered"]',
    "burst": (
        'schedule = "burst"\nrates = ["100kpps"]\noptions = { size = 256 }\nduration = "1s"\n'
        'devices = ["eager"]'
    ),
}
# Twice: a machine that is slow for a while leaves no packet of so short a trial without a stall.
OVERLOAD = 'rates = ["900kpps"]\nduration = "250ms"\nwarm_up = "100ms"\ndevices = ["slow"]'
LOADS |= {"overload": OVERLOAD, "overload_later": OVERLOAD}


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Every device under its loads, once; skip where the kernel cannot be traced."""
    loads = "".join(f'[[traffic]]\nname = "{name}"\n{load}\n' for name, load in LOADS.items())
    run = run_taut(tmp_path_factory.mktemp("traced"), HEAD + DEVICES + loads)
    for trial in run.trials:
        failure = str(trial.meta.get("failure"))
        if "taut-trace: ended with exit status 2" in failure:
            pytest.skip(failure)
    return passed(run)


def explain(*arguments: str) -> subprocess.CompletedProcess[str]:
    return explained(subprocess.run([*TAUT, "explain", *arguments], capture_output=True, text=True))


def trials_under(run: Run, load: str, device: str) -> list[Trial]:
    """The trials of a device under a load; there may be a later one."""
    of_device = [trial for trial in run.trials if trial.meta["dut"]["name"] == device]
    return [t for t in of_device if t.meta["traffic"]["name"] in (load, f"{load}_later")]


def under(run: Run, load: str, device: str) -> Trial:
    """The one trial of a device under a load that has no later one; else an error."""
    [found] = trials_under(run, load, device)
    return found


def column(table: pa.Table, name: str) -> np.ndarray:
    """A column as numpy; -1 stands for what is not there."""
    values = table[name]
    if pa.types.is_integer(values.type):
        return values.cast(pa.int64(), safe=False).fill_null(-1).to_numpy()
    return np.array(values.to_pylist(), object)


# 3. Every late packet has a verdict, every gap's shares make its whole.


@pytest.mark.long
def test_3_every_late_packet_has_a_verdict_and_shares_make_a_whole(traced: Run):
    trial = under(traced, "even", "eager")
    latency = trial.packets["received_ns"] - trial.packets["sent_ns"]
    rank = -(-len(latency) * 999 // 1000)
    is_late = latency > np.sort(latency)[rank - 1]

    asked = (str(traced.path), "--trial", trial.path.name)
    [document] = json.loads(explain(*asked, "--json").stdout)["trials"]
    words = " ".join(explain(*asked).stdout.split())
    found = explain_trial(trial.path, Options(n_worst=10**9))

    assert document["tail_packets"] == is_late.sum() > 0
    assert sum(cause["n_packets"] for cause in document["causes"]) == is_late.sum()
    judged = column(found.packets, "seq")[column(found.packets, "latency_ns") >= 0]
    assert sorted(judged) == sorted(trial.packets["seq"][is_late])
    assert None not in column(found.packets, "cause")
    for name, share in (
        ("not known", document["unknown_share"]),
        ("the hypervisor or hardware", document["hypervisor_or_hardware_share"]),
    ):
        # What is below one per cent stands under --details.
        told = rf"{name}( \(a guess\))? {re.escape(share_words(share))}"
        assert bool(re.search(told, words)) == (share >= 0.01), (told, words)
    told = [*document["worst"], *document["worst_gaps"]]
    for gap in [story.get("gap", story) for story in told]:
        if gap is not None:
            assert sum(share["share"] for share in gap["shares"]) == pytest.approx(1, abs=0.01)
            assert min(share["ns"] for share in gap["shares"]) >= 0
    assert len(found.worst) == found.episodes.num_rows
    parts = sum(column(found.gaps, f"{name}_ns") for name in ("net", "model", "work", "residual"))
    whole = column(found.gaps, "end_ns") - column(found.gaps, "start_ns")
    assert found.gaps.num_rows > 0
    assert (np.abs(parts - whole) <= 0.01 * whole).all()


# 4. Who is stopped is said to be.

STOPS = HEAD.replace('"3s"', '"6s"') + EAGER + "{options}\n" + '[[traffic]]\nrates = ["100kpps"]\n'
N_STOPS = 24


@pytest.mark.timing
@pytest.mark.long
def test_4_a_stop_of_the_device_is_one_episode_stopped_and_queued_behind(tmp_path: Path):
    spec = STOPS.format(options="")
    _, trial, windows = with_stops(tmp_path, spec, "taut-forward", n=N_STOPS)
    found = explain_trial(trial.path, Options(over="50us"))

    calm = [
        (*window, stood_ns)
        for window in windows
        if (stood_ns := calm_stop(trial, window, "forwarder"))
    ]

    assert calm, f"beside each of {len(windows)} stops another stall is logged"
    told = [_not_one_episode(found, trial, *stop) for stop in calm]
    assert set(told) - {None} == {""}, told


def _not_one_episode(
    found: Explanation, trial: Trial, start: int, end: int, stood_ns: int
) -> str | None:
    """What is wrong with how a stop is told, if anything; None: it runs on into another stall.

    Who stops the device may itself be kept from ending that: it stood as long as its log says.
    """
    rows = {name: column(found.packets, name) for name in found.packets.column_names}
    inside = (rows["sent_ns"] > start) & (rows["sent_ns"] < end - 100_000)
    numbers, counts = np.unique(rows["episode"][inside], return_counts=True)
    if not len(numbers) or counts.max() < 0.95 * inside.sum():
        return f"episodes {numbers.tolist()} of {counts.tolist()} packets"
    own = rows["episode"] == numbers[np.argmax(counts)]
    span = rows["sent_ns"][own].min(), rows["received_ns"][own].max()
    if trial.has_other_stall(span, (start, end)):
        return None
    order = np.argsort(rows["seq"][own])
    relations = rows["relation"][own][order].tolist()
    n_due = stood_ns / 10_000  # one packet each 10 us
    if not 0.7 * n_due <= len(relations) <= 1.6 * n_due:
        return f"{len(relations)} packets of {n_due:.0f} that were due"
    if set(rows["cause"][own]) != {"stopped"}:
        return f"causes {set(rows['cause'][own])}"
    if relations[0] != "stalled" or set(relations[1:]) != {"queued behind it"}:
        return f"first {relations[0]}, then {set(relations[1:])}"
    return ""


@pytest.mark.timing
@pytest.mark.long
def test_4_a_stop_of_the_generator_is_the_measurer_and_void(tmp_path: Path):
    # Two packets are always on their way: they are those that come back late.
    spec = STOPS.format(options='options = { nf = ["delay:time=20us"] }')
    _, trial, windows = with_stops(tmp_path, spec, "taut-generate", n=N_STOPS)
    found = explain_trial(trial.path, Options(over="100us"))

    calm = [window for window in windows if calm_stop(trial, window, "generator")]

    assert calm, f"beside each of {len(windows)} stops another stall is logged"
    assert [words for window in calm if (words := _not_the_measurer(found, trial, *window))] == []


def _not_the_measurer(found: Explanation, trial: Trial, start: int, end: int) -> str:
    packets = trial.packets
    due_in = (packets["due_ns"] > start + 200_000) & (packets["due_ns"] < end - 200_000)
    if due_in.sum() < 350 or not (packets["flags"][due_in] & VOID).all():
        return f"{due_in.sum()} packets were due in it, not all void"
    rows = {name: column(found.packets, name) for name in found.packets.column_names}
    back = (rows["received_ns"] > start) & (rows["received_ns"] < end + 1_000_000)
    met = back & (rows["sent_ns"] < end)
    if not met.any() or set(rows["cause"][met]) != {"measurer"} or not rows["is_void"][met].all():
        return f"of {met.sum()} late packets the causes are {set(rows['cause'][met])}"
    gaps = {name: column(found.gaps, name) for name in ("start_ns", "end_ns", "cause", "because")}
    held = (gaps["start_ns"] < start) & (gaps["end_ns"] > end)
    told = set(zip(gaps["cause"][held], gaps["because"][held], strict=True))
    return "" if told == {("measurer", "stopped")} else f"the gap is told as {told}"


# 5. Waiting in batches and queues is told as such.


@pytest.mark.timing
@pytest.mark.long
def test_5_waiting_for_a_batch_is_batching_and_no_noise(traced: Run):
    eager = explain_trial(under(traced, "sparse", "eager").path, Options(over="10us"))
    trial = under(traced, "sparse", "buffered")
    found = explain_trial(trial.path, Options(over="10us"))

    rows = {name: column(found.packets, name) for name in found.packets.column_names}
    free = (rows["received_ns"] >= 0) & ~trial.met_a_stall(rows)
    # Up to 100 us the policy alone explains it, whatever else went on.
    within = (rows["received_ns"] >= 0) & (rows["latency_ns"] < 100_000)
    assert eager.share_of("batching") == 0
    assert free.sum() > 1_000
    assert np.mean(rows["cause"][free] == "batching") >= 0.99
    assert np.mean(rows["cause"][within] == "batching") >= 0.99
    # They waited for anything between nothing and the timer.
    first, last = np.quantile(rows["latency_ns"][free], [0.1, 0.9])
    assert last - first > 40_000


@pytest.mark.timing
@pytest.mark.long
@pytest.mark.parametrize(
    ("device", "load", "over", "reason"),
    [("slow", "overload", "50us", "(load)"), ("eager", "burst", "3us", "(burst)")],
    ids=["overload", "burst"],
)
def test_5_waiting_behind_others_is_queueing(
    traced: Run, device: str, load: str, over: str, reason: str
):
    told: Counter[str] = Counter()
    told_free: Counter[str] = Counter()
    lines, gone = [], 0
    for trial in trials_under(traced, load, device):
        # All episodes: on a noisy machine the worst ones may all be stalls.
        found = explain_trial(trial.path, Options(over=over, n_worst=10**9))
        rows = {name: column(found.packets, name) for name in found.packets.column_names}
        # Who met no stall longer than a tick, nor many short ones, waited for packets alone.
        is_back = rows["received_ns"] >= 0
        told.update(rows["cause"][is_back].tolist())
        told_free.update(rows["cause"][is_back & ~trial.met_a_stall(rows)].tolist())
        lines += [story.line for story in found.worst if story.cause == "queueing"]
        queueing = [c for c in found.causes if c.cause == "queueing"]
        gone += sum(c.n_lost + c.n_unsent for c in queueing)

    # Neighbours may leave no packet free of stalls; who waited longer for others waited in a queue.
    assert told["queueing"] > 1_000, told
    assert told_free["queueing"] >= 0.9 * told_free.total(), told_free
    assert any(reason in line for line in lines), lines[:3]
    # Who was refused or lost belongs to the queue that was full.
    assert load != "overload" or gone > 0


# 6. Where the record has holes, nothing is called hardware.

FORK = """
import os
parent = os.getppid()
while os.getppid() == parent:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
"""
CORE = max(os.sched_getaffinity(0))


def gaps_under_a_fork_storm(folder: Path, buffer: str) -> pa.Table:
    """Judge a poller's gaps while another process forks on its core and the trace is not read."""
    noise = [str(find_binary("taut-noise")), "--cores", str(CORE), "--out", str(folder)]
    trace = [str(find_binary("taut-trace")), "--cores", str(CORE), "--out", str(folder)]
    with (
        subprocess.Popen([*trace, "--buffer", buffer], stderr=subprocess.PIPE, text=True) as tracer,
        running([sys.executable, "-c", FORK], CORE) as storm,
    ):
        for line in tracer.stderr or ():
            if line.rstrip().endswith("armed"):
                break
        else:
            pytest.skip(f"taut-trace ended with {tracer.wait()}: the kernel cannot be traced")
        with subprocess.Popen([*noise, "--duration", "120s"], stdout=subprocess.DEVNULL) as poller:
            wait_for("polling", lambda: polled_s(poller.pid) > 0.1)
            # Who does not run does not read: the kernel's buffer overflows.
            tracer.send_signal(signal.SIGSTOP)
            wait_until_ran(storm.pid, 0.5)
            tracer.send_signal(signal.SIGCONT)
            wait_until_ran(poller.pid, 0.1)
            poller.send_signal(signal.SIGINT)
            assert poller.wait() == 130
        tracer.send_signal(signal.SIGTERM)
        _, said = tracer.communicate()
        assert tracer.returncode == 0, said
    (folder / f"gaps_{CORE}.bin").rename(folder / "gaps.bin")
    convert_trial(folder, folder)
    convert_events(folder, folder)
    events = read_events(folder)
    return explain_gaps(
        pq.read_table(folder / "gaps.parquet"),
        no_events() if events is None else events,
        CORE,
        read_notes(folder),
    ).gaps


def polled_s(noise: int) -> float:
    """How long taut-noise polled: its first thread waits."""
    return sum(s for thread, s in ran_by_thread(noise).items() if thread != noise)


def test_6_where_events_were_lost_nothing_is_hardware(tmp_path: Path):
    gaps = gaps_under_a_fork_storm(tmp_path, "8KB")

    events = pq.read_table(tmp_path / "events.parquet")
    kind = column(events, "kind")
    lost = (kind == "lost") & (column(events, "cpu") == CORE)
    assert lost.any()
    hole_start, hole_end = column(events, "time_ns")[lost], column(events, "arg1")[lost]
    start, end, cause = (column(gaps, name) for name in ("start_ns", "end_ns", "cause"))
    in_a_hole = np.array(
        [((hole_start <= b) & (hole_end >= a)).any() for a, b in zip(start, end, strict=True)]
    )
    assert in_a_hole.sum() > 10
    assert set(cause[in_a_hole]) == {"trace-lost"}
    assert "trace-lost" not in set(cause[~in_a_hole])
