"""Acceptance 4 and 5: whoever stalls is blamed, and nobody else."""

from pathlib import Path

import numpy as np
import pytest

from acceptance_run import VOID
from stops import calm_stop, with_stops

# Generator and device go before all other programs while they are stopped: that takes root.
pytestmark = [pytest.mark.acceptance, pytest.mark.root, pytest.mark.timing]

SPEC = """
name = "stalls"
duration = "6s"
warm_up = "500ms"
deadline = "500ms"
floor = false
[[device]]
driver = "taut_forward"
name = "eager"
[[traffic]]
rates = ["100kpps"]
"""
STALL_NS = 5_000_000
N_STALLS = 24
SEND_NS = 20_000
"""What a transmit call may take after the stamp that is taken before it."""
QUANTUM_NS = 1_000
"""So late is on time."""


@pytest.mark.long
def test_4_a_stall_of_the_generator_is_blamed_on_it(tmp_path: Path):
    _, trial, windows = with_stops(tmp_path, SPEC, "taut-generate", n=N_STALLS, stop_ns=STALL_NS)

    packets = trial.packets
    is_void = packets["flags"] & VOID != 0
    service = packets["received_ns"] - packets["sent_ns"]
    intent = packets["received_ns"] - packets["due_ns"]
    touched_by_device = trial.touched_by_gap("forwarder")
    n_seen = 0
    for start, end in windows:
        # What was due while the generator stood, less the moment a signal takes.
        due_in = (packets["due_ns"] > start + 200_000) & (packets["due_ns"] < end - 200_000)
        if due_in.sum() < 300:
            continue  # the device stood too: most of these could not be sent
        n_seen += 1
        assert is_void[due_in].all()
        assert intent[due_in].max() > 0.9 * (end - start - 200_000)
        near = (packets["due_ns"] > start - 5_000_000) & (packets["due_ns"] < end + 20_000_000)
        others = near & ~is_void & ~touched_by_device
        assert not (service[others] > STALL_NS // 2).any()
    assert n_seen > 0, "the device stood during every stop of the generator"


def test_5_a_stall_of_the_device_is_one_episode(tmp_path: Path):
    run, trial, windows = with_stops(tmp_path, SPEC, "taut-forward", n=N_STALLS, stop_ns=STALL_NS)

    episodes = run.results[0]["episodes"]["worst"]
    packets = trial.packets
    is_void = packets["flags"] & VOID != 0
    starts, ends = trial.gaps("generator")
    # Void is what overlaps a gap of the generator, while it was sent or when it arrived, or its
    # backlog: what was sent late, and what followed for as long again.
    blamed = overlaps(starts, ends, packets["due_ns"], packets["sent_ns"] + SEND_NS)
    arrived_ns = packets["received_ns"] - packets["arrival_window_ns"]
    blamed |= overlaps(starts, ends, arrived_ns, packets["received_ns"])
    blamed |= packets["sent_ns"] < behind_backlogs(packets)
    n_calm = 0
    for start, end in windows:
        stood_ns = calm_stop(trial, (start, end), "forwarder")
        if stood_ns is None:
            continue
        n_calm += 1
        hit = [e for e in episodes if e["start_ns"] < end and e["end_ns"] > start]
        assert len(hit) == 1, (start, end, hit)
        episode = hit[0]
        assert abs(episode["duration_ns"] - stood_ns) < 1_000_000
        # 100 kpkt/s: one packet each 10 us; the last ones wait less than the threshold.
        assert abs(episode["packets"] - stood_ns / 10_000) < 0.1 * stood_ns / 10_000
        due_in = (packets["due_ns"] > start) & (packets["due_ns"] < end)
        # Nothing is void that the generator's own log does not explain. (The stamp of sending is
        # taken before the call, whose end is not recorded: some percent.)
        assert (is_void & ~blamed)[due_in].mean() < 0.1
    assert n_calm > 0, "beside every stop of the device another stall is logged"


def behind_backlogs(packets: dict[str, np.ndarray]) -> np.ndarray:
    """Until when what is sent like each packet may stand behind others that were sent late."""
    sent_ns, received_ns = packets["sent_ns"], packets["received_ns"]
    late_ns = sent_ns - packets["due_ns"]
    until_ns = np.where(late_ns > QUANTUM_NS, sent_ns + 2 * late_ns, 0)
    # Where all that was sent before is back nothing stands before it.
    is_alone = sent_ns[1:] > np.maximum.accumulate(received_ns)[:-1]
    offset_ns = np.append(0, np.cumsum(is_alone)) * (until_ns.max() + 1)
    return np.maximum.accumulate(until_ns + offset_ns) - offset_ns


def overlaps(
    starts: np.ndarray, ends: np.ndarray, since: np.ndarray, until: np.ndarray
) -> np.ndarray:
    """Whether each span meets a gap; gaps follow each other."""
    if starts.size == 0:
        return np.zeros(since.size, bool)
    at = np.minimum(np.searchsorted(ends, since, side="left"), starts.size - 1)
    return (ends[at] >= since) & (starts[at] <= until)
